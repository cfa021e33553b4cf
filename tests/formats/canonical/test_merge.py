"""The three-way merge: who wins, what is never lost, and that doing it twice changes nothing."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.config.settings import Settings
from holdfast.files.store import Store
from holdfast.formats.canonical.files import KIND, StateFile
from holdfast.formats.canonical.matching import Declared
from holdfast.formats.canonical.merge import merge
from holdfast.formats.canonical.model import State
from holdfast.formats.canonical.sources import Declaration, PhaseMark, PlanPhase
from holdfast.formats.engine.workflow import Place

T0 = 1_000_000.0  # when everything was last seen
NOW = datetime.fromtimestamp(2_000_000, UTC)
OLDER, NEWER = T0 + 10, T0 + 30
SAVED_AT = T0 + 20
KEY = "canonical:plan:PLAN.md"


def replace(state: State, **changes: Any) -> State:
    return state.model_copy(update=changes)


def declaration(source: str, mtime: float = T0, **fields: Any) -> Declaration:
    path = "CLAUDE.local.md" if source == "local" else "PLAN.md"
    return Declaration(source=source, path=path, mtime=mtime, **fields)  # type: ignore[arg-type]


def merged(
    saved: State | None,
    *declarations: Declaration,
    saved_mtime: float = T0,
    now: datetime = NOW,
    checkout: str = "main",
) -> State:
    place = Place(Store("."), Settings(), now, "main", checkout)
    file = StateFile(Path(), b"", saved_mtime, saved) if saved else None
    group = Declared(KEY, declarations) if declarations else None
    return merge(place, file, group, KEY)


def edited(state: State, **phase: Any) -> State:
    return state.with_phase(**phase)


FIELDS: dict[str, Any] = {
    "phase": {
        "base": PhaseMark(1, 9, "Base"),
        "local": PhaseMark(2, 9, "Local"),
        "plan": PhaseMark(3, 9, "Plan"),
        "saved": lambda state: edited(state, current=4, name="Saved"),
        "read": lambda state: state.phase.name,
        "names": {"base": "Base", "local": "Local", "plan": "Plan", "saved": "Saved"},
    },
    "status": {
        "base": "in_progress",
        "local": "blocked",
        "plan": "completed",
        "saved": lambda state: edited(state, status="not_started"),
        "read": lambda state: state.phase.status,
        "names": {
            "base": "in_progress",
            "local": "blocked",
            "plan": "completed",
            "saved": "not_started",
        },
    },
    "workflow": {
        "base": "Base",
        "local": "Local",
        "plan": "Plan",
        "saved": lambda state: replace(state, workflow="Saved"),
        "read": lambda state: state.workflow,
        "names": {"base": "Base", "local": "Local", "plan": "Plan", "saved": "Saved"},
    },
    "workflow_type": {
        "base": "custom",
        "local": "planning",
        "plan": "qa-loop",
        "saved": lambda state: replace(state, workflow_type="implementation"),
        "read": lambda state: state.workflow_type,
        "names": {
            "base": "custom",
            "local": "planning",
            "plan": "qa-loop",
            "saved": "implementation",
        },
    },
    "context": {
        "base": {"key": "Base"},
        "local": {"key": "Local"},
        "plan": {"key": "Plan"},
        "saved": lambda state: replace(state, context={"key": "Saved"}),
        "read": lambda state: state.context["key"],
        "names": {"base": "Base", "local": "Local", "plan": "Plan", "saved": "Saved"},
    },
}

# Who changed since the base, which markdown is newer than the saved file -> who wins.
WINNERS = {
    ("", ""): "base",
    ("", "local plan"): "base",
    ("local", ""): "local",
    ("local", "local"): "local",
    ("plan", ""): "plan",
    ("plan", "plan"): "plan",
    ("saved", ""): "saved",
    ("saved", "local plan"): "saved",
    ("local plan", ""): "local",
    ("local plan", "plan"): "local",
    ("local plan", "local"): "local",
    ("local saved", ""): "saved",
    ("local saved", "local"): "local",
    ("plan saved", ""): "saved",
    ("plan saved", "plan"): "plan",
    ("local plan saved", ""): "saved",
    ("local plan saved", "local"): "local",
    ("local plan saved", "plan"): "plan",
    ("local plan saved", "local plan"): "local",
}


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize(("changed", "newer"), WINNERS)
def test_who_wins_since_the_base(field: str, changed: str, newer: str) -> None:
    """Every combination of who changed a field, with every order of the files that matters."""
    spec = FIELDS[field]
    base = merged(
        None, *(declaration(source, **{field: spec["base"]}) for source in ("local", "plan"))
    )
    saved = spec["saved"](base) if "saved" in changed else base
    now = [
        declaration(
            source,
            NEWER if source in newer else OLDER,
            **{field: spec[source] if source in changed else spec["base"]},
        )
        for source in ("local", "plan")
    ]
    result = merged(saved, *now, saved_mtime=SAVED_AT)
    assert spec["read"](result) == spec["names"][WINNERS[changed, newer]]


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize(
    ("mtime", "winner"), [(OLDER, "saved"), (SAVED_AT, "saved"), (NEWER, "local")]
)
def test_without_a_base_the_newer_wins_and_a_tie_goes_to_the_saved_file(
    field: str, mtime: float, winner: str
) -> None:
    """A state that another tool wrote has no base."""
    spec = FIELDS[field]
    foreign = spec["saved"](merged(None, declaration("local", **{field: spec["base"]})))
    foreign = replace(foreign, holdfast=None)
    result = merged(
        foreign, declaration("local", mtime, **{field: spec["local"]}), saved_mtime=SAVED_AT
    )
    assert spec["read"](result) == spec["names"][winner]


def test_a_tie_between_changed_sides_goes_to_the_saved_file() -> None:
    """Equal mtimes, both changed."""
    base = merged(None, declaration("local", phase=PhaseMark(1, 9, "Base")))
    saved = edited(base, current=4, name="Saved")
    local = declaration("local", SAVED_AT, phase=PhaseMark(2, 9, "Local"))
    assert merged(saved, local, saved_mtime=SAVED_AT).phase.name == "Saved"


def test_what_a_source_does_not_mention_is_no_change() -> None:
    """Neither silence nor a missing file deletes anything."""
    full = declaration(
        "local",
        workflow="W",
        phase=PhaseMark(2, 5, "Build"),
        status="blocked",
        required_reading=("@a.md",),
        key_reminders=("one",),
        context={"k": 1},
    )
    first = merged(None, full)
    silent = merged(first, declaration("local", NEWER, workflow="W"))
    gone = merged(silent)
    for state in (silent, gone):
        assert state.content() == first.content()


def test_speaking_again_after_a_silence_is_not_a_change() -> None:
    """A section that is cut and pasted back does not undo what the agent did meanwhile."""
    mark = PhaseMark(2, 5, "Build")
    first = merged(None, declaration("local", phase=mark))
    silent = merged(first, declaration("local", NEWER, workflow="W"))
    advanced = edited(silent, current=3, name="Test")
    back = merged(advanced, declaration("local", NEWER + 5, phase=mark), saved_mtime=NEWER + 1)
    assert back.phase.current == 3


def test_phase_moves_as_one_and_status_by_itself() -> None:
    """A new phase from one side and a new status from the other are both kept."""
    base = merged(None, declaration("local", phase=PhaseMark(2, 5, "Build"), status="in_progress"))
    saved = edited(base, status="blocked")
    local = declaration("local", OLDER, phase=PhaseMark(3, 6, "Test"), status="in_progress")
    result = merged(saved, local, saved_mtime=SAVED_AT)
    phase = result.phase
    assert (phase.current, phase.total, phase.name, phase.status) == (3, 6, "Test", "blocked")


def test_a_completed_phase_does_not_complete_the_next_one() -> None:
    """Only the phase moved, so the status of the phase that is over does not come along."""
    base = edited(
        merged(None, declaration("local", phase=PhaseMark(2, 3, "B"))), status="completed"
    )
    base = merged(base, declaration("local", phase=PhaseMark(2, 3, "B")), saved_mtime=SAVED_AT)
    result = merged(base, declaration("local", NEWER, phase=PhaseMark(3, 3, "C")))
    assert (result.phase.current, result.phase.status) == (3, "in_progress")
    assert not result.finished


def test_a_derived_phase_does_not_recount_what_is_stated_in_another_total() -> None:
    """A plan with three headings cannot turn 4 of 10 into 2 of 3."""
    local = declaration("local", phase=PhaseMark(4, 10, "SEO"))
    plan = declaration("plan", phase=PhaseMark(1, 3, "One", derived=True))
    first = merged(None, local, plan)
    ticked = plan._replace(phase=PhaseMark(2, 3, "Two", derived=True), mtime=NEWER)
    result = merged(first, local, ticked)
    assert (result.phase.current, result.phase.total, result.phase.name) == (4, 10, "SEO")


def test_a_derived_phase_moves_what_is_counted_in_the_same_total() -> None:
    """Ticking the last box of a phase is how most plans advance."""
    local = declaration("local", phase=PhaseMark(1, 3, "One"))
    plan = declaration("plan", phase=PhaseMark(1, 3, "One", derived=True))
    first = merged(None, local, plan)
    ticked = plan._replace(phase=PhaseMark(2, 3, "Two", derived=True), mtime=NEWER)
    assert merged(first, local, ticked).phase.name == "Two"


def test_a_plan_that_gains_a_phase_is_recounted() -> None:
    """The total may follow its own plan."""
    plan = declaration("plan", phase=PhaseMark(1, 3, "One", derived=True))
    first = merged(None, plan)
    grown = plan._replace(phase=PhaseMark(2, 4, "Two", derived=True), mtime=NEWER)
    assert merged(first, grown).phase.total == 4


def test_a_title_or_a_guess_renames_nothing() -> None:
    """A plan's title and a type read off the wording only fill a gap."""
    state = merged(None, declaration("local", workflow="Named", workflow_type="planning"))
    foreign = replace(state, holdfast=None)
    plan = declaration(
        "plan", NEWER, workflow="A Title", workflow_type="implementation", type_guessed=True
    )
    result = merged(foreign, plan)
    assert (result.workflow, result.workflow_type) == ("Named", "planning")


