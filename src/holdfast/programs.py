"""Which programs check or test, with which arguments; and which only run another one. Light."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

from holdfast.shell import ASSIGNMENT

SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh"})


def is_check(words: Sequence[str]) -> bool:
    """Whether the simple command *words* runs a check or a test."""
    for _ in range(8):  # a command in a command in a command
        if not words:
            return False
        name, rest = name_of(words[0]), list(words[1:])
        if _asks(name, rest) or _idle(name, rest):
            return False
        unwrapped = _unwrapped(name, rest)
        if unwrapped is None:
            return _runs_check(words[0], name, rest)
        if name in _SCRIPTED and unwrapped and _test_goal(unwrapped[0]):
            return True
        words = unwrapped
    return False


# Runners whose project file may give a command the name of a check.
_SCRIPTED = frozenset({"hatch", "pdm", "pipenv", "rye", "pixi"})


def _asks(name: str, rest: list[str]) -> bool:
    """Whether it only asks for the version or for help."""
    if rest == ["-V"]:
        return name != "ctest"
    if rest == ["-v"]:
        return name in {"tsc", "eslint", "stylelint", "prettier"}
    if "-h" in rest and (name in _ALWAYS or len(rest) == 1):
        return True
    return bool({"--version", "--help", "--init"} & set(rest))


def hides_result(words: Sequence[str]) -> bool:
    """Whether a check ends with exit code 0 whatever it finds, or may not have run."""
    given = {each.partition("=")[0] for each in words} | set(words)
    if given & (_HIDING_ANYWHERE | _NOTHING_DONE):
        return True
    for each in words:
        if ASSIGNMENT.match(each):  # make test ARGS=--collect-only
            inner = each.partition("=")[2].split()
            if not _NOTHING_DONE.isdisjoint(inner) or not _HIDING_ANYWHERE.isdisjoint(inner):
                return True
    names = {name_of(each) for each in words[:20]}
    return any(
        name in names and (given & options or (letters and _letters(words, name) & letters))
        for name, (options, letters) in _HIDING.items()
    )


def _idle(name: str, rest: Sequence[str]) -> bool:
    """Whether it only lists, plans or compiles what it would run."""
    given = {each.partition("=")[0] for each in rest}
    options, letters, firsts = _IDLE.get(name, _NO_IDLE)
    first = next((each for each in rest if not each.startswith(("-", "+"))), "")
    return bool(
        (given & _NOTHING_DONE and (name in _ALWAYS or name in _TARGETS or name in _IDLE))
        or given & options
        or (letters and _letters(rest, name) & letters)
        or first in firsts
    )


def _letters(rest: Sequence[str], name: str) -> frozenset[str]:
    """The options of one letter, also where several are one word: `make -ks`."""
    valued = {each[1] for each in _TARGETS.get(name, ()) if len(each) == 2} | set("OW")
    found: set[str] = set()
    for each in rest:
        if re.match(r"-[A-Za-z]", each):
            for letter in each[1:20]:
                if letter in valued:
                    break
                found.add(letter)
    return frozenset(found)


def name_of(word: str) -> str:
    name = word.replace("\\", "/").rpartition("/")[2]
    for ending in (".exe", ".cmd", ".bat"):
        name = name.removesuffix(ending)
    return re.sub(r"^(python|pip|ruby|php)[\d.]+$", r"\1", name)


# Commands that run another one: how many words after their options come before it, and the options
# that take a value.
_WRAPPERS: dict[str, tuple[int, frozenset[str]]] = {
    **dict.fromkeys(("sudo", "doas"), (0, frozenset({"-u", "-g"}))),
    **dict.fromkeys(("nohup", "exec", "chronic", "unbuffer", "xvfb-run"), (0, frozenset())),
    "time": (0, frozenset({"-f", "-o"})),
    "env": (0, frozenset({"-u", "--unset", "-C", "--chdir"})),
    "nice": (0, frozenset({"-n"})),
    "ionice": (0, frozenset({"-c", "-n"})),
    "stdbuf": (0, frozenset({"-o", "-e", "-i"})),
    "timeout": (1, frozenset({"-k", "-s", "--signal", "--kill-after"})),
    "gtimeout": (1, frozenset({"-k", "-s"})),
}
_PACKAGED = ("npx", "bunx", "uvx", "pnpx")  # `npx jest@29`
_PACKAGE_VALUES = frozenset({"-p", "--package", "--from", "--with", "--python"})
_WRAPPERS |= dict.fromkeys(_PACKAGED, (0, _PACKAGE_VALUES))
# The same for those whose first word says that they do.
_RUNNERS: dict[str, frozenset[str]] = {
    "uv": frozenset({"run"}),
    "poetry": frozenset({"run"}),
    "pipenv": frozenset({"run"}),
    "pdm": frozenset({"run"}),
    "rye": frozenset({"run"}),
    "pixi": frozenset({"run"}),
    "hatch": frozenset({"run"}),
    "pipx": frozenset({"run"}),
    "conda": frozenset({"run"}),
    "mamba": frozenset({"run"}),
    "micromamba": frozenset({"run"}),
    "coverage": frozenset({"run"}),
    "bundle": frozenset({"exec"}),
    "direnv": frozenset({"exec"}),
    "mise": frozenset({"exec", "x"}),
    "doppler": frozenset({"run"}),
    "docker": frozenset({"exec"}),
    "podman": frozenset({"exec"}),
    "docker-compose": frozenset({"exec", "run"}),
}
_RUNNER_VALUES = frozenset(
    {"--with", "--python", "--extra", "--group", "--project", "--directory", "--package"}
    | {"--env-file", "--only-group", "--source", "--rcfile", "--env", "--name", "--workdir"}
    | {"--user", "-C", "-n", "-p", "-e", "-u", "-w"}
)
_NAMED_FIRST = frozenset({"direnv", "docker", "podman", "docker-compose"})  # a folder, a container


def _unwrapped(name: str, rest: list[str]) -> list[str] | None:
    """The command that *name* runs with *rest*; None when it runs none."""
    if name == "command":
        return None if rest[:1] and rest[0].startswith("-") else rest
    if name in _WRAPPERS:
        before, valued = _WRAPPERS[name]
        inner = _after_options(rest, valued)[before:]
        while inner and ASSIGNMENT.match(inner[0]):
            inner = inner[1:]
        if inner and name in _PACKAGED:
            inner[0] = re.sub(r"(?<=.)@[\w.^~-]+$", "", inner[0])
        return inner
    if name == "docker" and rest[:1] == ["compose"]:
        return _unwrapped("docker-compose", rest[1:])
    if name in _RUNNERS:
        outer = _after_options(rest, _RUNNER_VALUES)
        if not outer or outer[0] not in _RUNNERS[name]:
            return None
        inner = _after_options(outer[1:], _RUNNER_VALUES)
        if inner[:1] == ["-m"] or name == "coverage":  # `uv run -m pytest`
            return ["python", *inner]
        return inner[1:] if name in _NAMED_FIRST else inner
    return None


def _after_options(words: Sequence[str], valued: frozenset[str]) -> list[str]:
    rest = list(words)
    while rest and rest[0].startswith("-") and rest[0] != "-m":
        option = rest.pop(0)
        if option == "--":
            break
        if option in valued and rest:
            del rest[0]
    return rest


_TESTS = (
    "(?:run-?)?tests?|test-?all|all-?tests?|checks?|lint|linter|type-?check|types|verify|e2e|specs?"
    "|ci|coverage|unit|integration"
)
_TEST_GOAL = re.compile(rf"(?:\A|[-_:./])(?:{_TESTS})(?=[-_:.]|\Z)", re.IGNORECASE)
_GOAL = re.compile(rf"(?:\A|[-_:./])(?:{_TESTS}|build)(?=[-_:.]|\Z)", re.IGNORECASE)
_SCRIPT = re.compile(
    r"(?:\A|[-_.])(?:(?:run|all)?(?:tests?|checks?|specs?|lint)|test(?:run|all))(?=[-_.]|\Z)",
    re.IGNORECASE,
)
_LONGEST = 200  # characters of a target or of the name of a script


def _called(pattern: re.Pattern[str], word: str) -> bool:
    return len(word) <= _LONGEST and "\n" not in word and bool(pattern.search(word))


def _goal(word: str) -> bool:
    """A target or script that is called like a check."""
    return not word.startswith("-") and _called(_GOAL, word)


def _test_goal(word: str) -> bool:
    """The same where a plain build is not one."""
    return not word.startswith("-") and _called(_TEST_GOAL, word)


def _runs_check(word: str, name: str, rest: list[str]) -> bool:
    if name in _ALWAYS:
        return True
    if name in _TARGETS:
        return any(map(_test_goal, _operands(rest, _TARGETS[name])))
    if rule := _RULES.get(name):
        return rule(rest)
    if name in _FIRST:
        words = _operands(rest, frozenset())
        if words[:1] in (["nextest"], ["test"]) and words[1:2] == ["list"] and name != "go":
            return False  # `cargo nextest list`, `swift test list`
        return bool(words) and words[0] in _FIRST[name]
    if name in SHELLS:
        words = _after_options(rest, frozenset({"-o"}))
        return bool(words) and "-n" not in rest and _is_script(words[0], anywhere=True)
    return _is_script(word, anywhere=False)


def _operands(rest: Sequence[str], valued: frozenset[str]) -> list[str]:
    """The words that are no options, nor their values, nor assignments."""
    found, skip = [], False
    for word in rest:
        if skip:
            skip = False
        elif word.startswith(("-", "+")):
            skip = word in valued
        elif not ASSIGNMENT.match(word):
            found.append(word)
    return found


def _is_script(word: str, *, anywhere: bool) -> bool:
    """Whether *word* is a script that is called like a check. `test` itself is the shell's."""
    name = word.rpartition("/")[2]
    ending = name.rpartition(".")[2] in {"sh", "bash", "py", "js", "mjs", "ts", "rb", "pl", "ps1"}
    return (anywhere or "/" in word or ending) and _called(_SCRIPT, name)


