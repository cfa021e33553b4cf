"""A JSON document that others write, too: read with tolerance, and written with only what changed.

What a format's document names is checked as far as we act on it. Everything else stays, and so does
the order in which somebody wrote it: a written file differs from the one that was read by what
changed. Files come from jq and from hands, so models built with these types read what is meant.
With EXACT as the context nothing of that is done, for `inspect`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PrivateAttr,
    ValidationInfo,
    model_validator,
)

from holdfast import clock

EXACT = "exact"


def tolerant(meant: Callable[[Any], Any]) -> BeforeValidator:
    """Read a value as *meant* takes it, unless it is to be taken exactly."""

    def read_as_meant(value: object, info: ValidationInfo) -> object:
        return value if info.context == EXACT else meant(value)

    return BeforeValidator(read_as_meant)


def plain(value: str) -> str:
    """ "In Progress" as in_progress."""
    return "_".join(value.lower().replace("-", " ").split())


def word(known: Mapping[str, str]) -> BeforeValidator:
    """A word in another spelling, or one of *known* for the word that the document has."""

    def meant(value: object) -> object:
        return known.get(plain(value), plain(value)) if isinstance(value, str) else value

    return tolerant(meant)


def shaped(kind: type[list[Any] | dict[str, Any]]) -> BeforeValidator:
    """Null, or another shape, is an empty one."""
    return tolerant(lambda value: value if isinstance(value, kind) else kind())


def _texts(value: object) -> list[str]:
    return [str(each) for each in value if each is not None] if isinstance(value, list) else []


Texts = Annotated[list[str], tolerant(_texts)]


def moment(value: object) -> datetime | None:
    """The time that a file states, with whatever offset; None when it is none."""
    return clock.parse(value) if isinstance(value, str) else None


def stamp(now: datetime) -> str:
    """Whole seconds, as `date -Iseconds` has them: fractions would make ours the later ones."""
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _time(value: object, info: ValidationInfo) -> object:
    if info.context == EXACT and moment(value) is None and value is not None:
        raise ValueError("a time in ISO 8601, such as 2025-01-08T20:00:00Z")
    return value


Time = Annotated[Any, AfterValidator(_time)]


class Open(BaseModel):
    """An object of a document; members that it does not name are kept."""

    model_config = ConfigDict(extra="allow", coerce_numbers_to_str=True)

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, value: Any, info: ValidationInfo) -> Any:
        if info.context == EXACT or not isinstance(value, dict):
            return value
        return {key: each for key, each in value.items() if each is not None}


class Document(Open):
    """A whole file."""

    _source: dict[str, Any] = PrivateAttr(default_factory=dict)  # the JSON that it was read from

    @classmethod
    def of_json(cls, data: dict[str, Any]) -> Self:
        """The document in *data*, so that what is written keeps its order; or ValidationError."""
        document = cls.model_validate(data)
        document._source = data  # noqa: SLF001  # of the same class
        return document

    @property
    def source(self) -> Mapping[str, Any]:
        """The JSON that it was read from, which it may have changed since."""
        return self._source

    def to_json(self) -> dict[str, Any]:
        """What is written: the JSON that was read, with what has changed since."""
        now = _dumped(self)
        if not self._source:
            return now
        read = _dumped(type(self).model_validate(self._source))
        result: dict[str, Any] = _changed(self._source, read, now)
        return result

    def encode(self) -> bytes:
        return encoded(self.to_json())


def encoded(data: object) -> bytes:
    """JSON as our files have it."""
    text = json.dumps(data, ensure_ascii=False, indent=2) + "\n"
    return text.encode("utf-8", "backslashreplace")


def _dumped(document: Document) -> dict[str, Any]:
    return document.model_dump(by_alias=True, exclude_unset=True)


def _changed(source: Any, read: Any, now: Any) -> Any:
    """*source*, which was understood as *read*, with what is different *now*."""
    if now == read:
        return source
    if isinstance(source, dict) and isinstance(read, dict) and isinstance(now, dict):
        kept = [key for key in source if key in now or key not in read]
        new = [key for key in now if key not in source]
        return {
            key: _changed(source.get(key), read.get(key), now[key]) if key in now else source[key]
            for key in (*kept, *new)
        }
    if isinstance(source, list) and isinstance(read, list) and isinstance(now, list):
        known = min(len(source), len(read), len(now))
        return [*map(_changed, source[:known], read, now), *now[known:]]
    return now
