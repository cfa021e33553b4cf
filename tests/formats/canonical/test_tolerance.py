"""Whatever somebody wrote by hand, it becomes a state that can be written again."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from holdfast.formats.canonical.state import State, read
from holdfast.formats.canonical.tolerance import salvage
from holdfast.regular import decode_json

NOW = "2026-01-01T00:00:00.000000Z"
GOOD = State.of(
    {
        "workflow": "Good",
        "workflow_type": "planning",
        "phase": {"current": 2, "total": 3, "name": "Two", "status": "blocked"},
        "required_reading": ["@good.md"],
        "created_at": "2020-01-01T00:00:00Z",
    }
)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
phases = values | st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("current", "total", "name", "status", "more"), values)
)
files = st.fixed_dictionaries(
    {"workflow": values, "phase": phases},
    optional=dict.fromkeys(
        (
            *("workflow_type", "required_reading", "context", "key_reminders", "created_at"),
            *("holdfast", "more"),
        ),
        values,
    ),
)


@given(files, st.booleans())
def test_any_json_of_the_shape_becomes_a_state(data: dict[str, object], good: bool) -> None:
    """And what was right in it is kept."""
    parsed = decode_json(json.dumps(data).encode())
    assert isinstance(parsed, dict)
    state, wrong = salvage(parsed, lambda: GOOD if good else None, lambda: NOW)
    again = read(state.encode())
    assert again.content() == state.content()
    assert state.phase.current >= 1
    if "more" in parsed:
        assert state.content()["more"] == parsed["more"]
    if isinstance(parsed["workflow"], str) and parsed["workflow"].strip():
        assert state.workflow == parsed["workflow"]
    assert wrong or state == State.of(parsed)
