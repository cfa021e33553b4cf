"""Change JSON as text: what is not changed keeps every byte, whoever formatted it and how.

A tree that is read and written again would lose the indentation, the line ends and the escapes
that a person chose. So an element is put in beside its neighbours, in their manner, or cut out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

Path: TypeAlias = "Sequence[str | int]"

_SPACE = re.compile(r"[ \t\r\n]*")
_LINE_BEGINS = re.compile(r"\n([ \t]*)[^\s]")
_DECODER = json.JSONDecoder()


class Element(NamedTuple):
    """A member of an object or an item of an array: text[opens:end], its value from *start*."""

    key: str | int
    opens: int
    start: int
    end: int


def value_in(text: str) -> dict[str, Any]:
    """The object that *text* holds."""
    value: dict[str, Any] = json.loads(text.removeprefix("\ufeff"))
    return value


def find(text: str, path: Path) -> Element:
    """Where the value at *path* lies in *text*; KeyError when nowhere.

    As everywhere here, *text* is valid, and each name stands once in an object.
    """
    start = _after_space(text, 1 if text.startswith("\ufeff") else 0)
    found = Element("", start, start, _end_of_value(text, start))
    for key in path:
        inside = {element.key: element for element in children(text, found)}
        found = inside[key]
    return found


def children(text: str, container: Element) -> list[Element]:
    """What lies directly in an object or array; nothing for any other value."""
    if text[container.start] not in "{[":
        return []
    found: list[Element] = []
    at = _after_space(text, container.start + 1)
    while text[at] not in "}]":
        opens = at
        key: str | int = len(found)
        if text[container.start] == "{":
            key, at = _DECODER.raw_decode(text, at)
            at = _after_space(text, _after_space(text, at) + 1)  # behind the colon
        end = _end_of_value(text, at)
        found.append(Element(key, opens, at, end))
        at = _after_space(text, end)
        if text[at] == ",":
            at = _after_space(text, at + 1)
    return found


def repeated(text: str) -> Iterator[Element]:
    """The members whose name another one of the same object had before them."""
    waiting = [find(text, ())]
    while waiting:
        found = children(text, waiting.pop())
        seen: set[str | int] = set()
        for element in found:
            if element.key in seen:
                yield element
            seen.add(element.key)
        waiting += found


def added(text: str, path: Path, value: object, key: str | None = None) -> str:
    """*text* with *value* as the last element of the container at *path*, as *key* in an object."""
    container = find(text, path)
    style = _Style.seen_in(text)
    inside = children(text, container)
    outer = _indentation_at(text, container.start)
    if not inside:
        inner = outer + style.indent
        written = style.member(key, value, inner if style.lines else None)
        if style.lines:
            written = f"{style.newline}{inner}{written}{style.newline}{outer}"
        return text[: container.start + 1] + written + text[container.end - 1 :]
    last = inside[-1]
    first = text[container.start + 1 : last.opens]
    separator = text[inside[-2].end : last.opens] if len(inside) > 1 else "," + first
    if separator == ",":
        separator = ", "
    # Where the neighbour is spread over lines, so is the new element, and from the same column.
    on_lines = "\n" in text[container.start : last.end]
    written = style.member(key, value, _indentation_at(text, last.opens) if on_lines else None)
    return text[: last.end] + separator + written + text[last.end :]


def put_in(text: str, path: Sequence[str], item: object) -> str:
    """*text* with *item* as the last of the array at *path*, which is made where there is none."""
    for depth, key in enumerate(path):
        if key not in {element.key for element in children(text, find(text, path[:depth]))}:
            value: object = [item]
            for below in reversed(path[depth + 1 :]):
                value = {below: value}
            return added(text, path[:depth], value, key)
    return added(text, path, item)


def removed(text: str, path: Path) -> str:
    """*text* without the element at *path*."""
    container = find(text, path[:-1])
    inside = children(text, container)
    place = [element.key for element in inside].index(path[-1])
    if len(inside) == 1:
        return text[: container.start + 1] + text[container.end - 1 :]
    if place:
        return text[: inside[place - 1].end] + text[inside[place].end :]
    return text[: inside[0].opens] + text[inside[1].opens :]


def pruned(text: str, path: Path) -> str:
    """*text* without the element at *path*, and without what is empty then around it."""
    container = find(text, path[:-1])
    if len(path) > 1 and len(children(text, container)) == 1:
        return pruned(text, path[:-1])
    return removed(text, path)


class _Style(NamedTuple):
    """How a file is formatted, as far as new elements are to look like it."""

    newline: str
    indent: str
    lines: bool  # whether elements stand on lines of their own

    @classmethod
    def seen_in(cls, text: str) -> _Style:
        top = find(text, ())
        inside = children(text, top)
        deeper = _LINE_BEGINS.search(text[top.start : top.end]) if inside else None
        return cls(
            "\r\n" if "\r\n" in text else "\n",
            (deeper[1] if deeper else "  ") or "  ",
            deeper is not None or not inside,
        )

    def member(self, key: str | None, value: object, around: str | None) -> str:
        """*value* as text, with its lines indented by *around*; on one line where that is None."""
        name = f"{json.dumps(key)}: " if key is not None else ""
        if around is None:
            return name + json.dumps(value)
        written = json.dumps(value, indent=self.indent)
        return name + written.replace("\n", self.newline + around)


def _after_space(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


def _end_of_value(text: str, at: int) -> int:
    end: int = _DECODER.raw_decode(text, at)[1]
    return end


def _indentation_at(text: str, at: int) -> str:
    """The white space that the line of *at* begins with."""
    line = text.rfind("\n", 0, at) + 1
    return text[line : line + len(text[line:at]) - len(text[line:at].lstrip(" \t"))]