# Programs that do nothing but check.
_ALWAYS = frozenset(
    {"pytest", "py.test", "tox", "nox", "mypy", "dmypy", "pyright", "basedpyright", "pytype"}
    | {"flake8", "pylint", "pycodestyle", "pydocstyle", "bandit", "vulture", "lint-imports"}
    | {"eslint", "oxlint", "stylelint", "tsc", "vue-tsc", "jest", "vitest", "mocha", "ava"}
    | {"karma", "phpunit", "pest", "phpstan", "psalm", "phpcs", "rspec", "rubocop", "standardrb"}
    | {"ctest", "shellcheck", "hadolint", "yamllint", "markdownlint", "actionlint", "bats"}
    | {"golangci-lint", "staticcheck", "ginkgo", "ktlint", "detekt", "swiftlint", "codespell"}
    | {"typos", "ansible-lint", "tflint", "prove", "nose2", "behave", "trial", "pa11y"}
)
# Programs that build what they are told, with the options that take a value.
_TARGETS: dict[str, frozenset[str]] = {
    **dict.fromkeys(("make", "gmake"), frozenset({"-C", "-f", "-j", "-l", "-o", "-I"})),
    "ninja": frozenset({"-C", "-f", "-j"}),
    "just": frozenset({"-f", "-d", "--justfile", "--working-directory"}),
    "task": frozenset({"-t", "-d"}),
    "rake": frozenset({"-f"}),
    "invoke": frozenset({"-c"}),
    "inv": frozenset({"-c"}),
    "poe": frozenset({"-C"}),
    **dict.fromkeys(("mage", "rails", "nx", "turbo", "lerna", "rush"), frozenset[str]()),
    "composer": frozenset({"-d"}),
    "hatch": frozenset({"-e"}),
}
# What makes a check do nothing: options, letters of options, first words.
_NOTHING_DONE = frozenset(
    {"--dry-run", "--collect-only", "--collectonly", "--co", "--list-tests", "--listTests"}
    | {"--no-run", "--just-print", "--recon", "--fixtures", "--list-files", "--notest"}
)
_Idle: TypeAlias = tuple[frozenset[str], frozenset[str], frozenset[str]]


