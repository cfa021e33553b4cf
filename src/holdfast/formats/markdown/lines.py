"""What a reader sees of a markdown file, line by line, so that no example or comment is obeyed."""

# By hand: markdown-it-py takes 30 ms to import (a bare interpreter 10) and 6 s for 5 MB.

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from holdfast.formats.markdown.block_marks import (
    end_of_spaces,
    rule,
    underline,
    without_closing,
)
from holdfast.formats.markdown.comments import (
    has_unsaid,
    outside_comments,
    without_unsaid,
)
from holdfast.patterns import pattern

MOST_LINES = (
    10_000  # no plan is longer; each line may begin a phase, which takes a while to find out
)
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


def scan(body: str) -> list[Line]:
    """The visible lines; everything in code, quotes and comments is left out."""
    return list(scanned(body))


def scanned(body: str) -> Iterator[Line]:
    """The same one by one, so that a large file is never there in two or three forms at once."""
    scanner = _Scanner()
    for number, raw in enumerate(_raw(body), 1):
        scanner.feed(number, raw)
        yield from scanner.taken()
    scanner.end_paragraph()
    yield from scanner.taken()


def _raw(body: str) -> Iterator[str]:
    at = 0
    for _ in range(MOST_LINES):
        end = body.find("\n", at)
        if end < 0:
            yield body[at:]
            return
        yield body[at:end]
        at = end + 1


class _Scanner:
    """CommonMark's block structure: containers that stay open, and the one leaf inside them."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
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

    def taken(self) -> list[Line]:
        """The lines that are there since it was asked last."""
        lines, self.lines = self.lines, []
        return lines

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
        if _QUOTE not in self.containers:
            self.paragraph.append(self._visible(self.line[at:], 0, checked))

    def _show_outside_comments(self, column: int) -> None:
        text, self.comment = outside_comments(self.line[column:], self.comment)
        if text.strip():
            self._show(text, 0)

    def _show(self, text: str, level: int) -> None:
        if _QUOTE not in self.containers:
            self.lines.append(self._visible(text, level))

    def _visible(self, text: str, level: int, checked: bool | None = None) -> Line:
        indent = end_of_spaces(self.line, 0)
        return Line(self.number, text.strip(), level, self.item, checked, indent)

    def _close(self, matched: int) -> None:
        """End the paragraph, and the containers that this line does not go on with."""
        self.end_paragraph()
        del self.containers[matched:]
        self.empty_item = False

    def end_paragraph(self) -> None:
        lines, self.paragraph, self.in_paragraph = self.paragraph, [], False
        if any(has_unsaid(line.text) for line in lines):
            texts = without_unsaid("\n".join(line.text for line in lines)).split("\n")
            lines = [
                line._replace(text=text.strip()) for line, text in zip(lines, texts, strict=True)
            ]
        # What was done and then struck out has no words any more, but it was done.
        self.lines += [line for line in lines if line.text or line.checked]
