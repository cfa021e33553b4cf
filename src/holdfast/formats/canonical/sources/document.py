"""Open a markdown source: decoded, front matter apart, line by line with its fields and tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date
from itertools import chain, islice, pairwise, zip_longest
from math import isfinite
from typing import Any, NamedTuple

from holdfast.formats.canonical.sources import Json, statuses, values
from holdfast.formats.canonical.sources.phase_marks import counted_phase
from holdfast.formats.canonical.sources.words import BOXES, FIELDS, LATER, SIGNS, Word
from holdfast.formats.engine.markdown import MOST_LINES, Line, scan
from holdfast.patterns import pattern
from holdfast.text.plaintext import decode

_LONGEST_TITLE = 500
_LINE_END = pattern(r"\n")


class MarkdownFile(NamedTuple):
    """One markdown file in its parts."""

    front: dict[str, Json]  # by key, see `_by_key`
    lines: list[Line]  # of the body
    problem: str | None  # with the front matter, or with the length of the file


def open_document(data: bytes, *, quotes: bool = False) -> MarkdownFile | None:
    """The file's parts, or None if it is blank. *quotes* in the head may state fields, too."""
    text = decode(data)
    if not text or text.isspace():
        return None
    # Cut before anything else: each copy of 5 MB takes 20 MB as soon as there is one emoji in it.
    end = next(islice(_LINE_END.finditer(text), MOST_LINES, None), None)
    front, body, problem = front_matter(text[: end.start()] if end else text)
    if end:
        problem = values.joined(problem, f"only its first {MOST_LINES:,} lines were read")
    visible = [_bounded(line) for line in scan(body, quotes=quotes)]
    scanned = _joined(_among_boxes(list(_with_cells(visible))))
    lines = _without_quotes([part for line in scanned for part in _divided(line)])
    return MarkdownFile(_by_key(front), lines, problem)


def _bounded(line: Line) -> Line:
    """A line of a length that a title, a status or an item may have; only in prose may more paths stand."""
    most = values.MOST_CHARACTERS if line.item else values.LONGEST_LINE
    most = _LONGEST_TITLE if line.level else most
    return line._replace(text=line.text[:most]) if len(line.text) > most else line


# Front matter states fields in YAML, which people write loosely and strangers may write to harm.

_LARGEST_FRONT = 64 * 1024
_DEEPEST_FRONT = 50
_OPENING = pattern(r"---[^\S\n]*\n")
_BOUNDARY = pattern(r"^---[ \t]*$", re.MULTILINE)
# YAML refuses a plain "@path" and a second colon in a plain value. People write both.
_LOOSE = pattern(
    r"^([ \t]*+(?:- ++)?(?:[\w -]++: ++)?)(@.*)$|^([ \t]*+[\w -]++: ++)([^\s'\"\[{|>#].*: .*)$",
    re.MULTILINE,
)


def front_matter(text: str) -> tuple[dict[str, Json], str, str | None]:
    """The fields, the body with its line numbers kept, and what was wrong with the fields."""
    opening = _OPENING.match(text)
    if opening is None:
        return {}, text, None
    # Loaded here because most files have no front matter, and YAML takes a while to load.
    from frontmatter import default_handlers  # noqa: PLC0415

    handler = default_handlers.YAMLHandler(fm_boundary=_BOUNDARY)
    start = f"---\n{text[opening.end() : _LARGEST_FRONT]}"
    try:
        block, rest = handler.split(start)
    except ValueError:  # nothing closes it
        return {}, text, None
    head = text[: min(len(text), _LARGEST_FRONT) - len(rest)]
    body = "\n" * head.count("\n") + text[len(head) :]
    fields, problem = _load(handler, block)
    if problem:
        loosened, still = _load(handler, _LOOSE.sub(_in_quotes, block))
        fields, problem = (fields, problem) if still else (loosened, None)
    return fields, body, problem


def _in_quotes(match: re.Match[str]) -> str:
    key, value = match[1] or match[3] or "", match[2] or match[4]
    return key + "'" + value.replace("'", "''") + "'"


def _load(handler: Any, block: str) -> tuple[dict[str, Json], str | None]:
    import yaml  # noqa: PLC0415  # as late as above
    from frontmatter.default_handlers import SafeLoader  # noqa: PLC0415

    depth = 0
    try:
        for event in yaml.parse(block, Loader=SafeLoader):
            if isinstance(event, yaml.AliasEvent) or getattr(event, "tag", None):
                return {}, "front matter uses YAML aliases or tags, which are not followed"
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > _DEEPEST_FRONT:
                return {}, "front matter is nested too deeply"
        loaded: object = handler.load(block)
        fields = _plain(loaded)
    except (yaml.YAMLError, ValueError, ArithmeticError) as error:
        mark = getattr(error, "problem", None) or error
        return {}, f"front matter is not valid YAML: {str(mark).splitlines()[0][:200]}"
    if loaded is None:
        return {}, None
    return (fields, None) if isinstance(fields, dict) else ({}, "front matter is not a mapping")