def _listing(options: str = "", letters: str = "", firsts: str = "") -> _Idle:
    return frozenset(options.split()), frozenset(letters), frozenset(firsts.split())


_NO_IDLE = _listing()
_PYTEST = _listing(
    "--fixtures-per-test --funcargs --markers --setup-plan --setup-only --setuponly --cache-show"
)
_IDLE: dict[str, _Idle] = {
    **dict.fromkeys(("pytest", "py.test"), _PYTEST),
    **dict.fromkeys(("make", "gmake"), _listing("--question --touch", "nqtvh")),
    "ninja": _listing("", "nth"),
    "just": _listing("--list --summary --show --dump --evaluate --choose", "nl"),
    "task": _listing("--dry --list --list-all --summary --status", "nl"),
    "rake": _listing("--tasks --prereqs --where -W", "nTP"),
    **dict.fromkeys(("invoke", "inv"), _listing("--list --dry", "lR")),
    "turbo": _listing("--dry"),
    "cargo": _listing("--list --build-plan --unit-graph"),
    "go": _listing("-list --list -c -n -test.list"),
    "jest": _listing("--showConfig --clearCache"),
    "vitest": _listing("", "", "list init"),
    "mocha": _listing("--list-reporters --list-interfaces"),
    "playwright": _listing("--list"),
    "tsc": _listing("--showConfig --listFilesOnly --all"),
    "eslint": _listing("--print-config --env-info"),
    "stylelint": _listing("--print-config"),
    "rubocop": _listing("--list-target-files --show-cops --show-docs-url", "L"),
    "phpunit": _listing("--list-suites --list-groups --list-tests-xml --list-test-files"),
    "ctest": _listing("--show-only --print-labels -N"),
    "dotnet": _listing("-t"),
    "swift": _listing("-l"),
    "tox": _listing("--listenvs --listenvs-all --showconfig -l -a", "", "list config devenv l c"),
    "nox": _listing("--list --list-sessions --install-only -l"),
    "gradle": _listing("-m --test-dry-run"),
    "gradlew": _listing("-m --test-dry-run"),
    "bazel": _listing("--nobuild"),
    "deno": _NO_IDLE,
    "prove": _listing("--dry", "D"),
    "bats": _listing("--count", "c"),
    "behave": _listing("-d --steps-catalog"),
    "ruff": _listing("--show-files --show-settings"),
    "pylint": _listing("--list-msgs --list-msgs-enabled --list-checkers --generate-rcfile"),
    "golangci-lint": _listing("", "", "linters cache config version help formatters completion"),
}
# What makes it succeed whatever it finds.
_HIDING_ANYWHERE = frozenset(
    {"--exit-zero", "--ignore-errors", "--if-present", "--fail-never", "--no-fail", "--soft-fail"}
    | {"--suppress-no-test-exit-code", "--issues-exit-code=0", "--failure-exit-code=0"}
    | {"-Dmaven.test.failure.ignore", "-DtestFailureIgnore", "--suppress-tests-failed-exit-code"}
)
_HIDING: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    **dict.fromkeys(("make", "gmake"), (frozenset[str](), frozenset("i"))),
    "ruff": (frozenset({"-e"}), frozenset()),
    **dict.fromkeys(
        ("mvn", "mvnw", "mvnd"),
        (frozenset({"-fn", "-DskipTests", "-Dmaven.test.skip"}), frozenset()),
    ),
    "tflint": (frozenset({"--force"}), frozenset()),
    "swiftlint": (frozenset({"--lenient"}), frozenset()),
}
# Programs whose first word says whether they check.
_FIRST: dict[str, frozenset[str]] = {
    "cargo": frozenset({"test", "t", "check", "c", "clippy", "build", "b", "nextest", "miri"}),
    "go": frozenset({"test", "vet", "build"}),
    "dotnet": frozenset({"test", "build"}),
    "swift": frozenset({"test", "build"}),
    "mix": frozenset({"test", "credo", "dialyzer", "compile"}),
    "playwright": frozenset({"test"}),
    "cypress": frozenset({"run"}),
    "pre-commit": frozenset({"run"}),
    "deno": frozenset({"test", "lint", "check"}),
    "biome": frozenset({"check", "ci", "lint"}),
    "bazel": frozenset({"test", "build"}),
    "pants": frozenset({"test", "check", "lint"}),
    "flutter": frozenset({"test", "analyze", "build"}),
    "dart": frozenset({"test", "analyze"}),
    "sbt": frozenset({"test", "compile"}),
    "lein": frozenset({"test", "check"}),
    "stack": frozenset({"test", "build"}),
    "cabal": frozenset({"test", "build"}),
    "zig": frozenset({"test", "build"}),
    "meson": frozenset({"test", "compile"}),
    "xcodebuild": frozenset({"test", "build"}),
    "terraform": frozenset({"validate"}),
    "helm": frozenset({"lint"}),
    "buf": frozenset({"lint"}),
    "sqlfluff": frozenset({"lint"}),
}
_MODULES = frozenset({"unittest", "doctest", "py_compile", "compileall", "pre_commit", "nose"})
_PHASES = frozenset({"test", "verify", "check", "compile", "package", "install"})
_ADDING = frozenset(
    {"install", "i", "add", "remove", "uninstall", "update", "upgrade", "init", "create", "why"}
    | {"info", "view", "ls", "list", "link", "publish", "pack", "config", "cache", "audit", "ci"}
)


