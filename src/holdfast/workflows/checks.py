"""Which shell commands run a check or a test, recognised by the name of the program.

Rule 1: the names are known ones, also behind a few runners: `uv run pytest`, `npx jest`.
Rule 2: the exit status is the result of one check, or of several joined by `&&`. A line that pipes,
        chains or groups may end with another command's status, so its result is unknown.
Rule 3: nothing is expanded, and no command inside another one (`if`, `bash -c`) is looked for. A line that cannot
        be split, that is very long or that has a here-document counts as no check.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from holdfast.patterns import pattern
from holdfast.text.plaintext import one_line, redacted

TEXT_LIMIT = 200
_LONGEST = 4_000  # characters of a line

# Programs that do nothing but check.
_CHECKERS = """
    pytest py.test unittest doctest nose2 behave trial tox nox mypy dmypy pyright basedpyright pytype flake8
    pylint pycodestyle pydocstyle bandit vulture codespell typos lint-imports py_compile compileall eslint
    oxlint stylelint tsc vue-tsc jest vitest mocha ava karma phpunit pest phpstan psalm phpcs rspec rubocop
    standardrb ctest shellcheck hadolint yamllint markdownlint actionlint bats prove golangci-lint ginkgo
    staticcheck ktlint detekt swiftlint ansible-lint tflint
"""
# Programs that check if their first argument, or an option, is one of these.
_CHECK_WITH = {
    "cargo": "test t check c clippy build b nextest miri --check",
    "go": "test vet build",
    "npm": "t",
    "cmake": "--build",
    "node": "--test",
    **dict.fromkeys(("black", "isort", "prettier"), "--check --check-only"),
    **dict.fromkeys(("dotnet", "swift", "zig", "bazel", "stack", "cabal"), "test build"),
    **dict.fromkeys(("xcodebuild", "meson", "sbt", "mix", "lein"), "test build compile"),
    **dict.fromkeys(("flutter", "dart"), "test analyze"),
    **dict.fromkeys(("deno", "biome", "pants", "ruff"), "test check lint ci --check"),
    **dict.fromkeys(("playwright", "manage.py", "artisan", "rails"), "test"),
    **dict.fromkeys(("pre-commit", "cypress"), "run"),
}
# Programs that run targets, scripts of a project, and other programs.
_BUILDERS = "make gmake ninja just task rake invoke nx turbo composer gradle gradlew mvn mvnw"
_SHELLS = {"bash", "sh", "zsh"}
_MANAGERS = {"npm", "pnpm", "yarn", "bun", "hatch", "pdm", "pixi", "rye"}
_RUNNERS = """
    env time timeout nohup nice sudo uv uvx npx bunx poetry pipenv pipx coverage bundle python py node ruby php
"""
_RUN = pattern(r"run|run-script|exec|dlx|x|\d+[smhd]?")  # `npm run`, `timeout 60`
_CALLED_LIKE_A_CHECK = pattern(
    r"(?:^|[-_.:])(?:(?:run|all)?tests?(?:all)?|checks?|lint|type-?check|types|verify|e2e|specs?|unit"
    r"|integration)(?=[-_.:A-Z]|$)|(?:Test|Check|^build)$"
)
_SCRIPT = pattern(r"/|\.(?:sh|py|js|mjs|ts|rb|pl)$")
_WITH_VALUE = """
    -c -C -e -F -f -k -n -o -p -s -w -W -X --cwd --dir --directory --env-file --extra --filter --from
    --group --package --prefix --project --python --require --with --workspace
"""
_RUNS_NOTHING = """
    --version --help -h --init --collect-only --co --dry-run --no-run --just-print --list -list --listTests
    --list-tests --fixtures