def _plain(value: object) -> Json:
    if isinstance(value, dict):
        return {values.encodable(str(key)): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, date):  # a datetime is one, too
        return value.isoformat()
    if isinstance(value, str):
        return values.encodable(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and value.bit_length() < 64:
        return value
    if isinstance(value, float) and isfinite(value):
        return value
    return str(value)


# A line "Label: value" is a field if its label, however it is written, is one that we know.

_KEYS = {label: key for key, labels in FIELDS.items() for label in labels.split(", ")}
_FIELD = pattern(
    rf"{values.DECORATION}(?P<label>[^\W\d_][\w -]{{0,40}}?)[*_`~\s]*+[:：](?P<value>.*)",
    re.IGNORECASE,
)
_TITLE = pattern(
    rf"{values.DECORATION}(?P<label>[^\W\d_][\w -]{{0,40}}?)\s*+(?:\([^()]*+\))?+[*_`~:：\s]*+",
    re.IGNORECASE,
)
_BAR = " | "
_MOST_FIELDS = 20  # on one line


def _divided(line: Line) -> list[Line]:
    """A line with several fields and bars between them, as several lines; else the line."""
    if _BAR not in line.text or line.text.startswith("|") or line.checked is not None:
        return [line]
    first, *others = line.text.split(_BAR, _MOST_FIELDS)
    fields = [_FIELD.match(part) for part in others]
    if not (line.level or _FIELD.match(first)) or not all(fields):
        return [line]
    rest = [line._replace(text=part.strip(), level=0) for part in others]
    return [line._replace(text=first.strip()), *rest]


# A box may hold other signs than an x, and a sign may stand in its place.

_BOX = pattern(
    r"\[(?P<mark>[^\[\]]{1,20})\](?:\s+|$)|(?P<todo>TODO|DOING|WIP|DONE)(?:[:：]\s*|\s+)(?=\S)"
)
_BOX_IN_HEADING = pattern(r"(?:^|(?<=\s))\[(?P<mark>[xX ✓✔✅~-])\](?=\s|$)")
_SUMMARY = pattern(r"(?:<details[^>]*>\s*)?<summary>(?P<title>.*?)(?:</summary>.*)?", re.IGNORECASE)
_TAG = pattern(r"</?[a-z][^<>]*>", re.IGNORECASE)
_IN_PLACE_OF_BOX = (
    "✅✔☑✓🗹⬜☐◻▢□🔲🔄🚧⏳"  # others, such as ❌, stand in lists of what to do and not to do
)
_ADORNING = "🔄🚧⏳"
_REMARK = pattern(r"[(\[（]|\s[-–—]\s")
_LATER = pattern(rf"(?:{LATER})\b", re.IGNORECASE)
_PUT_OFF = pattern(r"\b(?:deferred|postponed|moved)\s+(?:to|until)\b", re.IGNORECASE)
_LONGEST_ITEM = 2_000


def _boxed(line: Line) -> Line:
    """An item with what its box, or the sign in place of it, says of it; else the line."""
    if line.level:
        return line._replace(text=_BOX_IN_HEADING.sub(_as_sign, line.text))
    if summary := _SUMMARY.fullmatch(line.text[:_LONGEST_ITEM]):
        return line._replace(text=f"**{_TAG.sub('', summary['title']).strip()}**")
    text, checked, in_place = line.text, line.checked, ""
    word: Word | None = "completed" if checked else None
    if checked is None and (box := _BOX.match(text)):
        if not line.item and (box["mark"] or "").lower() not in {"x", " "}:
            return line
        mark = (box["mark"] or box["todo"]).strip(" \ufe0f")
        word = BOXES.get(mark or " ") or statuses.whole_status(mark)
        if word is None:
            return line
        text, checked = text[box.end() :], word == "completed"
        word = word if text or checked else "cancelled"  # what stood there is struck out
        line = line._replace(item=True)
    elif checked is None:
        if not text or text[0] not in _IN_PLACE_OF_BOX:
            return line
        word = SIGNS.get(text[0], "not_started")
        if statuses.whole_status(text[1:]):
            return line  # the key to the signs
        checked, in_place = word == "completed", text[0] if text[0] in _ADORNING else ""
    sign = SIGNS.get(text[:1])
    if sign or text[:1] == "⏳":
        text = text[1:].lstrip("\ufe0f ")
    if not checked:
        word = _remark(text) or (word if word not in {None, "not_started"} else sign)
    return line._replace(text=text, checked=checked, word=word or "not_started", sign=in_place)


def _as_sign(box: re.Match[str]) -> str:
    """The sign for a box: a heading may have the one, and not the other."""
    return next(sign for sign, word in SIGNS.items() if word == BOXES[box["mark"]])


def _among_boxes(lines: list[Line]) -> Iterator[Line]:
    """The lines, with boxes only where what stands beside them shows that they are some.

    A sign that something runs adorns a note, unless a box is beside it. Signs that begin plain lines are boxes
    where several lines have them, and items without a box are open below one that is struck out.
    """
    boxed = list(map(_boxed, lines))
    below_struck: Line | None = None  # an item that is struck out, or an open one below it
    for line, before, read, behind in zip(
        lines, [Line(0, ""), *boxed], boxed, [*boxed[1:], Line(0, "")], strict=False
    ):
        beside = [near for near in (before, behind) if near.checked is not None]
        item = read
        if read.checked is None:
            if below_struck and line.item and line.indent == below_struck.indent:
                item = below_struck = line._replace(checked=False, word="not_started")
            else:
                below_struck = None
        elif not read.item:
            is_box = any(abs(near.number - line.number) == 1 for near in beside)
            item = read._replace(item=True) if is_box else line
        elif read.sign and all(near.sign == read.sign for near in beside):
            item = read._replace(checked=None, word=None)
        elif read.checked and not read.text:
            below_struck = read
        yield item


def _remark(text: str) -> Word | None:
    """What an open item says of itself in brackets or behind a dash: that it is done, or for later."""
    text = text[:_LONGEST_ITEM]
    if _PUT_OFF.search(text):
        return "on_hold"
    for found in _REMARK.finditer(text):
        if _LATER.match(text, found.end()):
            return "on_hold"
        remark = text[found.end() :].partition(")")[0]
        word = statuses.first_status(remark)
        if word in {"completed", "cancelled", "on_hold"} or (
            word and statuses.whole_status(remark)
        ):
            return None if word == "not_started" else word
    return None


def _joined(lines: Iterable[Line]) -> list[Line]:
    """The lines, where an open item has the text of those below that go on with it."""
    joined: list[Line] = []
    item = -1  # the place of the open item that may go on
    for line in lines:
        if item >= 0 and line.number == joined[-1].number + 1 and _goes_on(line):
            text = f"{joined[item].text} {line.text}"[:_LONGEST_ITEM]
            joined[item] = joined[item]._replace(text=text)
        else:
            item = len(joined) if line.checked is False else -1
        joined.append(line)
    return joined


def _goes_on(line: Line) -> bool:
    plain = not (line.item or line.level or line.head or line.cells)
    return plain and not line.text.startswith(("**", "__", "|", "@", "`")) and not field_of(line)


def _without_quotes(lines: list[Line]) -> list[Line]:
    """The lines, and of those in quotes only what states something, before the first section."""
    section = next((line.number for line in lines if line.level > 1), MOST_LINES + 1)
    return [
        line
        for line in lines
        if not line.quoted
        or (line.number < section and (field_of(line) or statuses.whole_status(line.text)))
    ]


def field_of(line: Line) -> tuple[str, str] | None:
    """The key of the field on this line, and its value, which is empty where a section begins."""
    text = line.text
    if line.head:
        return None
    if text.startswith("|"):
        cells = [values.bare(cell) for cell in text.strip("| ").split("|", 3)]
        key = _key(cells[0]) if len(cells) == 2 else None
        return (key, values.tidy(cells[1])) if key else None
    match = _FIELD.match(text)
    if match and (key := _key(match["label"])):
        return key, values.labelled(match["value"])
    if line.checked is None and (counted := counted_phase(text)):
        return "counted phase", values.tidy(counted)
    if line.level or (text.startswith(("**", "__")) and text.endswith(("**", "__"))):
        title = _TITLE.fullmatch(text)
        key = _key(title["label"]) if title else None
        return (key, "") if key else None
    return None


def _by_key(front: dict[str, Json]) -> dict[str, Json]:
    """Front matter by the keys of the fields; where it has other labels, by these."""
    keyed: dict[str, Json] = {}
    for label, value in front.items():
        keyed.setdefault(_key(label) or values.plain_label(label), value)
    return keyed


def _key(label: str) -> str | None:
    return _KEYS.get(values.plain_label(label))


# A table names its columns in its header row; the rows below have to be read by these names.

_MOST_COLUMNS = 20
_LONGEST_ROW = 10_000
_CELL_BAR = pattern(r"(?<!\\)\|")


def _with_cells(lines: Iterable[Line]) -> Iterator[Line]:
    """The lines, with the header row of each table marked, and the rows below with their cells."""
    labels: list[str] = []
    previous = 0
    for line, below in pairwise(chain(lines, [Line(0, "")])):
        is_row = line.text.startswith("|") and not line.level
        if is_row and below.number == line.number + 1 and _is_rule(below.text):
            labels = [values.plain_label(cell) for cell in _cells(line.text)]
            yield line._replace(head=True)
        elif is_row and labels and line.number == previous + 1 and not _is_rule(line.text):
            cells = zip_longest(labels, _cells(line.text)[: len(labels)], fillvalue="")
            yield line._replace(cells=dict(reversed(list(cells))))  # the first of a name
        else:
            labels = labels if is_row and line.number == previous + 1 else []
            yield line
        previous = line.number


def _cells(text: str) -> list[str]:
    inner = text[:_LONGEST_ROW].strip().removeprefix("|").removesuffix("|")
    return [values.bare(cell) for cell in _CELL_BAR.split(inner, _MOST_COLUMNS)]


def _is_rule(text: str) -> bool:
    return text.startswith("|") and "-" in text and not text.strip("|:- \t")
