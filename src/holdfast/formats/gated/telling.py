"""A feature in the terms that all formats share: its workflow, with the briefing."""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from pathlib import Path

from holdfast import clock, ledger
from holdfast.briefing import Briefing
from holdfast.errors import StateUnreadable
from holdfast.formats.base import Place, Standing, Untold, Workflow
from holdfast.formats.branches import mismatch
from holdfast.formats.document import moment
from holdfast.formats.gated import facts, files
from holdfast.formats.gated.files import Found, Run
from holdfast.formats.gated.known import Row, row_of, saved_at
from holdfast.formats.gated.model import PHASES, State
from holdfast.regular import read_file
from holdfast.store import LARGEST, Store

_MOST_ARTEFACTS = 20
_MOST_LOOKED_AT = 200
_LONGEST_TOLD = 500  # characters of feedback; the guidance cuts what is longer

# What is left over is told with its name behind the command.
_ENDED_WITH: Mapping[Standing, str] = {
    "active": "holdfast gate complete",
    "ignored": "holdfast gate complete",
    "stale": "holdfast gate cancel -w",
    "finished": "holdfast gate finalize -w",
}


def workflows_of(found: Found, place: Place) -> list[Workflow]:
    """One for each feature whose state can be used."""
    ignored = ledger.load(place.store).ignored
    return [_workflow(run, place, ignored) for run in found.runs]


def _workflow(run: Run, place: Place, ignored: Collection[str]) -> Workflow:
    row = row_of(run)
    stands, remark = _standing(run, row, place, ignored)
    return Untold(
        name=row.name,
        brief=partial(_briefing, run, stands, place),
        format="gated",
        key=run.key,
        standing=stands,
        changed_at=min(datetime.fromisoformat(row.changed_at), place.now),
        created_at=moment(row.created_at),
        handle=run.slug,
        branch=row.branch,
        remark=remark,
        cautions=() if row.over else tuple(_cautions(row, place)),
        put_away=row.status in {"finalized", "abandoned", "cancelled"},
        cleared_with=f"holdfast gate {'finalize' if row.over else 'cancel'} -w {shlex.quote(run.slug)}",
        saved_at=clock.from_mtime(saved_at(run)),
    )


def _standing(run: Run, row: Row, place: Place, ignored: Collection[str]) -> tuple[Standing, str]:
    if row.over:
        day = str(row.updated_at or row.changed_at)[:10]
        left = "; publish its docs: holdfast gate finalize" if row.status == "completed" else ""
        return "finished", f"{row.status} on {day}{left}"
    if run.key in ignored:
        return "ignored", f"ignored. Take it up again: holdfast resume {run.slug!r}"
    age = place.now - min(datetime.fromisoformat(row.changed_at), place.now)
    if age > timedelta(days=place.settings.stale_days):
        return "stale", f"untouched for {age.days} days"
    return "active", ""


def _cautions(row: Row, place: Place) -> Iterator[str]:
    on_another = mismatch(row.branch, place.branch)
    if on_another:
        yield on_another
    yield from row.troubles


def _briefing(run: Run, stands: Standing, place: Place) -> Briefing:
    state = files.state_of(run)
    status = run.status(state.current_phase)
    told = facts.context(state, status)
    return Briefing(
        name=state.name,
        kind="gated",
        phase=state.number,
        phases=len(PHASES),
        phase_name=facts.title(state.current_phase),
        status=state.status if state.over else state.phase.status,
        next_action=facts.next_action(state, status),
        gate=facts.gate(state),
        reading=tuple(
            f"@{place.store.relative(path)}" for path in _reading(run, state, place.store)
        ),
        context=tuple((name, fact) for name, fact in told if fact),
        state_path=place.store.relative(files.state_path(run.folder)),
        kept_with=facts.kept_with(state),
        ended_with=_ENDED_WITH[stands],
    )


def _reading(run: Run, state: State, store: Store) -> Iterator[Path]:
    """The description, what the phase has produced, and the last review of it.

    Feedback that is too long to be told whole is read where it stands.
    """
    phase = run.folder / state.current_phase
    last = [path for _, path in files.reviews(run.folder, state.current_phase)][-1:]
    status = run.status(state.current_phase)
    feedback = (status.current_feedback if status else None) or ""
    told_at = [phase / files.STATUS] if len(feedback) > _LONGEST_TOLD else []
    for path in (run.folder / files.DESCRIPTION, *_artefacts(phase), *last, *told_at):
        if store.holds(path) and path.is_file():
            yield path


def _artefacts(phase: Path) -> Iterator[Path]:
    """The text files in the folder of a phase; those beside status.json first."""
    told = (path for path in islice(_below(phase), _MOST_LOOKED_AT) if _is_text(path))
    yield from islice(told, _MOST_ARTEFACTS)


def _below(phase: Path) -> Iterator[Path]:
    """What may be an artefact, level by level, so that nobody has to walk through all of a big folder."""
    ours = {phase / files.STATUS, phase / files.REVIEWS}
    level = [phase]
    while level:
        deeper: list[Path] = []
        for folder in level:
            for path, is_folder in _entries(folder):
                if path in ours:
                    continue
                if is_folder:
                    deeper.append(path)
                else:
                    yield path
        level = deeper


def _entries(folder: Path) -> list[tuple[Path, bool]]:
    """What lies in *folder* and is not hidden, and whether it is a folder itself."""
    try:
        with os.scandir(folder) as entries:
            found = [(each.name, each.is_dir(follow_symlinks=False)) for each in entries]
    except OSError:
        return []
    return [(folder / name, is_dir) for name, is_dir in sorted(found) if name[:1] != "."]


def _is_text(path: Path) -> bool:
    try:
        return b"\0" not in read_file(path, LARGEST)[0][:4096]
    except StateUnreadable:
        return False
