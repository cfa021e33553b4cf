"""Where a feature stands, in phrases: whose turn it is, what comes next, and what there is to read."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeAlias

from holdfast.errors import StateUnreadable
from holdfast.files.store import Store
from holdfast.formats.engine.workflow import Briefing
from holdfast.formats.gated import files
from holdfast.formats.gated.files import Feature
from holdfast.formats.gated.model import (
    APPROVED,
    MOST_ITERATIONS,
    PHASES,
    PhaseName,
    State,
    StatusFile,
)
from holdfast.text.plaintext import one_line

Turn: TypeAlias = Literal["creator", "reviewer", "human", "nobody"]

_MOST_ARTEFACTS = 20
_MOST_LOOKED_AT = 200
_LONGEST_FEEDBACK = 500  # characters; the guidance cuts what is longer

# By the status of the phase; in all others it is the creator who has to act, and to submit.
_TURNS: dict[str, Turn] = {"in_review": "reviewer", "user_review": "human", "escalated": "human"}
_KEPT_WITH: dict[str, tuple[str, ...]] = {
    "in_progress": ("submit", "escalate"),
    "in_review": ("revise", "approve-internal", "escalate"),
    "user_review": (),  # a person decides, and so they do where it is escalated
    "escalated": (),
}
_MAY = {
    "user_review": "They may approve it, request changes, or send an earlier phase back.",
    "escalated": "They may give guidance, or override the review.",
}
_GATES = {
    "in_progress": "an internal review, then a person's review on the pull request",
    "in_review": "the internal review, then a person's review on the pull request",
    "user_review": "a person's review on the pull request",
    "escalated": "a person's decision",
}
# Why the creator works on it again, by the last action in the history that tells.
_AFTER = {
    "created": "after the review",
    "revised": "after the review",
    "user_changes": "after a person's comments on the pull request",
    "regression": "after a person's comments on this earlier phase",
    "guidance": "by the guidance that a person gave",
    "started": "",
    "reset": "",
}


def make(feature: Feature, store: Store) -> Briefing:
    state = feature.state
    status = feature.status(state.current_phase)
    following, waits = next_action(state, status), turn(state) == "human"
    comes_next, names = "", _KEPT_WITH.get(state.phase_status, ("submit",))
    if state.over:
        names = ()
    elif state.all_approved:
        comes_next, names = f"{following}, with `holdfast gate complete`.", ()
    elif waits:
        comes_next = f"Waiting for a person. {following}. {_MAY[state.phase_status]}"
    elif state.phase_status == "approved":
        comes_next = f"{following}."
    return Briefing(
        name=state.name,
        kind="gated",
        phase=PHASES.index(state.current_phase) + 1,
        phases=len(PHASES),
        phase_name=_title(state.current_phase),
        status=state.status if state.over else state.phase_status,
        next_action=following,
        gate=None if state.over else _GATES.get(state.phase_status),
        reading=tuple(
            f"@{store.relative(path)}" for path in _reading(feature, state, status, store)
        ),
        context=tuple(context(state, status)),
        state_path=store.relative(feature.path),
        comes_next=comes_next,
        kept_with=tuple(f"holdfast gate {name}" for name in names),
        ended_with="holdfast gate complete",
    )


def turn(state: State) -> Turn:
    """Who has to act now."""
    if state.over or state.all_approved:
        return "nobody"
    return _TURNS.get(state.phase_status, "creator")


def next_action(state: State, status: StatusFile | None) -> str:
    """One line with everything that matters: the phase, the iteration, whose turn, and the feedback."""
    if state.status == "completed":
        return (
            "All phases are approved and the pull request is there: publish the docs with finalize"
        )
    if state.over:
        return f"Nothing: it is {state.status}"
    if state.all_approved:
        named = _on_pull_request(state)
        create = "" if named else "create the pull request, "
        return f"All phases are approved{named}: review the whole, {create}then complete it"
    where = _title(state.current_phase)
    if state.phase.iterations:
        where += f", iteration {_iteration(state, status)}"
    # A reviewer looks at the artefact afresh; earlier feedback is for whoever revises or decides.
    wanted = state.phase_status in {"in_progress", "escalated"}
    feedback = status.current_feedback if status and wanted else None
    line = f"{where}: {_doing(state, status)}"
    return f"{line}: {one_line(feedback, 200)}" if feedback else line


def _doing(state: State, status: StatusFile | None) -> str:
    match state.phase_status:
        case "in_review":
            return "the reviewer evaluates the artefact"
        case "user_review":
            return f"a person reviews it{_on_pull_request(state) or ' on the pull request'}"
        case "escalated":
            because = f" ({one_line(reason)})" if (reason := state.escalation_reason) else ""
            return f"it is escalated{because}; a person has to give guidance, or to override"
        case "approved":
            names = [_title(phase) for phase in PHASES[PHASES.index(state.current_phase) + 1 :]]
            return f"it is approved; begin {[*names, 'the next phase'][0]} with its artefact"
    after = _why_again(status)
    if after or (status and status.current_feedback):
        return f"the creator revises {after}".rstrip()
    return "the creator works on the artefact"


def _why_again(status: StatusFile | None) -> str:
    for action, result in status.latest() if status else ():
        if action in _AFTER:
            return "" if result == APPROVED else _AFTER[action]
    return ""


def context(state: State, status: StatusFile | None) -> list[tuple[str, Any]]:
    """What else is needed to go on."""
    approved = [_title(phase) for phase in PHASES if state.phases[phase].status == "approved"]
    facts = {
        "branch": state.branch,
        "iteration": _iteration(state, status),
        "whose turn": turn(state),
        "current feedback": status.current_feedback if status else None,
        "open escalation": state.escalation_reason if state.status == "escalated" else None,
        "pull request": _pull_request(state),
        "last reviewed at": state.last_reviewed_at,
        "approved phases": ", ".join(approved),
    }
    return [(name, fact) for name, fact in facts.items() if fact]


def _title(phase: PhaseName) -> str:
    """01-requirements: Requirements."""
    return phase.partition("-")[2].capitalize()


def _iteration(state: State, status: StatusFile | None) -> str:
    """2 of 4."""
    return f"{state.phase.iterations} of {status.limit if status else MOST_ITERATIONS}"


def _on_pull_request(state: State) -> str:
    named = _pull_request(state)
    return f" on {named}" if named else ""


def _pull_request(state: State) -> str | None:
    """PR #7, with its URL."""
    named = f"PR #{state.pr_number}" if state.pr_number is not None else "the pull request"
    if state.pr_url:
        return f"{named} ({one_line(state.pr_url)})"
    return named if state.pr_number is not None else None


