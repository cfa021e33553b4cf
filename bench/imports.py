"""What each hook imports and what that costs, as a tree.

Each figure is the least of several runs, which hardly moves, rounded to whole milliseconds. What takes less than
one with all that it imports is summed up by name. So what differs between two trees is the code.
"""

from __future__ import annotations

import re
import subprocess
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.cases import Bench, Case
from bench.measure import Run

FILE = Path("bench/IMPORTS.md")
_RUNS = 7
_LEAST = 1000  # microseconds that a module needs for a line of its own
_WIDTH = 110
_LINE = re.compile(r"import time: +(\d+) \| +(\d+) \| ( *)(\S+)")
_SHEBANG = re.compile(r"#!\S*python\S*(?P<options>.*)")
_INTERPRETER = "site"  # the last module that the interpreter imports for itself

_HEAD = """\
# What the hooks import

Made by `make bench`, from `-X importtime`: milliseconds with all that a module imports, the least of {runs} runs.
What Python imports for itself is left out. Behind `+` stand modules that take less than one each.
"""


@dataclass
class Module:
    """A module, what it took with all that it imported, and what that was."""

    name: str
    spent: int = 0  # microseconds
    imported: list[Module] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.imported) + sum(len(each) for each in self.imported)

    def least(self, other: Module) -> None:
        """Keep what was shorter in *other*, another run of the same."""
        self.spent = min(self.spent, other.spent)
        theirs = {each.name: each for each in other.imported}
        for each in self.imported:
            if each.name in theirs:
                each.least(theirs[each.name])


def parse(printed: str) -> Module:
    """The tree that -X importtime has printed, each module behind those that it imported."""
    open_: list[list[Module]] = [[]]
    for line in printed.splitlines():
        if not (found := _LINE.fullmatch(line)):
            continue
        depth = len(found[3]) // 2
        while len(open_) <= depth + 1:
            open_.append([])
        open_[depth].append(Module(found[4], int(found[2]), open_[depth + 1]))
        open_[depth + 1] = []
    names = [each.name for each in open_[0]]
    own = open_[0][names.index(_INTERPRETER) + 1 :] if _INTERPRETER in names else open_[0]
    return Module("", sum(each.spent for each in own), own)


def tree(module: Module, indent: str = "") -> Iterator[str]:
    """The lines below *module*: what costs, in the order of import, and the names of the rest."""
    small = [each for each in module.imported if each.spent < _LEAST]
    for each in module.imported:
        if each.spent >= _LEAST:
            yield f"{indent}{each.name} {_milliseconds(each.spent)}"
            yield from tree(each, indent + "  ")
    if small:
        count = len(small) + sum(len(each) for each in small)
        spent = _milliseconds(sum(each.spent for each in small))
        named = f"+ {count} {'module' if count == 1 else 'modules'}, {spent}: "
        names = ", ".join(each.name for each in small)
        yield from textwrap.wrap(
            named + names, _WIDTH, initial_indent=indent, subsequent_indent=indent + "  "
        )


def _milliseconds(microseconds: int) -> str:
    return f"{round(microseconds / 1000)} ms"


def profile(cases: Sequence[Case], bench: Bench) -> str:
    """The trees of *cases*, one below the other."""
    parts = [_HEAD.format(runs=_RUNS)]
    for case in cases:
        whole = _profiled(case.run(bench))
        heading = f"{case.name}: {len(whole)} modules, {_milliseconds(whole.spent)}"
        parts += [f"## {heading}\n", "```text", *tree(whole), "```", ""]
    return "\n".join(parts)


def _profiled(run: Run) -> Module:
    run.once()  # what is due is done, so that all runs below take the same way
    whole = _once(run)
    for _ in range(_RUNS - 1):
        whole.least(_once(run))
    return whole


def _once(run: Run) -> Module:
    script, *arguments = run.commands[0]
    command = [*_interpreter(Path(script)), "-X", "importtime", script, *arguments]
    run.before()
    done = subprocess.run(
        command,
        env=run.project.environment | run.variables,
        cwd=run.project.root,
        input=run.payload,
        capture_output=True,
        check=True,
    )
    return parse(done.stderr.decode())


def _interpreter(script: Path) -> list[str]:
    """The interpreter of the environment, with the options that the script has it started with."""
    with script.open(encoding="utf-8", errors="replace") as file:
        found = _SHEBANG.match(file.readline())
    return [str(script.with_name("python")), *(found["options"].split() if found else [])]