def test_next_action_and_gate_follow_the_phase_that_holds() -> None:
    """They come from the plan's list of phases, not from where the plan thinks it is."""
    phases = (
        PlanPhase(1, "Design", True, None, "review"),
        PlanPhase(2, "Build", False, "write it", "tests pass"),
        PlanPhase(3, "Ship", False, "release", None),
    )
    plan = declaration("plan", phase=PhaseMark(2, 3, "Build", derived=True), phases=phases)
    state = merged(None, plan)
    assert state.holdfast is not None
    assert (state.holdfast.next_action, state.holdfast.gate) == ("write it", "tests pass")
    moved = merged(edited(state, current=3, name="Ship"), plan, saved_mtime=SAVED_AT)
    assert moved.holdfast is not None
    assert (moved.holdfast.next_action, moved.holdfast.gate) == ("release", None)


def test_a_next_action_that_was_written_for_another_phase_is_stale() -> None:
    """CLAUDE.local.md still says what comes next in a phase that the agent has left."""
    local = declaration("local", phase=PhaseMark(1, 3, "A"), next_action="do A")
    state = merged(None, local)
    moved = merged(edited(state, current=2, name="B"), local, saved_mtime=SAVED_AT)
    assert moved.holdfast is not None
    assert moved.holdfast.next_action is None


