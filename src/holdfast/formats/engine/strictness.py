"""What is wrong with a document, field by field, in words: "tasks.1.status: expected …, found …"."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, TypeGuard, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from holdfast.formats.engine.document import EXACT, Document
from holdfast.text.plaintext import one_line

_KINDS = {
    "bool": "true or false",
    "dict": "an object",
    "extra": "no such field",
    "int": "a whole number",
    "list": "a list",
    "model": "an object",
    "string": "a text",
}
_NONE: Mapping[str, str] = {}
_NUMBERS = ("task", "step", "phase", "id", "name")  # what an item of a list is called by
_BOUNDS = {
    "greater_than": "more than {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "less than {lt}",
    "less_than_equal": "at most {le}",
    "string_too_short": "a text that is not empty",
}


def problems_of(error: ValidationError, words: Mapping[str, str] = _NONE) -> tuple[str, ...]:
    """Each wrong field with its path: "tasks.1.status: expected …, found …".

    What is expected in a field, or in the items of a list, is told in these *words* where they have it.
    """
    return tuple(_wrong(item, words) for item in error.errors(include_url=False))


def _wrong(item: ErrorDetails, words: Mapping[str, str]) -> str:
    where = ".".join(str(part) for part in item["loc"])
    there = "nothing" if item["type"] == "missing" else quoted(item["input"])
    return f"{where}: expected {_expected(item, where, words)}, found {there}"


def _expected(item: ErrorDetails, where: str, words: Mapping[str, str] = _NONE) -> str:
    kind, context = item["type"], item.get("ctx", {})
    of_items = f"{where.rpartition('.')[0]}.*"
    if where in words or of_items in words:
        return words.get(where) or words[of_items]
    if kind == "literal_error":
        return f"one of {context['expected'].replace(' or ', ', ').replace(chr(39), '')}"
    if kind == "value_error":
        return str(context["error"])
    if kind in _BOUNDS:
        return _BOUNDS[kind].format(**context)
    return _KINDS.get(kind.partition("_")[0], "a value")


def odd_values(document: Document) -> tuple[str, ...]:
    """Each value that could not be used: "cost of task 1.1 is no amount: n/a"."""
    return tuple(_odd(item, document.source) for item in document.odd)


def _odd(item: ErrorDetails, value: Any) -> str:
    owner, location = "", item["loc"]
    for part in location:
        inside = value[part]
        if isinstance(inside, dict):
            number = (f"{name} {inside[name]}" for name in _NUMBERS if name in inside)
            owner = next(number, owner) if isinstance(value, list) else str(part)
        value = inside
    expected = _expected(item, "").partition(", such as")[0]
    is_kind = expected.startswith(("a ", "an "))
    wrong = f"no {expected.partition(' ')[2]}" if is_kind else f"not {expected}"
    there = value if isinstance(value, str) else repr(value)
    return one_line(f"{location[-1]}{owner and f' of {owner}'} is {wrong}: {there}", 200)


def strictly(
    model: type[BaseModel], data: dict[str, Any], words: Mapping[str, str] = _NONE
) -> tuple[str, ...]:
    """What *model* objects to when nothing is tolerated; *words* as in `problems_of`."""
    try:
        model.model_validate(data, strict=True, context=EXACT)
    except ValidationError as error:
        return problems_of(error, words)
    return ()


def objections(
    model: type[BaseModel], data: dict[str, Any], required: Mapping[str, str]
) -> Iterator[str]:
    """Which of the *required* fields are absent, and what *model* objects to; each field once.

    A required field is called "workflow.id", and in each item of a list "tasks.*.name".
    """
    absent = [
        f"{path}: expected {expected}, found nothing"
        for where, expected in required.items()
        for path in _absent(data, where.split("."), ())
    ]
    yield from absent
    named = {line.partition(":")[0] for line in absent}  # null is wrong as a value as well
    yield from (line for line in strictly(model, data) if line.partition(":")[0] not in named)


def required_fields(
    model: type[BaseModel], optional: Collection[str] = (), above: str = ""
) -> dict[str, str]:
    """What is expected in each field of *model* and of the models in it, but for the *optional* ones.

    The words are a field's description, or what its type is called.
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


def quoted(value: object) -> str:
    """A value as a problem names it."""
    return one_line(repr(value), 80)
