"""A value is kept as its writer meant it: without the marks around it, and within bounds."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from holdfast.formats.canonical.declaration import Json
from holdfast.patterns import pattern

MOST_ITEMS = 200
MOST_CHARACTERS = 2_000

MARKS = "*_`~"
SYMBOLS = r"\u2190-\u2bff\ufe0f\u200d\U0001f000-\U0001faff"
DECORATION = rf"[{MARKS}\s{SYMBOLS}]*+"
_CLOSED = pattern(rf"(?:(?<!\s)\s++|)[{MARKS}]{{1,3}}(?=\s|$)")
_INTEGER = pattern(r"0|-?[1-9][0-9]{0,17}")


def encodable(text: str) -> str:
    """Text without the lone surrogates that no UTF-8 file can hold."""
    return text.encode("utf-8", "replace").decode()


def tidy(text: str) -> str:
    """Text as it is kept: stripped, composed, bounded, and what UTF-8 can hold."""
    return encodable(unicodedata.normalize("NFC", text.strip()[:MOST_CHARACTERS]))


def bare(text: str) -> str:
    """A value without the emphasis or code marks around all of it."""
    previous, text = None, text.strip()
    while previous != text:
        previous = text
        for mark in ("**", "__", "`", "*", "_"):
            inner = text[len(mark) : -len(mark)]
            if inner and text.startswith(mark) and text.endswith(mark) and mark not in inner:
                text = inner.strip()
            elif mark in "**`" and text.count(mark) == 1:
                text = text.removeprefix(mark).removesuffix(mark).strip()
    return text


def labelled(text: str) -> str:
    """The value behind a label, whose marks may end behind the colon: "**Phase:** 4"."""
    closed = _CLOSED.search(text)
    # Two backquotes in a value are code, which is part of it.
    if closed and (closed[0].strip() != "`" or text.count("`") % 2):
        text = text[: closed.start()] + text[closed.end() :]
    return tidy(bare(text))


def plain_label(label: str) -> str:
    """A label without its case, its marks and its kind of space."""
    return " ".join(re.split(r"[\s_-]+", label.strip(f"{MARKS}: ").casefold()))


def scalar(value: str) -> Json:
    """A value as JSON has it where it is plainly a number or a truth value."""
    if _INTEGER.fullmatch(value):
        return int(value)
    return {"true": True, "false": False}.get(value.casefold(), value)


def text_of(value: Json) -> str | None:
    """The text of a front matter value that is one."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    return tidy(str(value)) or None


def texts_of(value: Json) -> list[str]:
    """The texts of a front matter list; one text alone is a list of one."""
    items = value if isinstance(value, list) else [value]
    return [text for text in map(text_of, items[:MOST_ITEMS]) if text]


def unique(items: Iterable[str], most: int = MOST_ITEMS) -> tuple[str, ...]:
    """The items that say something, each once, where it first stood."""
    return tuple(dict.fromkeys(item for item in items if item))[:most]
