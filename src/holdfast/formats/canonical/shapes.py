"""What a value in a state may be, and as what it is taken; what is wrong is noted with its place.

Read loosely, what can only mean one thing is taken so: "3" and 3.0 are numbers, "yes" is true. Read
strictly, as `inspect` does, it has to be what the document says. By hand: the library that could
tell it costs a hook six starts of the interpreter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

Place: TypeAlias = "tuple[Place, str | int] | None"  # from the inside out; None is the whole
Shape: TypeAlias = "Callable[[Look, Any, Place], Any]"

REQUIRED: Any = object()
_TRUE = {"1", "on", "t", "true", "y", "yes"}
_FALSE = {"0", "off", "f", "false", "n", "no"}
_MOST_DIGITS = 4300  # what Python converts
_WHITE = " \t\n\v\f\r\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)


class Wrong(NamedTuple):
    """One value that is not what it should be."""

    at: tuple[str | int, ...]
    found: object
    missing: bool = False


class Unfit(ValueError):
    """What was read is not what it was meant as."""

    def __init__(self, wrong: list[Wrong]) -> None:
        places = {str(each.at[0]) if each.at else "all of it" for each in wrong}
        super().__init__(f"wrong or missing: {', '.join(sorted(places))}")
        self.wrong = wrong


class Look:
    """One reading of one file, and what was wrong in it."""

    def __init__(self, *, strict: bool = False) -> None:
        self.strict = strict
        self.wrong: list[Wrong] = []

    def object_to(self, found: object, at: Place) -> None:
        self.wrong.append(Wrong(_spelt(at), found))

    def miss(self, at: Place) -> None:
        self.wrong.append(Wrong(_spelt(at), None, missing=True))


def _spelt(at: Place) -> tuple[str | int, ...]:
    return (*_spelt(at[0]), at[1]) if at else ()


class Field(NamedTuple):
    shape: Shape
    default: Callable[[], Any] = REQUIRED


def fields(
    look: Look, data: Mapping[str, Any], known: Mapping[str, Field], at: Place
) -> dict[str, Any]:
    """The *known* fields of *data*, each as what it is taken."""
    taken = {}
    for name, (shape, default) in known.items():
        if name in data:
            taken[name] = shape(look, data[name], (at, name))
        elif default is REQUIRED:
            look.miss((at, name))
        else:
            taken[name] = default()
    return taken


def nothing() -> None:
    """The default of what may be left out."""


# The shapes.


def text(look: Look, value: Any, at: Place) -> Any:
    if not isinstance(value, str):
        look.object_to(value, at)
    return value


def name(look: Look, value: Any, at: Place) -> Any:
    """A text that has something to read, and that can be written as UTF-8."""
    if not isinstance(value, str) or not value.strip(_WHITE) or not _is_encodable(value):
        look.object_to(value, at)
    return value


def _is_encodable(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def number(look: Look, value: Any, at: Place) -> Any:
    if type(value) is int:
        return value
    found = None if look.strict else _as_number(value)
    if found is None:
        look.object_to(value, at)
    return found


def positive(look: Look, value: Any, at: Place) -> Any:
    found = number(look, value, at)
    if isinstance(found, int) and found < 1:
        look.object_to(value, at)
    return found


def _as_number(value: Any) -> int | None:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 2**63 else None
    return _written(value) if isinstance(value, str) else None


def _written(value: str) -> int | None:
    whole, point, zeros = value.strip(_WHITE).partition(".")
    digits = whole[1:] if whole[:1] in {"+", "-"} else whole
    plain = digits.replace("_", "")
    if point and (not zeros or zeros.strip("0")):
        return None
    if not plain.isascii() or not plain.isdecimal() or len(plain) > _MOST_DIGITS:
        return None
    if not all(digits.split("_")):  # "_1", "1__0"
        return None
    return int(whole)


def flag(look: Look, value: Any, at: Place) -> Any:
    if isinstance(value, bool):
        return value
    if not look.strict:
        if isinstance(value, (int, float)) and value in {0, 1}:
            return bool(value)
        if isinstance(value, str) and value.lower() in _TRUE | _FALSE:
            return value.lower() in _TRUE
    look.object_to(value, at)
    return value


def one_of(*known: str) -> Shape:
    def shape(look: Look, value: Any, at: Place) -> Any:
        if not isinstance(value, str) or value not in known:
            look.object_to(value, at)
        return value

    return shape


def optional(inner: Shape) -> Shape:
    return lambda look, value, at: None if value is None else inner(look, value, at)


def else_empty(inner: Shape, kind: Callable[[], Any]) -> Shape:
    """Null counts as an empty one."""
    return lambda look, value, at: kind() if value is None else inner(look, value, at)


def texts(look: Look, value: Any, at: Place) -> Any:
    return _texts(look, value, at)


def items(inner: Shape) -> Shape:
    def shape(look: Look, value: Any, at: Place) -> Any:
        if isinstance(value, list):
            return [inner(look, each, (at, index)) for index, each in enumerate(value)]
        look.object_to(value, at)
        return value

    return shape


_texts = items(text)


def anything(_look: Look, value: Any, _at: Place) -> Any:
    return value


def mapping(inner: Shape) -> Shape:
    def shape(look: Look, value: Any, at: Place) -> Any:
        if isinstance(value, dict):
            return {key: inner(look, each, (at, key)) for key, each in value.items()}
        look.object_to(value, at)
        return value

    return shape


def made_of(
    known: Mapping[str, Field], make: Callable[..., Any], *, keeps_more: bool = False
) -> Shape:
    """An object with the *known* fields, which *make* gets by their names; others as `more`."""

    def shape(look: Look, value: Any, at: Place) -> Any:
        if not isinstance(value, dict):
            look.object_to(value, at)
            return value
        before = len(look.wrong)
        taken = fields(look, value, known, at)
        if len(look.wrong) > before:
            return value
        if keeps_more:
            taken["more"] = rest(value, known)
        return make(**taken)

    return shape


def rest(data: Mapping[str, Any], known: Iterable[str]) -> dict[str, Any]:
    """What of *data* nobody knows; it is kept as it is."""
    return {key: value for key, value in data.items() if key not in known}
