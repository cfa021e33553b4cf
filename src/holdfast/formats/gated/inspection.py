"""Check the files of a feature strictly, by the document's validation rules, each named.

Restoring is more tolerant than this where a file is only spelled differently.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from holdfast.formats.base import Report
from holdfast.formats.document import EXACT, Document
from holdfast.formats.gated import files
from holdfast.formats.gated.files import HeldState, HeldStatus
from holdfast.formats.gated.model import (
    PHASES,
    Escalation,
    State,
    Status,
    has_state_shape,
    has_status_shape,
)
from holdfast.formats.gated.reconcile import contradictions, disagreement
from holdfast.formats.holding import Unusable
from holdfast.formats.strictness import found, objections
from holdfast.regular import decode_json
from holdfast.store import Store

_RULES: Mapping[type[Document], Mapping[str, str]] = {
    State: {
        "feature": "the slug of the feature",
        "current_phase": "a valid phase name",
        "status": "a valid status of a workflow",
        "phases": "an object with all 5 phases",
    },
    Status: {
        "phase": "the name of its folder",
        "status": "a valid status of a phase",
        "iterations": "a number, 0-4",
        "max_iterations": "a number, typically 4",
    },
}


def inspect(path: Path, raw: bytes) -> Report | None:
    """What is wrong with *raw*; None when it is not meant as a file of a feature."""
    real = path.resolve()
    folder = real.parent.name if real.name == files.STATUS else ""
    lies_there = real.match(f"{files.FOLDER}/*/{files.STATE}") or folder in PHASES
    try:
        data = decode_json(raw)
    except ValueError as error:
        return Report("gated", (f"not JSON: {error}",)) if lies_there else None
    if isinstance(data, dict) and has_state_shape(data):
        return Report("gated", tuple(_problems_of_state(data)))
    if isinstance(data, dict) and has_status_shape(data):
        return Report("gated", tuple(_problems_of_status(data, folder)))
    return None


def _problems_of_state(data: dict[str, Any]) -> Iterator[str]:
    wrong = tuple(objections(State, data, _RULES[State]))
    yield from wrong
    if wrong:
        return
    state = State.model_validate(data, context=EXACT)
    yield from contradictions(state)
    for at, entry in enumerate(state.escalations):
        if Escalation.of(entry) is None:
            yield (
                f"escalations.{at}: expected an object with phase, reason, raised, resolved and by, "
                f"found {found(entry)}"
            )


def _problems_of_status(data: dict[str, Any], folder: str) -> Iterator[str]:
    wrong = tuple(objections(Status, data, _RULES[Status]))
    yield from wrong
    if not wrong and folder in PHASES and data["phase"] != folder:
        yield files.misplaced(folder, data["phase"])


def problems_of(store: Store, folder: Path) -> Iterator[str]:
    """What is wrong with all six files of a feature, and whether they agree."""
    run = files.read(store, folder)
    state = run.main.state if isinstance(run.main, HeldState) and not run.main.problems else None
    for held in (run.main, *run.statuses.values()):
        name = held.path.relative_to(folder).as_posix()
        wrong = tuple(_wrong(held))
        yield from (f"{name}: {each}" for each in wrong)
        phase = held.state.phase if isinstance(held, HeldStatus) and not wrong else None
        line = disagreement(run, state, phase) if state and phase else None
        if line:
            yield line


def _wrong(held: HeldState | HeldStatus | Unusable) -> Iterator[str]:
    if isinstance(held, Unusable):
        yield held.reason
    elif held.problems:
        yield from held.problems
    else:
        report = inspect(held.path, held.raw)
        yield from report.problems if report else ()
