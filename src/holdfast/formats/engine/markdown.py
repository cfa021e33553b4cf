"""What a reader sees of a markdown file, line by line, so that no example or comment is obeyed."""

# By hand: markdown-it-py takes 30 ms to import (a bare interpreter 10) and 6 s for 5 MB.

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping
from typing import NamedTuple

from holdfast.patterns import pattern

# No plan is longer. Each line may begin a phase, which takes a while to find out.
MOST_LINES = 10_000
_MOST_CONTAINERS = 20  # as deep as markdown-it goes
_QUOTE = -1

_PREFIX = pattern(r"[ \t>*+.)0-9-]*")
_ATX = pattern(r"(#{1,6})(?:[ \t]|$)")
_FENCE = pattern(r"`{3,}+(?=[^`]*+$)|~{3,}+")
_RAW = pattern(r"<(?:pre|script|style|textarea)(?=[\s>]|$)", re.IGNORECASE)
_RAW_END = pattern(r"</(?:pre|script|style|textarea)>", re.IGNORECASE)
_ITEM = pattern(r"(?:[-+*]|[0-9]{1,9}[.)])(?= |$)")
_CHECKBOX = pattern(r"\[([ xX])\](?:\s+|$)")


class Line(NamedTuple):
    """One visible line, without its markers."""

    number: int
    text: str
    level: int = 0  # of a heading
    item: bool = False
    checked: bool | None = None
    indent: int = 0
    head: bool = False  # of a table
    cells: Mapping[str, str] | None = None  # of a table's row, by the labels in its head
    quoted: bool = False
    word: str | None = None  # the status that a format reads in its box or sign
    sign: str = ""  # that stands in place of a box


def scan(body: str, *, quotes: bool = False) -> list[Line]:
    """The visible lines; what is in code and comments is left out, and in quotes unless *quotes* are wanted."""
    scanner = _Scanner()
    scanner.hidden = set() if quotes else {_QUOTE}
    for number, raw in enumerate(body.split("\n", MOST_LINES)[:MOST_LINES], 1):
        scanner.feed(number, raw)
    scanner.end_paragraph()
    return scanner.lines