"""
_HIDES_RESULT = {"--exit-zero", "--if-present", "--ignore-errors", "-i", "--fail-never"}
_PREPARES = {"cd", "pushd", "export", "source", "."}
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_OPERATOR = re.compile(r"[();<>|&\n]+")
_NO_WORD = re.compile(r"\\\n|^[ \t]*#.*|(?<=[ \t])\d(?=[<>])", re.MULTILINE)  # 2>&1


class Check(NamedTuple):
    """The checks that one line runs."""

    text: str  # their commands, with secrets masked
    tells: bool  # whether the exit status of the line is their result


def check_in(line: str) -> Check | None:
    """The checks that the command *line* runs; None when it runs none."""
    if len(line) > _LONGEST or "<<" in line:
        return None
    try:
        commands = list(_commands(line))
    except ValueError:  # an open quote
        return None
    shown, found, tells = list[str](), False, True
    for operator, words in commands:
        tells = tells and (operator == "&&" or (operator == ";" and not (found and words)))
        while words and _ASSIGNMENT.match(words[0]):
            words.pop(0)
        if _is_check(words):
            found, tells = True, tells and _HIDES_RESULT.isdisjoint(_options(words))
            shown.append(_text(words))
        elif words and (found or words[0] not in _PREPARES):
            tells = False
        elif words[:1] == ["cd"]:
            shown.append(_text(words))
    return Check(one_line(" && ".join(shown), TEXT_LIMIT), tells) if found else None


def _commands(line: str) -> Iterator[tuple[str, list[str]]]:
    """The simple commands of *line*, without redirections, and the operator before each."""
    line = _NO_WORD.sub("", line.replace("\r\n", "\n"))
    lexer = shlex.shlex(line, posix=True, punctuation_chars="();<>|&\n")
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t", True, ""
    operator, words, redirected = ";", list[str](), False
    for token in lexer:
        if not _OPERATOR.fullmatch(token):
            words += [] if redirected else [token]
            redirected = False
        elif "<" in token or ">" in token:
            redirected = True  # to the next word
        else:
            yield operator, words
            operator, words = token.strip("\n") or ";", []
    yield operator, words


def _options(words: Sequence[str]) -> set[str]:
    return set(" ".join(words).replace("=", " ").split())  # also in ARGS="--dry-run"


def _is_check(words: Sequence[str]) -> bool:
    """Whether the simple command *words* runs a check, itself or by a runner."""
    if not _options(words).isdisjoint(_RUNS_NOTHING.split()):
        return False
    while words:
        name, rest = _name(words[0]), words[1:]
        operands = _operands(rest)
        if "list" in operands[:2] or (name in _SHELLS and operands != list(rest)):
            return False
        if name in _BUILDERS.split():
            return any(map(_CALLED_LIKE_A_CHECK.search, operands))
        said = {*operands[:1], *(word for word in rest if word.startswith("--"))}
        if name in _CHECKERS.split() or said & {*_CHECK_WITH.get(name, "").split()}:
            return True
        if name not in _MANAGERS | _SHELLS and name not in _RUNNERS.split():
            return bool(_SCRIPT.search(words[0]) and _CALLED_LIKE_A_CHECK.search(name))
        words = _after_options(rest)
        if words and _RUN.fullmatch(words[0]):
            words = _after_options(words[1:])
        if name in _MANAGERS and words and _CALLED_LIKE_A_CHECK.search(words[0]):
            return True
    return False


def _name(word: str) -> str:
    """What program *word* starts: pytest for .venv/bin/pytest, jest for jest@29."""
    name = word.rpartition("/")[2].partition("@")[0]
    return re.sub(r"^(python|ruby|php)[\d.]+$|\.(?:exe|cmd)$", r"\1", name)


def _after_options(words: Sequence[str]) -> Sequence[str]:
    while words and (words[0].startswith("-") or _ASSIGNMENT.match(words[0])):
        words = words[2 if words[0] in _WITH_VALUE.split() else 1 :]
    return words


def _operands(words: Sequence[str]) -> list[str]:
    """The words that are neither options nor their values."""
    found = []
    while words := _after_options(words):
        if not words[0].startswith("+"):  # cargo +nightly test
            found.append(words[0])
        words = words[1:]
    return found


def _text(words: Sequence[str]) -> str:
    """The command without the values of variables and of what looks secret."""
    shown = [
        f"{variable[0]}…" if (variable := _ASSIGNMENT.match(word)) else shlex.quote(word)
        for word in words
    ]
    return one_line(redacted(" ".join(shown)), TEXT_LIMIT)
