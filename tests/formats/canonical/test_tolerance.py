"""Whatever somebody wrote by hand, it becomes a state that can be written again."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from holdfast.files.regular import decode_json
from holdfast.formats.canonical.model import State
from holdfast.formats.engine.document import strictly

GOOD = State.model_validate(
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
    {"workflow": values.filter(lambda name: not isinstance(name, dict)), "phase": phases},
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
    """And what stood in it is kept, right or wrong."""
    parsed = decode_json(json.dumps(data).encode())
    assert isinstance(parsed, dict)
    state = State.of_json(parsed, (lambda: GOOD) if good else None)
    again = State.of_json(json.loads(state.encode()), lambda: state)
    assert again.as_read() == state.as_read()
    assert state.phase.current >= 1
    written = state.to_json()
    parts = parsed["phase"] if isinstance(parsed["phase"], dict) else {}
    for there, kept in ((parsed, written), (parts, written["phase"])):
        for name in there.keys() - {"holdfast", *(["phase"] if parts else [])}:
            assert repr(kept[name]) == repr(there[name])
    if isinstance(parsed["workflow"], str) and parsed["workflow"].strip():
        assert state.workflow == parsed["workflow"]
    is_understood = state.content() == {**state.content(), **parsed}
    assert is_understood or state.odd or strictly(State, parsed)
