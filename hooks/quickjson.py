"""JSON with what the `json` module is made of: to load that module costs a third of starting the interpreter.

What is read here is what `json.loads` would read, or nothing: whoever gets None takes the full path. Where
the parts are not there, as in another interpreter than CPython, this cannot be imported.
"""

from __future__ import annotations

from _json import encode_basestring, make_scanner


class _Settings:
    """What the scanner asks for, as `json.JSONDecoder` has it."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float


def loads(raw: bytes, errors: str = "strict") -> object:
    """The value in *raw*; None where it is not plain JSON in UTF-8. *errors* is for names of files."""
    try:
        text = raw.decode("utf-8", errors).strip(" \t\n\r")
        value, end = make_scanner(_Settings)(text, 0)  # type: ignore[arg-type]
    except (ValueError, StopIteration, RecursionError, SystemError):
        return None  # SystemError: it wants to raise an error of the module that is not loaded
    return value if end == len(text) else None


def dumps(value: object) -> str:
    """*value* as `json.dumps` writes it with ensure_ascii=False."""
    if isinstance(value, str):
        return str(encode_basestring(value))
    if isinstance(value, dict):
        members = (f"{encode_basestring(key)}: {dumps(each)}" for key, each in value.items())
        return "{" + ", ".join(members) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(dumps, value)) + "]"
    return _WORDS[value] if value is None or isinstance(value, bool) else repr(value)


_WORDS = {None: "null", True: "true", False: "false"}
