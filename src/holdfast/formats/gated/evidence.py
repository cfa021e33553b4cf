"""What there is to rebuild a feature's state from: description, state files, reviews, commits.

Only read here; what follows from it is decided in `recovery`. Reviews may be written by anybody, so a
verdict counts where it stands as one, and not where a sentence happens to mention it.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from holdfast import clock, git
from holdfast.decoding import decode
from holdfast.errors import StateUnreadable
from holdfast.formats.base import Place
from holdfast.formats.document import moment
from holdfast.formats.gated import committing, files, reconcile
from holdfast.formats.gated.files import Run
from holdfast.formats.gated.machine import APPROVED, NEEDS_REVISION
from holdfast.formats.gated.model import PHASES, PhaseName, State, Status
from holdfast.formats.holding import D, K, Kind, Unusable
from holdfast.plaintext import one_line
from holdfast.regular import read_file
from holdfast.store import LARGEST, Store


class Review(NamedTuple):
    """review-N.md as far as it tells something."""

    path: str  # relative to the root
    verdict: str | None
    at: datetime
    text: str


class Commit(NamedTuple):
    """A commit whose message names a phase."""

    phase: PhaseName
    at: datetime
    subject: str


@dataclass(frozen=True)
class PhaseEvidence:
    """What there is of one phase."""

    status: Status | None  # as its status.json says it
    problem: str  # why that cannot be used; empty where it can
    copy: Status | None  # our last good copy of it, where it cannot
    reviews: tuple[Review, ...]


@dataclass(frozen=True)
class Evidence:
    """What there is of a feature."""

    slug: str
    description: str | None  # its path, relative to the root; None where there is none
    title: str | None  # the first heading of the description
    described_at: datetime | None
    state: State | None  # as workflow-state.json says it
    problem: str  # why that cannot be used, or cannot be true; empty where it holds
    copy: State | None  # our last good copy of it, where it cannot be read
    phases: Mapping[PhaseName, PhaseEvidence]
    commits: tuple[Commit, ...] = ()
    branch: str | None = None  # feature/<slug>, where git has it

    @property
    def wrong(self) -> list[str]:
        """What is to be rebuilt, and why."""
        lines = [f"{files.STATE}: {self.problem}"] if self.problem else []
        return lines + [
            f"{name}/{files.STATUS}: {each.problem}"
            for name, each in self.phases.items()
            if each.problem
        ]


def gather(place: Place, run: Run) -> Evidence:
    """All that there is of *run*; nothing is written."""
    store = place.store
    state, copy, problem = _state(store, run)
    described = run.folder / files.DESCRIPTION
    text, described_at = _text(store, described)
    branch = committing.branch_of(run.slug)
    return Evidence(
        slug=run.slug,
        description=None if text is None else store.relative(described),
        title=_heading(text or ""),
        described_at=described_at,
        state=state,
        problem=problem,
        copy=copy,
        phases={name: _phase(store, run, name) for name in PHASES},
        commits=tuple(_commits(place.root, f"{files.FOLDER}/{run.slug}")),
        branch=branch if _has_branch(place.root, branch) else None,
    )


def _state(store: Store, run: Run) -> tuple[State | None, State | None, str]:
    main = run.main
    if isinstance(main, Unusable):
        return None, _copy(store, files.STATE_KIND, main.path), main.reason
    if main.problems:
        return None, main.state, main.problems[0]
    wrong = reconcile.contradictions(main.state)
    return main.state, None, f"it contradicts itself: {wrong[0]}" if wrong else ""


def _phase(store: Store, run: Run, name: PhaseName) -> PhaseEvidence:
    held = run.statuses[name]
    reviews = tuple(_reviews(store, run.folder, name))
    if isinstance(held, Unusable):
        copy = _copy(store, files.STATUS_KIND, held.path)
        return PhaseEvidence(None, held.reason, copy, reviews)
    if held.problems:
        return PhaseEvidence(None, held.problems[0], held.state, reviews)
    return PhaseEvidence(held.state, "", None, reviews)


def _copy(store: Store, kind: Kind[D, K], path: Path) -> D | None:
    """Our last good copy of a file that is missing, or is of another shape."""
    copies = store.copies(path)
    with contextlib.suppress(ValueError):
        return kind.parse(copies.good.encode()) if copies else None
    return None


def _reviews(store: Store, folder: Path, name: PhaseName) -> Iterator[Review]:
    for _, path in files.reviews(folder, name):
        text, at = _text(store, path)
        if text is not None and at is not None:
            yield Review(store.relative(path), verdict_of(text), _stated_time(text) or at, text)


def _text(store: Store, path: Path) -> tuple[str | None, datetime | None]:
    if not store.holds(path):
        return None, None
    try:
        raw, mtime = read_file(path, LARGEST, within=store.root)
    except StateUnreadable:
        return None, None
    return decode(raw), clock.from_mtime(mtime)


_HEADING = re.compile(r"^#{1,6}[ \t]++(.*)$", re.MULTILINE)


def _heading(text: str) -> str | None:
    found = _HEADING.search(text)
    # What ends a heading is taken off here: an expression would look for it from each character on.
    return one_line(found[1].rstrip(" \t").rstrip("#"), 200) or None if found else None


_STATED_TIME = re.compile(r"^Time:[ \t]*(\S+)[ \t]*$", re.MULTILINE)


def _stated_time(text: str) -> datetime | None:
    found = _STATED_TIME.search(text)
    return moment(found[1]) if found else None


# What may stand around a word that is set off, and between a label and its value.
_MARKS = r"[#>|*_`~\s✅❌⚠\ufe0f-]*"
_WORD = r"(?P<verdict>approved|needs[ _-]revision)"
_LONGEST_LINE = 300  # what is longer is prose
_LABEL = r"(?:(?:final|overall|review(?:er)?)\s+)?(?:verdict|status|result|decision|outcome)"
_VERDICTS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # A label and its value, also in a table: **Status**: Needs revision (2 issues)
        rf"{_MARKS}{_LABEL}{_MARKS}[:=|–—]{_MARKS}{_WORD}[*_`]*\s*(?:\|?\s*|[.,;:!(\[–—].*)",
        # A heading that ends in the word: ## Review 2 - Approved
        rf"#{{1,6}}\s(?:.*[:–—-])?{_MARKS}{_WORD}[*_`]*[.!]?\s*",
        # Nothing but the word.
        rf"{_MARKS}{_WORD}[*_`]*[.!]?\s*",
    )
)


def verdict_of(text: str) -> str | None:
    """The last line of a review that is a verdict, as NEEDS_REVISION or APPROVED."""
    told = None
    for line in (each for each in text.splitlines() if len(each) <= _LONGEST_LINE):
        found = [match["verdict"] for each in _VERDICTS if (match := each.fullmatch(line))]
        if found:
            told = APPROVED if found[0].lower() == "approved" else NEEDS_REVISION
    return told


_SUBJECT = re.compile(rf"\[workflow\] ({'|'.join(PHASES)}): .+")


def _commits(root: Path, workspace: str) -> Iterator[Commit]:
    """Oldest first. Those before the first that has a file of the workspace are of other features."""
    first = git.answer(str(root), "log", "--reverse", "--format=%cI", "--", workspace)
    begun = clock.parse(first.split("\n", 1)[0]) if first else None
    told = git.answer(str(root), "log", "--reverse", r"--grep=\[workflow\]", "--format=%cI %s")
    if begun is None or not told:
        return
    for line in told.split("\n"):
        time, _, subject = line.partition(" ")
        at, named = clock.parse(time), _SUBJECT.fullmatch(subject)
        if at is not None and at >= begun and named:
            phase = next(each for each in PHASES if each == named[1])
            yield Commit(phase, at, one_line(subject, 120))


def _has_branch(root: Path, branch: str) -> bool:
    asked = ("rev-parse", "--verify", "--quiet", f"refs/heads/{branch}")
    return git.answer(str(root), *asked) is not None
