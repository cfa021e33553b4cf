"""Start what a case consists of, check what it answers, and say how long it took.

Machines differ and are noisy, so a case is never looked at alone: right before each of its runs comes
one of what it is compared with, and the median of these pairs counts.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.figures import MB, Interval, Limit, Row, quantile
from bench.projects import Project

_WARMING = 2  # rounds that fill the caches and do not count
_PEAK = Path(__file__).with_name("peak.py")
_MEGABYTE = 1_000_000


@dataclass
class Run:
    """Processes that are started at the same moment with the same input."""

    project: Project
    commands: list[list[str]]
    payload: bytes
    told: str = ""  # what the first answer holds; it is empty where this is
    all_tell: bool = False  # whether the others have something to say as well
    variables: dict[str, str] = field(default_factory=dict)  # more of them in the environment
    writes: bool = False  # whether the project's own files may change
    settle: Callable[[], object] | None = None  # before each run, not measured
    edit: Callable[[], str] | None = None  # the same; the first answer holds what it returns
    answers: list[bytes] | None = None  # to the run before

    def once(self) -> float:
        """Seconds from the start until the last process has ended."""
        told = self.before()
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        where = {"env": self.project.environment | self.variables, "cwd": self.project.root}
        begun = time.perf_counter()
        running = [subprocess.Popen(each, **pipes, **where) for each in self.commands]
        for process in running:
            process.stdin.write(self.payload)
            process.stdin.close()
            process.stdin = None
        said = [process.communicate() for process in running]
        spent = time.perf_counter() - begun
        for process, (_, stderr) in zip(running, said, strict=True):
            if process.returncode != 0 or stderr:
                self.fail(f"exit {process.returncode}: {stderr.decode()}")
        self.check(told, [stdout for stdout, _ in said])
        return spent

    def before(self) -> str:
        """What is done before a run and not measured; returns what the first answer has to hold."""
        if self.settle:
            self.settle()
        return self.edit() if self.edit else self.told

    @property
    def is_steady(self) -> bool:
        """Whether nothing of the project changes."""
        return not (self.writes or self.edit or self.settle)

    def check(self, told: str, answers: list[bytes]) -> None:
        """A hook that is fast because it says the wrong thing is none."""
        first = answers[0].decode()
        if (told not in first) if told else first:
            self.fail(f"answered {first!r}, and should tell {told!r}")
        if self.all_tell and not all(answers):
            self.fail("one of the processes had nothing to say")
        if self.edit is None and self.answers not in (None, answers):
            self.fail(f"answered {answers!r} after {self.answers!r}, and nothing had changed")
        self.answers = answers

    def fail(self, what: str) -> None:
        raise SystemExit(f"{' '.join(self.commands[0])} in {self.project.root}: {what}")


@dataclass
class Timed:
    """A case that is measured against another run, over many rounds."""

    case: str
    limit: Limit
    run: Run
    against: Run
    every: int = 1  # measured in one round of so many
    pairs: list[tuple[float, float]] = field(default_factory=list)

    def play(self, round_: int) -> None:
        if round_ > 0 and round_ % self.every:
            return
        other, own = self.against.once(), self.run.once()
        if round_ >= 0:
            self.pairs.append((own, other))

    def row(self) -> Row:
        found = quantile([own / other for own, other in self.pairs])
        own = statistics.median(own for own, _ in self.pairs)
        return Row.of(self.case, self.limit, found, len(self.pairs), own)


def interleaved(cases: Sequence[Timed], rounds: int) -> list[Row]:
    """All cases in turn, round by round. A project in which nothing has changed stays as it is."""
    for round_ in range(-_WARMING, 0):
        for case in cases:
            case.play(round_)
    steady = {case.run.project.root: case.run for case in cases if case.run.is_steady}
    before = {root: run.project.looks_like() for root, run in steady.items()}
    for round_ in range(rounds):
        print(f"round {round_ + 1} of {rounds}", file=sys.stderr)
        for case in cases:
            case.play(round_)
    for root, run in steady.items():
        if run.project.looks_like() != before[root]:
            run.fail("the project was changed, and nothing had to be saved")
    return [case.row() for case in cases]


def peak(case: str, limit: float, run: Run, rounds: int) -> Row:
    """The most memory that the first process of *run* had at any time."""
    most = [_memory(run) for _ in range(rounds)]
    found = Interval(max(most), min(most), max(most))
    return Row.of(case, Limit(limit, MB), found, rounds)


def _memory(run: Run) -> float:
    """By way of a bare interpreter, since a process begins with what its parent had at most."""
    told = run.before()
    done = subprocess.run(
        [sys.executable, "-I", "-S", _PEAK, *run.commands[0]],
        env=run.project.environment | run.variables,
        cwd=run.project.root,
        input=run.payload,
        capture_output=True,
        check=False,
    )
    said, _, figure = done.stderr.rpartition(b"\n")
    if done.returncode != 0 or said:
        run.fail(f"exit {done.returncode}: {done.stderr.decode()}")
    run.check(told, [done.stdout])
    return int(figure) / _MEGABYTE