LISTS = ("required_reading", "key_reminders")


@pytest.mark.parametrize("field", LISTS)
def test_lists_are_united_in_order(field: str) -> None:
    """What the saved file has keeps its order; new items of local and plan follow."""
    base = merged(
        None, declaration("local", **{field: ("@l1",)}), declaration("plan", **{field: ("@p1",)})
    )
    saved = replace(base, **{field: [*getattr(base, field), "@s1"]})
    local = declaration("local", NEWER, **{field: ("@l2", "@l1")})
    plan = declaration("plan", NEWER, **{field: ("@p1", "@p2")})
    result = merged(saved, local, plan, saved_mtime=SAVED_AT)
    assert getattr(result, field) == ["@l1", "@p1", "@s1", "@l2", "@p2"]


@pytest.mark.parametrize("field", LISTS)
def test_an_item_goes_only_when_the_one_source_that_had_it_dropped_it(field: str) -> None:
    """Three items: of local alone, of both, and of the saved file alone."""
    base = merged(
        None,
        declaration("local", **{field: ("@mine", "@shared")}),
        declaration("plan", **{field: ("@shared",)}),
    )
    saved = replace(base, **{field: [*getattr(base, field), "@agent"]})
    saved = merged(saved, saved_mtime=SAVED_AT)
    local = declaration("local", NEWER, **{field: ("@other",)})
    plan = declaration("plan", **{field: ("@shared",)})
    result = merged(saved, local, plan)
    assert getattr(result, field) == ["@shared", "@agent", "@other"]


