"""A JSON document shared with other writers: read leniently, written with only the changes.

What a format's document names is checked as far as we act on it. Everything else stays, and so does
the order in which somebody wrote it: a written file differs from the one that was read by what
changed. Files come from jq and from hands, so models built with these types read what is meant.
A value that cannot be what its field asks for costs that field alone: it has its default, the file keeps
what stood there, and `odd` has it. With EXACT as the context nothing of that is done, for `inspect`.

Beside its states a document may ask for an index: what there is, at a glance. The states are what
counts. The index follows them, and is written when it differs from them: missing, wrong or old. That it
cannot be written must not make a change seem to have failed, since somebody would then make it again;
the next command tries once more.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from datetime import UTC, datetime
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self, TypeGuard, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic_core import ErrorDetails

from holdfast import clock
from holdfast.errors import StateUnreadable, StateUnwritable
from holdfast.files.store import LARGEST, Store
from holdfast.formats.engine.workflow import Place
from holdfast.text.plaintext import one_line

EXACT = "exact"
_LARGEST_INDEX = 2 * LARGEST  # tens of thousands of workflows


def tolerant(meant: Callable[[Any], Any]) -> BeforeValidator:
    """Normalise a value with *meant*, unless validation is strict."""

    def read_as_meant(value: object, info: ValidationInfo) -> object:
        return value if info.context == EXACT else meant(value)

    return BeforeValidator(read_as_meant)


def plain(value: str) -> str:
    """ "In Progress" as in_progress."""
    return "_".join(value.lower().replace("-", " ").split())


def word(known: Mapping[str, str], otherwise: str | None = None) -> BeforeValidator:
    """Map a word's other spellings to the document's word by *known*; *otherwise* replaces unknown ones."""

    def meant(value: object) -> object:
        if not isinstance(value, str):
            return otherwise or value
        return known.get(plain(value), otherwise or plain(value))

    return tolerant(meant)


def by_name(field: str) -> BeforeValidator:
    """A bare string stands for an object with that one field; other types become empty."""

    def meant(value: object) -> object:
        if isinstance(value, dict):
            return value if value.get(field) is not None else {**value, field: ""}
        return {field: value if isinstance(value, str) else ""}

    return tolerant(meant)


def one_of(*words: str) -> AfterValidator:
    """A word that Holdfast does not act on: unknown ones are kept, and `inspect` reports them."""

    def known(value: str, info: ValidationInfo) -> str:
        if info.context == EXACT and value not in words:
            raise ValueError(f"one of {', '.join(words)}")
        return value

    return AfterValidator(known)


def _texts(value: object) -> list[str]:
    return [str(item) for item in value if item is not None] if isinstance(value, list) else []


Texts = Annotated[list[str], tolerant(_texts)]


def moment(value: object) -> datetime | None:
    """Parse a time with any offset; None if it is not a time."""
    return clock.parse(value) if isinstance(value, str) else None


def iso_time(now: datetime) -> str:
    """Whole seconds, as `date -Iseconds` has them: fractions would make ours the later ones."""
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _time(value: object, info: ValidationInfo) -> object:
    if info.context == EXACT and moment(value) is None and value is not None:
        raise ValueError("a time in ISO 8601, such as 2025-01-08T20:00:00Z")
    return value


Time = Annotated[Any, AfterValidator(_time), Field(description="a time in ISO 8601")]


class Open(BaseModel):
    """An object of a document; members that it does not name are kept."""

    model_config = ConfigDict(extra="allow", coerce_numbers_to_str=True, defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, value: Any, info: ValidationInfo) -> Any:
        if info.context == EXACT or not isinstance(value, dict):
            return value
        # pydantic takes no names that UTF-8 cannot hold; the file keeps these as well.
        return {
            name: member
            for name, member in value.items()
            if member is not None and (name.isascii() or name.isprintable())
        }


class Document(Open):
    """A whole file."""

    # Fallbacks for bad values without a default, by field: "workflow.id".
    instead: ClassVar[Mapping[str, Any]] = {}
    writes_null: ClassVar[bool] = True  # else a field that is None is left out

    _source: dict[str, Any] = PrivateAttr(default_factory=dict)  # the JSON that it was read from
    _read: dict[str, Any] = PrivateAttr(default_factory=dict)  # what that was understood as
    _odd: Sequence[ErrorDetails] = PrivateAttr(())

    @classmethod
    def of_json(cls, data: dict[str, Any], context: Any = None) -> Self:
        """The document in *data*, so that what is written keeps its order; or ValidationError.

        Validators have the *context*, such as what stands for missing values.
        """
        usable, odd, first = data, list[ErrorDetails](), None
        while True:
            try:
                document = cls.model_validate(usable, context=context)
            except ValidationError as error:
                first = first or error
                wrong, usable = error.errors(include_url=False), deepcopy(usable)
                instead = cls.fallbacks(context)
                if not all(_take_out(usable, item, instead) for item in wrong):
                    raise first from None
                odd += wrong
                continue
            document._source, document._read, document._odd = data, document.as_read(), odd  # noqa: SLF001
            return document

    @classmethod
    def fallbacks(cls, context: Any) -> Mapping[str, Any]:  # noqa: ARG003  # for those that derive
        """What stands for bad values, by field."""
        return cls.instead

    @property
    def source(self) -> Mapping[str, Any]:
        """The JSON it was read from."""
        return self._source

    @property
    def odd(self) -> Sequence[ErrorDetails]:
        """The values that could not be used, and why."""
        return self._odd

    def to_json(self) -> dict[str, Any]:
        """The JSON to write: as read, with the changes applied."""
        now = self.as_read()
        result: dict[str, Any] = changed(self._source, self._read, now) if self._source else now
        return result

    def as_read(self) -> dict[str, Any]:
        """The JSON of what it says, without what could not be used."""
        return self.model_dump(by_alias=True, exclude_unset=True, exclude_none=not self.writes_null)

    def encode(self) -> bytes:
        return encoded(self.to_json())


# Of these nothing can be taken out, or too much.
_WHOLE = {"missing", "too_long"}


def _take_out(data: Any, wrong: ErrorDetails, instead: Mapping[str, Any]) -> bool:
    """Take the *wrong* value out of *data*; False where it is not there, or cannot be done without."""
    holder: Any = None
    last: Any = None
    try:
        for last in wrong["loc"]:
            holder, data = data, data[last]
    except (LookupError, TypeError):
        return False
    where = _path_of(wrong)
    if where in instead:
        holder[last] = instead[where]
    elif isinstance(holder, list) and wrong["type"] == "model_type":
        holder[last] = {}  # so that later items keep their positions
    elif isinstance(holder, dict) and wrong["type"] not in _WHOLE:
        del holder[last]
    else:
        return False
    return True


def encoded(data: object) -> bytes:
    """JSON as our files have it."""
    text = json.dumps(data, ensure_ascii=False, indent=2) + "\n"
    return text.encode("utf-8", "backslashreplace")


def changed(source: Any, read: Any, now: Any) -> Any:
    """*source*, which was understood as *read*, with what is different *now*."""
    if now == read:
        return source
    if isinstance(source, dict) and isinstance(read, dict) and isinstance(now, dict):
        kept = [key for key in source if key in now or key not in read]
        return {
            key: changed(source[key], read.get(key), now[key]) if key in now else source[key]
            for key in kept
        } | {key: now[key] for key in now if key not in source}
    if isinstance(source, dict) and isinstance(read, list):
        source = [source]  # one item without a list around it
    if isinstance(source, list) and isinstance(read, list) and isinstance(now, list):
        if len(source) != len(read):
            return now  # which of them was left out is not known
        if len(now) < len(read) or not any(isinstance(item, dict) for item in now):
            return _rearranged(source, read, now)
        return [*map(changed, source, read, now), *now[len(read) :]]
    return now


def _rearranged(source: list[Any], read: list[Any], now: list[Any]) -> list[Any]:
    """Each item as it stood, wherever it stands now: one taken out lends nothing to the next.

    One that was read as None could not be used, so nobody has taken it out.
    """
    left = list(zip(read, source, strict=True))
    result = []
    for item in now:
        at = next((at for at, (was, _) in enumerate(left) if was == item), None)
        result.append(item if at is None else left.pop(at)[1])
    for at, item in enumerate(source):
        if read[at] is None and None not in now:
            result.insert(at, item)
    return result


# Describing a document's problems, field by field.

_KINDS = {
    "bool": "true or false",
    "dict": "an object",
    "extra": "no such field",
    "int": "a whole number",
    "list": "a list",
    "model": "an object",
    "string": "a text",
}
_BOUNDS = {
    "greater_than": "more than {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "less than {lt}",
    "less_than_equal": "at most {le}",
    "string_too_short": "a text that is not empty",
}


def problems_of(error: ValidationError) -> tuple[str, ...]:
    """Each wrong field with its path: "tasks.1.status: expected …, found …"."""
    return tuple(_problem(item, item["input"]) for item in error.errors(include_url=False))


def odd_values(document: Document) -> tuple[str, ...]:
    """The values that could not be used, in the same words, each as it stands in the file."""
    source: Any = document.source
    lines = (_problem(item, reduce(getitem, item["loc"], source)) for item in document.odd)
    return tuple(one_line(line, 200) for line in lines)


def _path_of(item: ErrorDetails) -> str:
    return ".".join(map(str, item["loc"]))


def _problem(item: ErrorDetails, value: object) -> str:
    there = "nothing" if item["type"] == "missing" else quoted(value)
    return f"{_path_of(item)}: expected {_expected(item)}, found {there}"


def _expected(item: ErrorDetails) -> str:
    kind, context = item["type"], item.get("ctx", {})
    if kind == "literal_error":
        return f"one of {context['expected'].replace(' or ', ', ').replace(chr(39), '')}"
    if kind == "value_error":
        return str(context["error"])
    if kind in _BOUNDS:
        return _BOUNDS[kind].format(**context)
    return _KINDS.get(kind.partition("_")[0], "a value")


def strictly(model: type[BaseModel], data: dict[str, Any]) -> tuple[str, ...]:
    """The problems under strict validation by *model*."""
    try:
        model.model_validate(data, strict=True, context=EXACT)
    except ValidationError as error:
        return problems_of(error)
    return ()


def objections(
    model: type[BaseModel], data: dict[str, Any], required: Mapping[str, str]
) -> Iterator[str]:
    """Which of the *required* fields are absent, and what *model* objects to; each field once.

    A required field is called "workflow.id", and in each item of a list "tasks.*.name". Where one that is
    required itself is absent, nothing is said of those in it.
    """
    absent = [
        f"{path}: expected {expected}, found nothing"
        for where, expected in required.items()
        if not ((above := where.rpartition(".")[0]) in required and lacks(data, above))
        for path in _absent(data, where.split("."), ())
    ]
    yield from absent
    named = {line.partition(":")[0] for line in absent}  # null is wrong as a value as well
    yield from (line for line in strictly(model, data) if line.partition(":")[0] not in named)


def required_fields(
    model: type[BaseModel], optional: Collection[str] = (), above: str = ""
) -> dict[str, str]:
    """The expected value of each field of *model* and its nested models, except the *optional* ones.

    It is worded by the field's description, or by its type's name.
    """
    found: dict[str, str] = {}
    for name, field in model.model_fields.items():
        where, kind = f"{above}{name}", field.annotation
        item = next(iter(get_args(kind)), None) if get_origin(kind) is list else None
        item = next(iter(get_args(item)), item)  # of an Annotated one
        if _is_model(kind):
            found |= required_fields(kind, optional, f"{where}.")
            continue
        if where not in optional:
            called = getattr(get_origin(kind) or kind, "__name__", "")
            found[where] = field.description or _KINDS.get(called, "a text")
        if _is_model(item):
            found |= required_fields(item, optional, f"{where}.*.")
    return found


def _is_model(kind: object) -> TypeGuard[type[BaseModel]]:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _absent(value: object, steps: Sequence[str], above: tuple[str, ...]) -> Iterator[str]:
    if value is None and "*" not in steps:
        yield ".".join((*above, *steps))
    elif steps and steps[0] == "*":
        for at, item in enumerate(value if isinstance(value, list) else ()):
            yield from _absent(item, steps[1:], (*above, str(at)))
    elif steps and isinstance(value, dict):
        yield from _absent(value.get(steps[0]), steps[1:], (*above, steps[0]))


def lacks(data: object, where: str) -> bool:
    """Whether the field *where*, such as "workflow.id", is absent."""
    for name in where.split("."):
        data = data.get(name) if isinstance(data, Mapping) else None
    return data is None


def quoted(value: object) -> str:
    """A value as shown in a problem."""
    return one_line(repr(value), 80)


# The index.


def update_index(
    place: Place,
    path: Path,
    entries: Iterable[Mapping[str, Any]],
    *,
    list_field: str,
    id_field: str,
    head: Mapping[str, Any] | None = None,
    stamped: Mapping[str, Any] | None = None,
) -> None:
    """Write *entries* to the index at *path*; inside the lock, after the states.

    A new index starts with *head*; each write sets the *stamped* fields.
    """
    store, data = place.store, _read_index(place.store, path)
    known = (data or {}).get(list_field)
    before = {
        entry[id_field]: entry
        for entry in (known if isinstance(known, list) else [])
        if isinstance(entry, dict) and isinstance(entry.get(id_field), str)
    }
    now = [{**before.get(entry[id_field], {}), **entry} for entry in entries]
    if data is not None and known == now:
        return
    with contextlib.suppress(StateUnwritable):
        if data is None and store.exists(path):
            store.set_aside(path, place.stamp, move=True)
        content = {**(head or {}), **(data or {}), **(stamped or {}), list_field: now}
        store.write(path, encoded(content))


def _read_index(store: Store, path: Path) -> dict[str, Any] | None:
    try:
        data = store.read_json(path, _LARGEST_INDEX)[2] if store.holds(path) else None
    except StateUnreadable:
        return None
    return data if isinstance(data, dict) else None