# What there is to read.


def _reading(
    feature: Feature, state: State, status: StatusFile | None, store: Store
) -> Iterator[Path]:
    """The description, what the phases have produced, the last review, and feedback too long to be told.

    What earlier phases have produced is the ground of this one; it comes last, since this one needs room first.
    """
    phase = feature.folder / state.current_phase
    before = [name for name in PHASES if name < state.current_phase]
    ground = [feature.folder / name for name in before if state.phases[name].status == "approved"]
    reviews = [path for _, path in files.reviews(store, feature.folder, state.current_phase)]
    feedback = (status.current_feedback if status else None) or ""
    long = [phase / files.STATUS] if len(feedback) > _LONGEST_FEEDBACK else []
    described = feature.folder / files.DESCRIPTION
    earlier = (path for folder in ground for path in _texts(store, folder))
    for path in (described, *_texts(store, phase), *reviews[-1:], *long, *earlier):
        if store.holds(path) and store.inputs.is_file(path):
            yield path


def _texts(store: Store, phase: Path) -> Iterator[Path]:
    """The text files in the folder of a phase; those beside status.json first."""
    found = islice(files.artefacts(store, phase), _MOST_LOOKED_AT)
    yield from islice((path for path in found if _is_text(store, path)), _MOST_ARTEFACTS)


def _is_text(store: Store, path: Path) -> bool:
    try:
        return b"\0" not in store.read(path)[0][:4096]
    except StateUnreadable:
        return False
