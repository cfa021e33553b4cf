"""Records do what dataclasses do, as far as the house uses it."""

from __future__ import annotations

import pytest

from holdfast.records import Record, as_dict, made, replace


class Point(Record):
    x: int
    y: int = 2
    tags: list[str] = made(factory=list)


class Named(Point):
    name: str = "origin"


class Bag(Record, frozen=False):
    points: list[Point] = made(factory=list)


def test_fields_are_given_in_order_or_by_name() -> None:
    """And those with a default may be left out, also in a class that adds some."""
    assert (Point(1).y, Point(1, 3).y, Point(x=1, y=4).y) == (2, 3, 4)
    assert (Named(1, name="here").x, Named(1).name) == (1, "origin")


def test_a_default_that_is_made_is_not_shared() -> None:
    """One list for all would fill up."""
    Point(1).tags.append("mine")
    assert Point(1).tags == []


@pytest.mark.parametrize("wrong", [{}, {"x": 1, "z": 2}, {"z": 2}])
def test_a_missing_or_unknown_field_is_refused(wrong: dict[str, int]) -> None:
    """A name that was misspelt must not be kept in silence."""
    with pytest.raises(TypeError, match=r"Point: missing or unknown: \['[xz]'"):
        Point(**wrong)


def test_too_many_values_are_refused() -> None:
    """None of them is dropped."""
    with pytest.raises(TypeError, match="Point"):
        Point(1, 2, [], 4)  # type: ignore[call-arg]


def test_records_of_one_class_are_equal_by_their_fields() -> None:
    """Whatever they were given by default."""
    assert Point(1) == Point(1, 2, [])
    assert Point(1) != Point(2)
    assert Point(1) != Named(1)


def test_what_can_change_has_no_hash() -> None:
    """A set would lose it."""
    assert hash(replace(Point(1), tags=())) == hash(Point(1, 2, ()))  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        hash(Bag())


def test_replacing_leaves_the_first_as_it_was() -> None:
    """And refuses what is no field."""
    first = Point(1)
    assert replace(first, y=5) == Point(1, 5)
    assert first == Point(1)
    with pytest.raises(TypeError, match="z"):
        replace(first, z=1)


def test_it_shows_its_fields() -> None:
    """For a failed test, and for debugging."""
    assert repr(Point(1)) == "Point(x=1, y=2, tags=[])"


def test_as_a_dict_it_is_plain_all_the_way_down() -> None:
    """Through lists, tuples and dicts."""
    assert as_dict(Bag([Point(1)])) == {"points": [{"x": 1, "y": 2, "tags": []}]}
    assert as_dict({"a": (Point(1, 2, []),)}) == {"a": ({"x": 1, "y": 2, "tags": []},)}