@pytest.mark.parametrize("field", LISTS)
def test_what_an_agent_takes_out_of_the_file_stays_out(field: str) -> None:
    """An item that only the saved file had goes when it is removed there."""
    base = merged(None, declaration("local", **{field: ("@l",)}))
    grown = merged(replace(base, **{field: ["@l", "@s"]}), saved_mtime=SAVED_AT)
    shrunk = merged(replace(grown, **{field: ["@l"]}), saved_mtime=NEWER)
    assert getattr(shrunk, field) == ["@l"]


def test_context_goes_key_by_key() -> None:
    """Both sides changed the context, each another key."""
    base = merged(None, declaration("local", context={"a": 1, "b": 1, "gone": 1}))
    saved = replace(base, context={**base.context, "b": 2, "agent": "x"})
    local = declaration("local", OLDER, context={"a": 2, "b": 1})
    result = merged(saved, local, saved_mtime=SAVED_AT)
    assert result.context == {"a": 2, "b": 2, "agent": "x"}


def test_reading_gets_its_sign_and_one_spelling() -> None:
    """`@` is added where it is missing, and ./a.md is a.md."""
    base = merged(None, declaration("local", required_reading=("@a.md",)))
    saved = replace(base, required_reading=["./a.md", "b.md"])
    assert merged(saved, saved_mtime=SAVED_AT).required_reading == ["@a.md", "@b.md"]


def test_created_at_and_unknown_keys_stay() -> None:
    """Also below phase; also when everything else changes."""
    raw = {
        "workflow": "W",
        "workflow_type": "custom",
        "phase": {"current": 1, "total": 2, "name": "A", "status": "in_progress", "owner": "me"},
        "required_reading": [],
        "created_at": "2025-12-09T14:30:52+02:00",
        "team": {"lead": "x"},
    }
    result = merged(
        State.model_validate(raw),
        declaration("local", NEWER, phase=PhaseMark(2, 2, "B"), key_reminders=("r",)),
    )
    dumped = result.content()
    assert dumped["created_at"] == raw["created_at"]
    assert dumped["team"] == {"lead": "x"}
    assert dumped["phase"]["owner"] == "me"
    assert dumped["phase"]["name"] == "B"


def test_a_future_mtime_is_held_to_now() -> None:
    """A clock that was ahead does not make a workflow the latest one for ever."""
    state = merged(None, declaration("local", 9e9, workflow="W"))
    assert state.holdfast is not None
    assert state.holdfast.changed_at == NOW.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@pytest.mark.parametrize(("mtime", "phase"), [(OLDER, 1), (NEWER, 4)])
def test_a_new_source_counts_when_it_is_newer_than_the_saved_file(mtime: float, phase: int) -> None:
    """It has no base, even though the saved file has one and is unchanged."""
    saved = merged(None, declaration("plan", phase=PhaseMark(1, 9, "Plan")))
    plan = declaration("plan", phase=PhaseMark(1, 9, "Plan"))
    local = declaration("local", mtime, phase=PhaseMark(4, 9, "Local"))
    assert merged(saved, plan, local, saved_mtime=SAVED_AT).phase.current == phase


def test_a_phase_past_the_known_total_raises_it() -> None:
    """Only the number is stated, and it is larger than what was counted so far."""
    saved = merged(None, declaration("local", phase=PhaseMark(1, 3, "A")))
    phase = merged(saved, declaration("local", NEWER, phase=PhaseMark(5))).phase
    assert (phase.current, phase.total) == (5, 5)


