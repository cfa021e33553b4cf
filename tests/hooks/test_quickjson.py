"""What is read and written without the `json` module is what that module reads and writes."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.hooks import quickjson

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES)
def test_what_json_writes_is_read(value: object) -> None:
    """With letters of any script, and written as escapes or not."""
    for ascii_only in (True, False):
        written = json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "replace")
        assert quickjson.loads(written) == json.loads(written)


@given(VALUES)
def test_it_writes_what_json_writes(value: object) -> None:
    """Down to the blanks, so that a line of the log is the same on either path."""
    assert quickjson.dumps(value) == json.dumps(value, ensure_ascii=False)


@given(st.binary() | st.text().map(str.encode))
def test_what_is_no_json_is_left_to_the_full_path(raw: bytes) -> None:
    """It never reads another value than the module would."""
    try:
        expected = json.loads(raw)
    except (ValueError, RecursionError):
        expected = None
    found = quickjson.loads(raw)
    assert found is None or found == expected or found != found  # NaN


BROKEN = [b"{", b"[1", b'{"a":', b'"\\x"', b"nul", b"1 2", b"", b"[" * 100_000, b"9" * 10_000]


@pytest.mark.parametrize("raw", BROKEN)
def test_broken_json_raises_nothing_while_the_module_is_not_loaded(raw: bytes) -> None:
    """The parts raise errors of a module that is not there, which is one more kind of error."""
    code = (
        "import sys; from holdfast.hooks import quickjson;"
        "assert quickjson.loads(sys.stdin.buffer.read()) is None; assert 'json' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], input=raw, capture_output=True, check=False)
    assert done.stderr == b""
