"""What counts as a state: field by field what is taken, how loosely, and what is objected to."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.formats.canonical.files import KIND
from holdfast.formats.canonical.model import State
from holdfast.formats.engine.document import strictly

PHASE: dict[str, Any] = {"current": 1, "total": 2, "name": "One", "status": "in_progress"}
GIVEN: dict[str, Any] = {
    "workflow": "W",
    "workflow_type": "custom",
    "phase": PHASE,
    "required_reading": [],
    "created_at": "2025-12-09T14:30:52Z",
}
KEPT: dict[str, Any] = {"identity": "canonical:name:w", "changed_at": "2025-12-09T14:30:52Z"}


def places(data: dict[str, Any]) -> list[tuple[str | int, ...]]:
    """Where *data* has values that cannot be used."""
    return [item["loc"] for item in State.of_json(data).odd]


@pytest.mark.parametrize(
    ("written", "taken"),
    [
        (3, 3),
        (3.0, 3),
        (True, 1),
        ("3", 3),
        (" +03\n", 3),
        ("3.00", 3),
        ("1_000", 1000),
        ("1_000.0", 1000),
        (10**30, 10**30),
        (9.0e18, 9 * 10**18),
        *((wrong, None) for wrong in (0, -1, "-3", 3.5, 1e30, "1e2", "3.", "٣", "", "_1", "1__0")),
        *((wrong, None) for wrong in ("1_", "3.0_0", "+ 3", "0x1", "9" * 5000, [], {})),
        *((wrong, None) for wrong in (float("inf"), float("nan"))),
    ],
)
def test_numbers(written: object, taken: int | None) -> None:
    """What can only mean one number is taken as that."""
    data = {**GIVEN, "phase": {**PHASE, "current": written}}
    if taken is None:
        assert places(data) == [("phase", "current")]
    else:
        assert State.of_json(data).phase.current == taken


@pytest.mark.parametrize(
    "name", ["", " ", "\t\n", "\x85", "\x1c", "\u3000", "a\ud800", 3, True, ["W"]]
)
@pytest.mark.parametrize("field", ["workflow", "name"])
def test_a_name_is_something_to_read(field: str, name: object) -> None:
    """And a UTF-8 file can hold it."""
    at = ("workflow",) if field == "workflow" else ("phase", "name")
    data = (
        {**GIVEN, "workflow": name}
        if field == "workflow"
        else {**GIVEN, "phase": {**PHASE, "name": name}}
    )
    assert places(data) == [at]


@pytest.mark.parametrize("name", ["\u200b", " x "])
def test_a_name_stays_as_it_is(name: str) -> None:
    """Blanks around it, and characters that are no blanks though they look so."""
    assert State.of_json({**GIVEN, "workflow": name}).workflow == name


@pytest.mark.parametrize(
    ("field", "value", "where"),
    [
        ("workflow_type", "Planning", [("workflow_type",)]),
        ("workflow_type", ["planning"], [("workflow_type",)]),
        ("phase", [], [("phase",)]),
        ("phase", {"current": 0, "name": []}, [("phase", "current"), ("phase", "name")]),
        ("created_at", "yesterday", [("created_at",)]),
        ("created_at", [], [("created_at",)]),
        ("workflow", 3, [("workflow",)]),
        ("required_reading", 3, [("required_reading",)]),
        ("key_reminders", True, [("key_reminders",)]),
        ("context", "a", [("context",)]),
    ],
)
def test_what_makes_no_sense_is_named(field: str, value: object, where: list[object]) -> None:
    """Each place of it, in the order of the document."""
    assert places({**GIVEN, field: value}) == where


@pytest.mark.parametrize(
    ("field", "value", "taken"),
    [
        ("phase", "2/5 - Build", {**PHASE, "current": 2, "total": 5, "name": "Build"}),
        ("phase", 2, {**PHASE, "current": 2, "total": 2, "name": "Phase 2"}),
        ("required_reading", "a.md", ["a.md"]),
        ("required_reading", {"path": "a.md"}, ["@a.md"]),
        ("required_reading", ["@a.md", 3, None], ["@a.md", "3"]),
        ("required_reading", None, []),
        ("key_reminders", "x", ["x"]),
        ("key_reminders", [1], ["1"]),
        ("context", [], {}),
        ("context", ["a"], {"items": ["a"]}),
        ("created_at", 1_700_000_000, "2023-11-14T22:13:20.000000Z"),
    ],
)
def test_a_slip_is_read_as_it_was_meant(field: str, value: object, taken: object) -> None:
    """And `inspect` objects to it."""
    data = {**GIVEN, field: value}
    state = State.of_json(data)
    assert (state.as_read()[field], state.odd) == (taken, [])
    assert json.loads(state.encode())[field] == value
    assert strictly(State, data)


@pytest.mark.parametrize("data", [None, [], "text", 3])
def test_what_is_no_object_is_no_state(data: object) -> None:
    """And says so as whatever else cannot be read does."""
    with pytest.raises(ValueError, match="not a canonical state"):
        KIND.parse(json.dumps(data).encode())


def test_what_may_be_left_out_may_be_null() -> None:
    """Context and reminders, and then they are empty."""
    state = State.of_json({**GIVEN, "context": None, "key_reminders": None, "holdfast": None})
    assert (state.context, state.key_reminders, state.holdfast) == ({}, [], None)


@pytest.mark.parametrize(
    "scribbled",
    [
        "text",
        [],
        {},
        {**KEPT, "identity": 3},
        {**KEPT, "phases": [{"number": 1}]},
        {**KEPT, "seen": {"plan": None}},
        {**KEPT, "seen": {"plan": {"required_reading": [1]}}},
        {**KEPT, "own": {"phases": "perhaps"}},
    ],
)
def test_bookkeeping_that_was_scribbled_over_counts_as_missing(scribbled: object) -> None:
    """The merge then has no base and loses nothing, and the state is no worse for it."""
    assert State.of_json({**GIVEN, "holdfast": scribbled}).holdfast is None


@pytest.mark.parametrize(
    ("written", "taken"),
    [
        ("yes", True),
        ("ON", True),
        ("t", True),
        (1, True),
        (1.0, True),
        ("n", False),
        ("Off", False),
        (0, False),
    ],
)
def test_truth_values_in_the_bookkeeping(written: object, taken: bool) -> None:
    """As loosely as numbers."""
    kept = State.of_json({**GIVEN, "holdfast": {**KEPT, "own": {"phases": written}}}).holdfast
    assert kept
    assert kept.own.phases is taken


def test_how_it_is_written() -> None:
    """As it stood, what is new behind it; of our own part, what is not known is left out."""
    given = {
        "team": None,
        **GIVEN,
        "phase": {"owner": None, **PHASE},
        "holdfast": {
            **KEPT,
            "later": {"a": None},
            "seen": {"plan": {"phase": {"total": 2}, "context": {"b": None}}},
        },
    }
    state = State.of_json(given)
    assert json.loads(state.encode()) == given
    changed = state.with_phase(current=2).model_copy(update={"key_reminders": ["new"]})
    changed = changed.with_bookkeeping(gate=None, next_action="Go")
    written = changed.encode()
    assert written.endswith(b"}\n")
    data = json.loads(written)
    assert list(data) == [*given, "key_reminders"]
    assert data["phase"] == {"owner": None, **PHASE, "current": 2}
    assert data["holdfast"] == {**given["holdfast"], "next_action": "Go"}


def test_what_no_utf8_file_can_hold_is_written_as_json_has_it() -> None:
    """In keys as well, of the document's objects and of others."""
    given = {
        **GIVEN,
        "x\ud800": 1,
        "context": {"y\ud800": "z\ud800"},
        "phase": {**PHASE, "w\ud800": 2},
    }
    state = State.of_json(given)
    assert state.odd == []
    assert json.loads(state.model_copy(update={"key_reminders": ["new"]}).encode()) == {
        **given,
        "key_reminders": ["new"],
    }


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(
    st.fixed_dictionaries(
        {}, optional=dict.fromkeys((*GIVEN, "context", "holdfast", "more"), anything)
    ),
    st.sets(st.sampled_from(sorted(GIVEN))),
)
def test_whatever_is_taken_is_written_and_read_back_the_same(
    data: dict[str, Any], right: set[str]
) -> None:
    """And what is not taken is named."""
    data = {**data, **{field: GIVEN[field] for field in right}}
    state = State.of_json(data)
    again = State.of_json(json.loads(state.encode()))
    assert again.as_read() == state.as_read()
    assert again.encode() == state.encode()
    assert {item["loc"][0] for item in state.odd} <= {*data} - right
