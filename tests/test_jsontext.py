"""JSON that is changed as text: what is not changed keeps every byte."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.files import jsontext

scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=6)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=12,
)
objects = st.dictionaries(st.text(max_size=4), values, max_size=4)
NEW = {"hooks": [{"type": "command", "args": ["hook", "--part"]}], "timeout": 30}


@st.composite
def formatted(draw: st.DrawFn) -> tuple[str, Any]:
    """An object, written by any tool or by hand, and the object itself."""
    value = draw(objects)
    way = draw(st.sampled_from(["tool", "hand"]))
    if way == "tool":
        indent = draw(st.sampled_from([None, 0, 1, 2, 3, 4, 8, "\t"]))
        separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,", " : ")]))
        escaped = draw(st.booleans())
        text = json.dumps(value, indent=indent, separators=separators, ensure_ascii=escaped)
    else:
        text = by_hand(value, random.Random(draw(st.integers())))  # noqa: S311  # white space only
    text = draw(st.sampled_from(["", "\n", "\ufeff"])) + text if way == "hand" else text
    text += draw(st.sampled_from(["", "\n", "\n\n"]))
    return (text.replace("\n", "\r\n") if draw(st.booleans()) else text), value


def by_hand(value: Any, chance: random.Random) -> str:
    """JSON with white space wherever it may stand."""

    def space() -> str:
        return chance.choice(["", "", " ", "\n", "\t", "\n   ", "  \n\n\t"])

    if isinstance(value, dict):
        inside = [
            f"{space()}{json.dumps(key)}{space()}:{space()}{by_hand(each, chance)}{space()}"
            for key, each in value.items()
        ]
        return "{" + (",".join(inside) or space()) + "}"
    if isinstance(value, list):
        each_one = [f"{space()}{by_hand(each, chance)}{space()}" for each in value]
        return "[" + (",".join(each_one) or space()) + "]"
    return json.dumps(value)


def parsed(text: str) -> Any:
    return json.loads(text.removeprefix("\ufeff"))


def containers(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The path of every object and array in *value*."""
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    found = [path]
    for key, each in inside if isinstance(value, (dict, list)) else ():
        if isinstance(each, (dict, list)):
            found += containers(each, (*path, key))
    return found


def at(value: Any, path: tuple[str | int, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


@given(formatted(), st.data())
def test_what_is_added_is_there_and_what_was_there_keeps_its_bytes(
    written: tuple[str, Any], data: st.DataObject
) -> None:
    """And taken out again, it leaves the text as it was, unless it was alone there."""
    text, value = written
    path = data.draw(st.sampled_from(containers(value)))
    container = at(value, path)
    key = None if isinstance(container, list) else "a new key"
    longer = jsontext.added(text, path, NEW, key)

    place = len(container) if key is None else key
    assert parsed(jsontext.removed(longer, (*path, place))) == value
    if container:
        assert jsontext.removed(longer, (*path, place)) == text
    element = jsontext.find(longer, (*path, place))
    assert parsed(longer[element.start : element.end]) == NEW
    # Everything before and behind what was put in.
    kept = json.loads(json.dumps(value))
    at(kept, path).insert(place, NEW) if key is None else at(kept, path).update({key: NEW})
    assert parsed(longer) == kept


@given(formatted(), st.data())
def test_what_is_removed_is_gone_and_nothing_else_is(
    written: tuple[str, Any], data: st.DataObject
) -> None:
    """Of objects and arrays, first, last and in between."""
    text, value = written
    full = [path for path in containers(value) if at(value, path)]
    if not full:
        return
    path = data.draw(st.sampled_from(full))
    container = at(value, path)
    keys = list(container) if isinstance(container, dict) else list(range(len(container)))
    key = data.draw(st.sampled_from(keys))
    shorter = jsontext.removed(text, (*path, key))
    del container[key]
    assert parsed(shorter) == value
    assert list(parsed(shorter)) == list(value)
    # A subsequence: nothing but what was cut out is missing, nothing is moved or new.
    rest = iter(text)
    assert all(character in rest for character in shorter)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{}", '{\n  "new": [\n    1\n  ]\n}'),
        ("{}\n", '{\n  "new": [\n    1\n  ]\n}\n'),
        ('{"a":1}', '{"a":1, "new": [1]}'),
        ('{"a": 1}', '{"a": 1, "new": [1]}'),
        ('{ "a": 1 }', '{ "a": 1, "new": [1] }'),
        ('{\n\t"a": 1\n}', '{\n\t"a": 1,\n\t"new": [\n\t\t1\n\t]\n}'),
        ('{\r\n "a": 1\r\n}', '{\r\n "a": 1,\r\n "new": [\r\n  1\r\n ]\r\n}'),
        (
            '{\n    "a": 1\n  , "b": 2\n}',
            '{\n    "a": 1\n  , "b": 2\n  , "new": [\n      1\n  ]\n}',
        ),
        ('\ufeff{\n   "a": 1\n}', '\ufeff{\n   "a": 1,\n   "new": [\n      1\n   ]\n}'),
    ],
)
def test_a_new_member_looks_like_its_neighbours(before: str, after: str) -> None:
    """Indentation, line ends, the place of the comma, and a file on one line."""
    assert jsontext.added(before, (), [1], "new") == after


def test_an_item_beside_one_that_opens_on_the_line_of_its_bracket() -> None:
    """As in `[{` … `}]`, which many people write."""
    text = '{\n  "a": [{\n    "b": 1\n  }]\n}'
    assert jsontext.added(text, ("a",), {"b": 2}) == (
        '{\n  "a": [{\n    "b": 1\n  }, {\n    "b": 2\n  }]\n}'
    )


def test_a_name_that_stands_twice_is_found() -> None:
    """At any depth, and once for each time that it is repeated."""
    text = '{"a": [{"b": 1, "b": 2}], "a": 0, "b": {"a": 1}}'
    assert sorted((each.key, each.opens) for each in jsontext.repeated(text)) == [
        ("a", 26),
        ("b", 16),
    ]


def test_what_is_not_there_is_not_found() -> None:
    """Neither a member nor an item."""
    for path in (("b",), ("a", 1), ("a", 0, "c")):
        with pytest.raises(KeyError):
            jsontext.find('{"a": [1]}', path)
