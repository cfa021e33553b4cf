"""Records: classes of named fields like those of `dataclasses`, without what these cost a hook.

`dataclasses` imports `inspect` and compiles some functions for each class. On the way of one hook
there are about fifty such classes, which took longer than to start the interpreter. Records share
their functions. That nobody sets a field of a frozen one is checked by mypy and not at run time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar, dataclass_transform

T = TypeVar("T")
R = TypeVar("R", bound="Record")


class _Made:
    """Stands for a default that is made anew for each record."""

    def __init__(self, factory: Callable[[], object]) -> None:
        self.factory = factory


def made(*, factory: Callable[[], T]) -> T:
    """A field's default that nobody shares: a list or a dict."""
    return _Made(factory)  # type: ignore[return-value]  # stands for the value in the class body


@dataclass_transform(frozen_default=True, field_specifiers=(made,))
class Record:
    """The base of all records; unless `frozen=False`, fields stay as they are and it can be hashed."""

    _fields: ClassVar[tuple[str, ...]] = ()
    _names: ClassVar[frozenset[str]] = frozenset()
    _defaults: ClassVar[dict[str, Any]] = {}
    _factories: ClassVar[dict[str, Callable[[], object]]] = {}

    def __init_subclass__(cls, *, frozen: bool = True) -> None:
        named = cls.__annotations__.items()  # those of the base where it has none of its own
        own = [
            each for each, kind in named if each not in cls._names and "ClassVar" not in str(kind)
        ]
        cls._fields = (*cls._fields, *own)
        cls._names = frozenset(cls._fields)
        defaults = {name: cls.__dict__[name] for name in own if name in cls.__dict__}
        made_anew = {name: each for name, each in defaults.items() if isinstance(each, _Made)}
        cls._factories = {
            **cls._factories,
            **{name: each.factory for name, each in made_anew.items()},
        }
        plain = {name: each for name, each in defaults.items() if name not in made_anew}
        cls._defaults = {**cls._defaults, **plain}
        if not frozen:
            cls.__hash__ = None  # type: ignore[assignment]  # as for every mutable value

    def __init__(self, *values: Any, **named: Any) -> None:
        if values:
            named.update(zip(self._fields, values, strict=False))
        if len(named) < len(self._fields):
            for name, factory in self._factories.items():
                if name not in named:
                    named[name] = factory()
            named = {**self._defaults, **named}
        if named.keys() != self._names or len(values) > len(self._fields):
            wrong = sorted(named.keys() ^ self._names) or list(values)
            raise TypeError(f"{type(self).__name__}: missing or unknown: {wrong}")
        self.__dict__.update(named)

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(tuple(self.__dict__[name] for name in self._fields))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._fields)
        return f"{type(self).__name__}({shown})"


def replace(record: R, **changes: Any) -> R:
    """A copy of *record* with other values for some fields."""
    return type(record)(**{**record.__dict__, **changes})


def as_dict(value: Any) -> Any:
    """*value* with a dict of the fields in place of each record in it."""
    if isinstance(value, Record):
        return {name: as_dict(getattr(value, name)) for name in value._fields}
    if isinstance(value, dict):
        return {key: as_dict(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)) and type(value) in {list, tuple}:
        return type(value)(map(as_dict, value))
    return value
