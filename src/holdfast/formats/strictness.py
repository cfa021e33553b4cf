"""What is wrong with a document, field by field, in words: "tasks.1.status: expected …, found …"."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from holdfast.formats.document import EXACT
from holdfast.plaintext import one_line

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
    return tuple(_wrong(item) for item in error.errors(include_url=False))


def _wrong(item: ErrorDetails) -> str:
    where = ".".join(str(part) for part in item["loc"])
    kind, context = item["type"], item.get("ctx", {})
    there = "nothing" if kind == "missing" else found(item["input"])
    if kind == "literal_error":
        expected = f"one of {context['expected'].replace(' or ', ', ').replace(chr(39), '')}"
    elif kind == "value_error":
        expected = str(context["error"])
    elif kind in _BOUNDS:
        expected = _BOUNDS[kind].format(**context)
    else:
        expected = _KINDS.get(kind.partition("_")[0], "a value")
    return f"{where}: expected {expected}, found {there}"


def strictly(model: type[BaseModel], data: dict[str, Any]) -> tuple[str, ...]:
    """What *model* objects to when nothing is tolerated."""
    try:
        model.model_validate(data, strict=True, context=EXACT)
    except ValidationError as error:
        return problems_of(error)
    return ()


def objections(
    model: type[BaseModel], data: dict[str, Any], required: Mapping[str, str]
) -> Iterator[str]:
    """Which of the *required* fields are absent, and what *model* objects to; each field once."""
    absent = tuple(lacking(data, required))
    yield from absent
    told = {line.partition(":")[0] for line in absent}  # null is wrong as a value as well
    yield from (line for line in strictly(model, data) if line.partition(":")[0] not in told)


def lacking(data: Mapping[str, Any], required: Mapping[str, str]) -> Iterator[str]:
    """Which of the *required* fields are absent or null.

    They are called "workflow.id", and in each item of a list "tasks.*.name".
    """
    for where, expected in required.items():
        for path in _absent(data, where.split("."), ()):
            yield f"{path}: expected {expected}, found nothing"


def _absent(value: object, steps: Sequence[str], above: tuple[str, ...]) -> Iterator[str]:
    if value is None and "*" not in steps:
        yield ".".join((*above, *steps))
    elif steps and steps[0] == "*":
        for at, each in enumerate(value if isinstance(value, list) else ()):
            yield from _absent(each, steps[1:], (*above, str(at)))
    elif steps and isinstance(value, dict):
        yield from _absent(value.get(steps[0]), steps[1:], (*above, steps[0]))


def found(value: object) -> str:
    """A value as a problem names it."""
    return one_line(repr(value), 80)
