"""People name a plan by its path, its folder, the folder's name or its number; all mean one file."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence

from holdfast.formats.canonical.sources.values import MARKS
from holdfast.patterns import pattern

_NUMBER = pattern(r"(?:plan[\s_-]*)?#?(?P<number>[0-9]{1,9})", re.IGNORECASE)
_LEADING = pattern(r"(?P<number>[0-9]{1,9})(?![0-9])")


def plan_among(plans: Sequence[str], text: str) -> str | None:
    """The one plan that a text means, as its path is written on disk; None if none or several are."""
    wanted = _plain(text.strip(f"{MARKS} \t\"'").removeprefix("@").removeprefix("./").rstrip("/"))
    if not wanted:
        return None
    number = _NUMBER.fullmatch(wanted)
    for names in (_paths, _names, _numbers):
        name = str(int(number["number"])) if number and names is _numbers else wanted
        if names is _numbers and not number:
            return None
        if found := [plan for plan in plans if name.casefold() in _folded(names, plan)]:
            exact = [plan for plan in found if name in set(names(_plain(plan)))]
            return _only(exact) or _only(found)
    return None


def _folded(names: Callable[[str], Iterator[str]], plan: str) -> set[str]:
    return {_plain(name.casefold()) for name in names(_plain(plan))}


def _only(plans: list[str]) -> str | None:
    return plans[0] if len(plans) == 1 else None


def _paths(plan: str) -> Iterator[str]:
    yield plan
    if folder := _folder(plan):
        yield folder


def _names(plan: str) -> Iterator[str]:
    if folder := _folder(plan):
        yield posixpath.basename(folder)
    elif posixpath.dirname(plan):
        yield posixpath.splitext(posixpath.basename(plan))[0]


def _numbers(plan: str) -> Iterator[str]:
    for name in _names(plan):
        if number := _LEADING.match(name):
            yield str(int(number["number"]))


def _folder(plan: str) -> str:
    """The folder that is the plan's own, because the plan's file is only called PLAN.md."""
    folder, name = posixpath.split(plan)
    return folder if name.casefold() == "plan.md" else ""


def _plain(text: str) -> str:
    return unicodedata.normalize("NFC", text)
