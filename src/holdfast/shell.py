"""A shell command line as the simple commands that it runs, without running or expanding anything.

Only as much of the shell's grammar as it takes to tell a command from its arguments: quotes,
substitutions, here-documents, redirections, comments. Light.
"""

from __future__ import annotations

import re
from typing import NamedTuple

LONGEST = 100_000  # a command line with more characters is not looked at
_STEPS = 6_000  # how much of it is looked at; a here-document or a long word is one step
_DEEPEST = 30  # substitutions in one another
ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")

_BLANK = re.compile(r"(?:[ \t\r]|\\\r?\n)+")
_COMMENT = re.compile(r"#[^\n]*")
_CONNECTOR = re.compile(r"&&|\|\||\|&|;;?&?|[\n|()]|&(?!>)")
_REDIRECTION = re.compile(r"\d*(?:<<<|<<-?|<>|>>|>\||<&|>&|[<>](?!\())|&>>?")
_PLAIN = re.compile(r"[^ \t\r\n;&|()<>'\"\\$`]+")
_DOUBLE = re.compile(r"[^\"\\$`]+")
_IN_BRACKET = re.compile(r"[^'\"\\<(){}]+")
_DELIMITER = re.compile(r"[ \t]*(['\"]?)([^\s'\";&|<>()]+)\1")


class Word(NamedTuple):
    raw: str  # as it stands there
    text: str  # without its quotes


class Simple(NamedTuple):
    """One simple command, and what connects it to the one before: "" for the first."""

    connector: str
    words: list[Word]


class Unclear(ValueError):
    """The quotes or brackets do not match."""


class _Enough(Exception):
    """As much was looked at as there is time for."""


def split(source: str) -> tuple[list[Simple], bool]:
    """The simple commands of *source*, and whether that is all of them.

    A bracket stands between them as a connector of its own.
    """
    found: list[Simple] = []
    try:
        _Scanner(source).commands(found)
    except _Enough:
        return found, False
    return found, True


class _Scanner:
    def __init__(self, source: str) -> None:
        self.source = source
        self.at = 0
        self.steps = 0
        self.depth = 0
        self.documents: list[tuple[str, bool]] = []  # here-documents that begin with the next line

    def commands(self, found: list[Simple]) -> None:
        """Add them to *found*; those before it was enough, too."""
        connector, words = "", list[Word]()
        try:
            while self.at < len(self.source):
                self._step()
                if self._skip(_BLANK) or self._skip(_COMMENT) or self._redirection():
                    continue
                if match := _CONNECTOR.match(self.source, self.at):
                    self.at = match.end()
                    if words or match[0] in "()" or connector == ")":
                        found.append(Simple(connector, words))
                        connector, words = match[0], []
                    elif connector in {"", "\n", ";"}:
                        connector = connector and match[0]
                    if match[0] == "\n":
                        self._documents()
                    continue
                words.append(self._word())
        finally:
            found.append(Simple(connector, words))

    def _step(self) -> None:
        self.steps += 1
        if self.steps > _STEPS:
            raise _Enough

    def _skip(self, what: re.Pattern[str]) -> bool:
        match = what.match(self.source, self.at)
        self.at = match.end() if match else self.at
        return match is not None

    def _redirection(self) -> bool:
        match = _REDIRECTION.match(self.source, self.at)
        if match is None:
            return False
        self.at = match.end()
        operator = match[0].lstrip("0123456789")
        if operator in {"<<", "<<-"}:
            self._document(operator)
        else:
            self._skip(_BLANK)
            self._word()
        return True

    def _document(self, operator: str) -> None:
        match = _DELIMITER.match(self.source, self.at)
        if match is None:
            raise Unclear(operator)
        self.at = match.end()
        self.documents.append((match[2].replace("\\", ""), operator == "<<-"))

    def _documents(self) -> None:
        """Pass over the here-documents that were announced on the line that has just ended."""
        for delimiter, indented in self.documents:
            while self.at < len(self.source):
                line = self.source[self.at : self._line_end()]
                self.at += len(line) + 1
                if (line.lstrip("\t") if indented else line).rstrip("\r") == delimiter:
                    break
        self.documents = []

    def _line_end(self) -> int:
        end = self.source.find("\n", self.at)
        return end if end >= 0 else len(self.source)

    def _word(self) -> Word:
        begun, text = self.at, ""
        while self.at < len(self.source) and (piece := self._piece()) is not None:
            text += piece
        return Word(self.source[begun : self.at], text)

    def _piece(self) -> str | None:
        """The next part of a word; None at its end."""
        self._step()
        source, at = self.source, self.at
        sign = source[at]
        if match := _PLAIN.match(source, at):
            self.at = match.end()
            return match[0]
        if sign == "'":
            return self._to(self._find("'", at + 1), at + 1)
        if sign == '"':
            return self._double()
        if sign == "\\":
            self.at = at + 2
            return source[at + 1 : at + 2]
        if sign == "$":
            return self._dollar()
        if sign == "`":
            return self._to(self._find("`", at + 1), at)
        if source.startswith(("<(", ">("), at):  # a process in place of a file
            self.at += 1
            self._bracket("(", ")")
            return source[at : self.at]
        return None

    def _to(self, end: int, begin: int) -> str:
        self.at = end + 1
        return self.source[begin:end]

    def _find(self, sign: str, begin: int) -> int:
        end = self.source.find(sign, begin)
        if end < 0:
            raise Unclear(sign)
        return end

    def _double(self) -> str:
        self.at += 1
        text = ""
        while self.at < len(self.source):
            self._step()
            sign = self.source[self.at]
            if match := _DOUBLE.match(self.source, self.at):
                self.at = match.end()
                text += match[0]
            elif sign == '"':
                self.at += 1
                return text
            elif sign == "\\":
                text += self.source[self.at + 1 : self.at + 2]
                self.at += 2
            elif sign == "$":
                text += self._dollar()
            else:
                text += self._to(self._find("`", self.at + 1), self.at)
        raise Unclear('"')

    def _dollar(self) -> str:
        begun = self.at
        following = self.source[begun + 1 : begun + 2]
        self.at += 1
        if following == "(":
            self._bracket("(", ")")
        elif following == "{":
            self._bracket("{", "}")
        return self.source[begun : self.at]

    def _bracket(self, opening: str, closing: str) -> None:
        """Pass over what a substitution holds, up to its end."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise Unclear(opening)
        depth = 0
        while self.at < len(self.source):
            self._step()
            sign = self.source[self.at]
            if sign == "'" and opening == "(":
                self.at = self._find("'", self.at + 1) + 1
            elif sign == '"':
                self._double()
            elif sign == "\\":
                self.at += 2
            elif self.source.startswith("<<", self.at) and opening == "(":
                self._inner_document()
            else:
                depth += (sign == opening) - (sign == closing)
                self.at += 1
                if depth == 0:
                    self.depth -= 1
                    return
                if match := _IN_BRACKET.match(self.source, self.at):
                    self.at = match.end()
        raise Unclear(opening)

    def _inner_document(self) -> None:
        """A here-document inside a substitution, where an apostrophe is no quote."""
        if self.source.startswith("<<<", self.at):
            self.at += 3
            return
        self.at += 2
        indented = self.source.startswith("-", self.at)
        self.at += indented
        match = _DELIMITER.match(self.source, self.at)
        if match is None:  # a shift in arithmetic
            return
        line_end = self.source.find("\n", match.end())
        if line_end < 0:
            return
        self.at = line_end + 1
        self.documents, waiting = [(match[2].replace("\\", ""), indented)], self.documents
        self._documents()
        self.documents = waiting