words = st.sampled_from(["a", "b", "c", "d"])
lists = st.none() | st.lists(words, max_size=4, unique=True).map(tuple)
marks = st.none() | st.builds(
    PhaseMark,
    st.none() | st.integers(1, 4),
    st.none() | st.integers(4, 5),
    st.none() | words,
    st.booleans(),
)


def declarations(source: str) -> st.SearchStrategy[Declaration]:
    return st.builds(
        Declaration,
        source=st.just(source),
        path=st.just("CLAUDE.local.md" if source == "local" else "PLAN.md"),
        mtime=st.sampled_from([T0, OLDER, SAVED_AT, NEWER]),
        workflow=st.none() | words,
        workflow_type=st.sampled_from([None, "planning", "custom"]),
        type_guessed=st.booleans(),
        phase=marks,
        status=st.sampled_from([None, "in_progress", "blocked", "completed"]),
        required_reading=lists.map(lambda items: items and tuple(f"@{item}" for item in items)),
        key_reminders=lists,
        context=st.none() | st.dictionaries(words, st.integers(0, 3), max_size=3),
    )


edits = st.fixed_dictionaries(
    {},
    optional={
        "phase": st.integers(1, 4),
        "reminder": words,
        "context": st.tuples(words, st.integers(4, 6)),
        "forget": st.just(True),  # another tool rewrote the file without our notes
    },
)
rounds = st.lists(
    st.tuples(
        st.none() | declarations("local"),
        st.none() | declarations("plan"),
        edits,
        st.sampled_from([T0, OLDER, SAVED_AT, NEWER]),
    ),
    min_size=1,
    max_size=5,
)


def play(state: State | None, local: Any, plan: Any, edit: dict[str, Any]) -> State | None:
    if state is None:
        return None
    if "phase" in edit:
        state = edited(state, current=edit["phase"], total=max(edit["phase"], state.phase.total))
    if "reminder" in edit:
        state = replace(state, key_reminders=[*state.key_reminders, edit["reminder"]])
    if "context" in edit:
        key, value = edit["context"]
        state = replace(state, context={**state.context, key: value})
    if "forget" in edit:
        state = replace(state, holdfast=None)
    return state


@given(rounds)
def test_merging_twice_changes_nothing_whatever_came_before(history: Any) -> None:
    """Idempotent byte for byte, at any later time, whichever order the sources come in."""
    state: State | None = None
    for local, plan, edit, saved_mtime in history:
        state = play(state, local, plan, edit)
        present = [each for each in (local, plan) if each]
        if state is None and not present:
            continue
        results = [
            merged(state, *order, saved_mtime=saved_mtime)
            for order in itertools.permutations(present)
        ]
        assert len({result.encode() for result in results}) == 1
        state = results[0]
        reread = KIND.parse(state.encode())
        later = datetime.fromtimestamp(3_000_000, UTC)
        again = merged(reread, *present, saved_mtime=NEWER + 100, now=later)
        assert again.encode() == state.encode()


@given(rounds)
def test_nothing_that_somebody_still_says_is_lost(history: Any) -> None:
    """After every merge, each item that a source states now is there; so is each agent's note."""
    state: State | None = None
    noted: set[str] = set()
    created = None
    for local, plan, edit, saved_mtime in history:
        state = play(state, local, plan, edit)
        present = [each for each in (local, plan) if each]
        if state is None and not present:
            continue
        if state is not None and "reminder" in edit:
            base = state.holdfast.seen.get("saved") if state.holdfast else None
            if base is None or edit["reminder"] not in (base.key_reminders or []):
                noted.add(edit["reminder"])
        state = merged(state, *present, saved_mtime=saved_mtime)
        created = created or state.created_at
        assert state.created_at == created
        assert noted <= set(state.key_reminders)
        for each in present:
            assert set(each.required_reading or ()) <= set(state.required_reading)
            assert set(each.key_reminders or ()) <= set(state.key_reminders)
            assert set(each.context or ()) <= set(state.context)