class _Scanner:
    """CommonMark's block structure: containers that stay open, and the one leaf inside them."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.hidden = {_QUOTE}  # the containers whose lines are left out
        self.containers: list[int] = []  # _QUOTE, or how far an item's content is indented
        self.in_paragraph = False
        self.paragraph: list[Line] = []  # what of it is visible
        self.fence = ""
        self.comment = False
        self.raw = False  # inside <pre> and the like
        self.empty_item = False  # the innermost item has had no content so far
        self.line = ""
        self.number = 0
        self.item = False  # an item begins on this line

    def feed(self, number: int, raw: str) -> None:
        prefix = _PREFIX.match(raw) if "\t" in raw else None
        line = prefix[0].expandtabs(4) + raw[prefix.end() :] if prefix else raw
        self.line, self.number, self.item = line.rstrip(" \t"), number, False
        matched, column = self._match_containers()
        if self.fence or self.comment or self.raw:
            if matched == len(self.containers):
                self._continue_leaf(column)
                return
            self.fence, self.comment, self.raw = "", False, False
        self._open_blocks(matched, column)

    def _match_containers(self) -> tuple[int, int]:
        """How many of the open containers this line goes on with, and where its content begins."""
        line, column = self.line, 0
        for matched, width in enumerate(self.containers):
            at = end_of_spaces(line, column)
            if width == _QUOTE:
                if at - column > 3 or not line.startswith(">", at):
                    return matched, column
                column = at + 1 + line.startswith(" ", at + 1)
            elif at >= len(line):
                if self.empty_item and matched == len(self.containers) - 1:
                    return matched, column
            elif at - column < width:
                return matched, column
            else:
                column += width
        return len(self.containers), column

    def _continue_leaf(self, column: int) -> None:
        if self.comment:
            self._show_outside_comments(column)
        elif self.raw:
            self.raw = _RAW_END.search(self.line, column) is None
        else:
            at = end_of_spaces(self.line, column)
            run = len(self.line) - at
            if at - column < 4 and run >= len(self.fence) and self.line[at:] == self.fence[0] * run:
                self.fence = ""

    def _open_blocks(self, matched: int, column: int) -> None:
        line, fresh = self.line, False
        while True:
            at = end_of_spaces(line, column)
            # An open paragraph that this line could go on with, in the same containers.
            inside = self.in_paragraph and not fresh and matched == len(self.containers)
            if at >= len(line) or at - column >= 4 or (inside and underline(line, at)):
                break
            opened = self._container(column, at, inside)
            if opened is None:
                break
            width, column = opened
            self._close(matched)
            self.containers.append(width)
            self.item = self.item or width != _QUOTE
            matched, fresh = matched + 1, True
            self.empty_item = column >= len(line)
        if at >= len(line):
            if not fresh:
                self._close(matched)
            return
        self.empty_item = False
        if at - column >= 4:
            if not self.in_paragraph:
                self._close(matched)  # indented code
                return
        elif self._leaf(matched, at, inside):
            return
        if not self.in_paragraph:
            self._close(matched)
        self._text(at)

    def _container(self, column: int, at: int, inside: bool) -> tuple[int, int] | None:
        """The width of the container that begins here, and where its content begins."""
        line = self.line
        if len(self.containers) >= _MOST_CONTAINERS:
            return None
        if line[at] == ">":
            return _QUOTE, at + 1 + line.startswith(" ", at + 1)
        marker = _ITEM.match(line, at)
        if marker is None or rule(line, at):
            return None
        end = marker.end()
        content = end_of_spaces(line, end)
        if inside and (
            content >= len(line) or (marker[0][0].isdigit() and int(marker[0][:-1]) != 1)
        ):
            return None
        if content >= len(line) or content - end > 4:  # empty, or it begins with indented code
            content = end + 1
        return content - column, content

    def _leaf(self, matched: int, at: int, inside: bool) -> bool:
        """Whether this line is a block of its own and not text."""
        line = self.line
        level = underline(line, at) if inside else 0
        if level:
            # Under one line it makes a heading. Under several it is a rule that someone drew.
            if len(self.paragraph) == 1:
                self.paragraph[0] = self.paragraph[0]._replace(level=level)
            self._close(matched)
        elif heading := _ATX.match(line, at):
            self._close(matched)
            text = without_closing(line[heading.end() :])
            self._show(without_unsaid(text), len(heading[1]))
        elif rule(line, at):
            self._close(matched)
        elif fence := _FENCE.match(line, at):
            self._close(matched)
            self.fence = fence[0]
        elif line.startswith("<!--", at):
            self._close(matched)
            self._show_outside_comments(at)
        elif _RAW.match(line, at):
            self._close(matched)
            self.raw = _RAW_END.search(line, at) is None
        else:
            return False
        return True

    def _text(self, at: int) -> None:
        checked = None
        if not self.in_paragraph and self.item and (box := _CHECKBOX.match(self.line, at)):
            checked, at = box[1] != " ", box.end()
        self.in_paragraph = True
        if self.hidden.isdisjoint(self.containers):
            self.paragraph.append(self._visible(self.line[at:], 0, checked))

    def _show_outside_comments(self, column: int) -> None:
        text, self.comment = outside_comments(self.line[column:], self.comment)
        if text.strip():
            self._show(text, 0)

    def _show(self, text: str, level: int) -> None:
        if self.hidden.isdisjoint(self.containers):
            self.lines.append(self._visible(text, level))

    def _visible(self, text: str, level: int, checked: bool | None = None) -> Line:
        indent = end_of_spaces(self.line, 0)
        quoted = _QUOTE in self.containers
        return Line(self.number, text.strip(), level, self.item, checked, indent, quoted=quoted)

    def _close(self, matched: int) -> None:
        """End the paragraph, and the containers that this line does not go on with."""
        self.end_paragraph()
        del self.containers[matched:]
        self.empty_item = False

    def end_paragraph(self) -> None:
        lines, self.paragraph, self.in_paragraph = self.paragraph, [], False
        if any(has_unsaid(line.text) for line in lines):
            texts = without_unsaid("\n".join(line.text for line in lines)).split("\n")
            lines = [_struck(line, text.strip()) for line, text in zip(lines, texts, strict=True)]
        # What was done and then struck out has no words any more, but it was done.
        self.lines += [line for line in lines if line.text or line.checked]


# CommonMark's small signs that can be told from one line: indentation, rules, underlines.

_SPACES = pattern(" *")


def end_of_spaces(line: str, at: int) -> int:
    match = _SPACES.match(line, at)
    return match.end() if match else at


def underline(line: str, at: int) -> int:
    """The level of the heading that this line would make of the one above it."""
    mark = line[at]
    return {"=": 1, "-": 2}[mark] if mark in "=-" and not line[at:].strip(mark) else 0


def rule(line: str, at: int) -> bool:
    """Whether a rule is drawn from here on."""
    mark = line[at]
    if mark not in "*-_" or line[-1] != mark:
        return False
    marks = line[at:].replace(" ", "").replace("\t", "")
    return len(marks) >= 3 and not marks.strip(mark)


def without_closing(heading: str) -> str:
    """The text of a heading, whose closing number signs are no part of it."""
    heading = heading.strip()
    text = heading.rstrip("#")
    return text.rstrip() if not text or text[-1] in " \t" else heading


# A comment hides what it holds, and striking out takes it back, wherever it begins.

_SPAN_LIMIT = 200_000  # a longer paragraph is not prose, and its code spans are not looked for

_COMMENT = pattern(r"<!(?=--).*?(?:-->|$)")  # "<!-->" is a whole one
_INLINE = pattern(r"\\.|`+|<!--|~~+|\n(?=\|)")
_TICKS = pattern("`+")


def outside_comments(text: str, inside: bool) -> tuple[str, bool]:
    """The rest of a line that begins inside or outside of a comment, and whether it ends inside."""
    if inside:
        _, end, text = text.partition("-->")
        if not end:
            return "", True
    last = text.rfind("<!--")
    is_open = last >= 0 and "-->" not in text[last + 2 :]
    return _COMMENT.sub("", text), is_open


def _struck(line: Line, text: str) -> Line:
    """A line without what is struck out; an item without a box that was struck out whole was done."""
    is_over = line.item and line.checked is None and not text and "~~" in line.text
    return line._replace(text=text, checked=True if is_over else line.checked)


def has_unsaid(text: str) -> bool:
    """Whether anything in the text may be hidden or struck out."""
    return "<!--" in text or "~~" in text


def without_unsaid(text: str) -> str:
    """A paragraph without its comments and without what is struck out, with its line ends kept."""
    parts: list[str] = []
    kept = 0
    for start, end in _unsaid(text):
        parts += [text[kept:start], "\n" * text.count("\n", start, end)]
        kept = end
    return "".join(parts) + text[kept:]


def _unsaid(text: str) -> list[tuple[int, int]]:
    """Where the comments and strikes are; one that does not end within the paragraph is text."""
    ticks = _ticks(text)
    last_comment_end = text.rfind("-->")
    cuts: list[tuple[int, int]] = []
    struck: int | None = None
    at = 0
    while match := _INLINE.search(text, at):
        mark, start, at = match[0], match.start(), match.end()
        if mark == "<!--" and start + 2 <= last_comment_end:
            at = text.find("-->", start + 2) + 3
            cuts.append((start, at))
        elif mark[0] == "`":
            closings = ticks.get(len(mark), [])
            index = bisect_left(closings, at)
            at = closings[index] + len(mark) if index < len(closings) else at
        elif mark == "\n":
            struck = None  # no strike goes on into another row of a table
        elif mark == "~~":
            if struck is not None and not text[start - 1].isspace():
                while cuts and cuts[-1][0] > struck:
                    cuts.pop()
                cuts.append((struck, at))
                struck = None
            elif at < len(text) and not text[at].isspace():
                struck = start
    return cuts


def _ticks(text: str) -> dict[int, list[int]]:
    """Where the runs of backticks begin, by their length."""
    ticks: dict[int, list[int]] = {}
    if len(text) < _SPAN_LIMIT:
        for run in _TICKS.finditer(text):
            ticks.setdefault(len(run[0]), []).append(run.start())
    return ticks