def _python(rest: list[str]) -> bool:
    words = list(rest)
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if option == "-m":
            module = words[0].partition(".")[0] if words else ""
            return module in _MODULES or is_check(words)
        if option == "-c":
            return False
        if option in {"-W", "-X"} and words:
            del words[0]
    if not words:
        return False
    if words[0].endswith("manage.py") or words[0] == "setup.py":
        return any(map(_test_goal, words[1:2]))
    return _interpreted(words)


def _interpreted(rest: list[str]) -> bool:
    """The script that an interpreter is given."""
    if "--test" in rest:
        return True
    words = _after_options(rest, frozenset({"-r", "--require", "--import", "-I", "-d"}))
    if not words or "-e" in rest:
        return False
    if words[0] == "artisan":
        return words[1:2] == ["test"]
    return _is_script(words[0], anywhere=True) or ("/" in words[0] and is_check(words))


def _scripts(rest: list[str]) -> bool:
    """npm and its like: a script of the package, or a program that it has."""
    valued = frozenset({"--prefix", "-C", "--dir", "--cwd", "--filter", "-F", "-w", "--workspace"})
    words = _after_options(rest, valued)
    if words[:1] == ["workspace"]:
        words = words[2:]
    elif words[:2] in (["workspaces", "foreach"], ["workspaces", "run"]):
        words = words[words.index("run") + 1 :] if "run" in words else words[2:]
    if not words or words[0] in _ADDING:
        return False
    if words[0] in {"exec", "dlx", "x"}:
        return is_check(_after_options(words[1:], valued))
    if words[0] in {"run", "run-script"}:
        words = _after_options(words[1:], valued)
    return bool(words) and (words[0] in {"t", "tst"} or _goal(words[0]) or is_check(words))


