"""Which programs check or test, with which arguments; and which only run another one. Light."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from holdfast.shell import ASSIGNMENT

SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh"})


def is_check(words: Sequence[str]) -> bool:
    """Whether the simple command *words* runs a check or a test."""
    for _ in range(8):  # a command in a command in a command
        if not words:
            return False
        name, rest = name_of(words[0]), list(words[1:])
        if _asks(name, rest):
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
    return rest == ["-h"] or bool({"--version", "--help", "--init"} & set(rest))


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
_TEST_GOAL = re.compile(rf"(?:.*[-_:./])?(?:{_TESTS})(?:[-_:.].*)?", re.IGNORECASE)
_GOAL = re.compile(rf"(?:.*[-_:./])?(?:{_TESTS}|build)(?:[-_:.].*)?", re.IGNORECASE)
_SCRIPT = re.compile(
    r"(?:.*[-_.])?(?:(?:run|all)?(?:tests?|checks?|specs?|lint)|test(?:run|all))(?:[-_.].*)?",
    re.IGNORECASE,
)


def _goal(word: str) -> bool:
    """A target or script that is called like a check."""
    return not word.startswith("-") and bool(_GOAL.fullmatch(word))


def _test_goal(word: str) -> bool:
    """The same where a plain build is not one."""
    return not word.startswith("-") and bool(_TEST_GOAL.fullmatch(word))


def _runs_check(word: str, name: str, rest: list[str]) -> bool:
    if name in _ALWAYS:
        return True
    if name in _TARGETS:
        return any(map(_test_goal, _operands(rest, _TARGETS[name])))
    if rule := _RULES.get(name):
        return rule(rest)
    if name in _FIRST:
        words = _operands(rest, frozenset())
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
    return (anywhere or "/" in word or ending) and bool(_SCRIPT.fullmatch(name))


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