def _gradle(rest: list[str]) -> bool:
    goals = (word.rpartition(":")[2] for word in rest if not word.startswith("-"))
    return any(re.match(r"(?:test|check|build|lint|verify)|.*(?:Test|Check)$", g) for g in goals)


def _ruff(rest: list[str]) -> bool:
    words = _operands(rest, frozenset({"--config", "--select", "--ignore"}))
    if words[:1] == ["format"]:
        return bool({"--check", "--diff"} & set(rest))
    return bool(words) and words[0] not in {
        "rule",
        "config",
        "linter",
        "clean",
        "version",
        "server",
    }


def _with(*options: str) -> Callable[[list[str]], bool]:
    return lambda rest: bool(set(options) & set(rest))


_RULES: dict[str, Callable[[list[str]], bool]] = {
    "python": _python,
    "py": _python,
    **dict.fromkeys(("node", "ruby", "php", "perl", "tsx", "ts-node"), _interpreted),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), _scripts),
    **dict.fromkeys(("gradle", "gradlew"), _gradle),
    **dict.fromkeys(("mvn", "mvnw", "mvnd"), lambda rest: bool(_PHASES & set(rest))),
    "ruff": _ruff,
    "cmake": _with("--build"),
    "black": _with("--check"),
    "isort": _with("--check", "--check-only", "-c"),
    "prettier": _with("--check", "-c", "--list-different", "-l"),
    "gofmt": _with("-l", "-d"),
    "nix": lambda rest: rest[:2] == ["flake", "check"],
}
