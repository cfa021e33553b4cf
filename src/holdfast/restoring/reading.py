"""Required reading: finds each file, checks that it may be read, and cuts its text into parts.

The client caps what one hook may say, but caps each hook by itself. So the text is sent by several hooks,
one a part; the main hook lays ready what they send (see `answers.parts`). Where an agent has no such hooks, there
is one part, as large as the room that the guidance leaves, and it comes with the guidance.

A file is sent whole or not at all, so the agent never has to know which lines of it are missing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from holdfast.config.capabilities import USUAL
from holdfast.errors import StateUnreadable
from holdfast.files.fingerprints import digest
from holdfast.files.inputs import UNRECORDED, Inputs
from holdfast.files.regular import contains
from holdfast.text.plaintext import counted, decode, one_line, quoted
from holdfast.text.room import Room, units

MISSING = "missing"
OUTSIDE = "outside the project"
FOLDER = "a folder"
NOT_TEXT = "not text"
EMPTY = "empty"
NO_ROOM = "no room for it beside the guidance"
ATTACHED = "the client itself sends it again, after each compaction"
ONLY_NAMED = "only named"  # by the settings, or by the way that the session began
_BYTES_A_UNIT = 4  # at most, in any encoding that text is kept in
_LARGEST_MARKED = 8 * 1024 * 1024
_SHOWN_BY_READ = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf")  # though they are no text


class Item(NamedTuple):
    """One required file, and how it was sent."""

    path: str  # as it is written, without its @
    real: str = ""  # where that leads
    trouble: str = ""  # why its text is not sent
    parts: tuple[int, int] | None = None  # the first and the last part that hold its text
    digest: str = ""  # of the bytes that were sent
    sections: tuple[str, ...] = ()  # of it that are required, where an anchor names them
    inputs: Inputs = UNRECORDED

    @property
    def version(self) -> str:
        """A short fingerprint of the file's content."""
        return self.digest[:8]

    @property
    def can_be_opened(self) -> bool:
        """Whether the agent may open the file itself; never one outside the project on a repository's word."""
        if self.parts is not None or self.trouble in {MISSING, OUTSIDE, FOLDER, EMPTY, ATTACHED}:
            return False
        return not self.cannot_be_shown and self.inputs.has_something(self.real)

    @property
    def cannot_be_shown(self) -> bool:
        """Whether it is neither text nor anything else that `Read` can show."""
        return self.trouble == NOT_TEXT and not self.real.lower().endswith(_SHOWN_BY_READ)

    @property
    def fingerprint(self) -> str:
        """The file's digest, sent or not; for a very long file, its size and time."""
        if self.digest or self.trouble in {MISSING, OUTSIDE}:
            return self.digest
        try:
            return digest(self.inputs.read_file(self.real, _LARGEST_MARKED)[0])
        except StateUnreadable:
            pass
        status = self.inputs.stat(self.real)
        return f"{status.st_size} {status.st_mtime_ns}" if status else ""


def span(parts: tuple[int, int]) -> str:
    """The first and the last part in words."""
    first, last = parts
    return f"part {first}" if first == last else f"parts {first} to {last}"


class Reading(NamedTuple):
    """All required files of one workflow, and the parts that their text is sent in."""

    items: Sequence[Item]
    parts: Sequence[str]
    inline: bool = False  # the one part comes with the guidance


class Budget(NamedTuple):
    """The limits on what is sent."""

    parts: int
    a_file: int  # UTF-16 units
    room: Room = USUAL.room  # of a part
    inline: bool = False


def resolve(
    root: Path, reading: Sequence[str], roots: Sequence[str] = (), inputs: Inputs = UNRECORDED
) -> list[Item]:
    """Each file of *reading* once, by its real path, relative to *root*."""
    allowed = [str(root), *(inputs.real_path(os.path.expanduser(folder)) for folder in roots)]
    items = dict[str, Item]()
    for written in reading:
        path = written.strip().removeprefix("@")
        if not path or "\0" in path:
            continue
        try:
            real, file, section = _with_section(root, path, inputs)
        except (OSError, ValueError):  # no name that a file can have, or it is being replaced
            items.setdefault(f"{path}\0", Item(path, trouble=MISSING))
            continue
        known = items.get(real) or Item(file, real, _obstacle(real, allowed, inputs), inputs=inputs)
        named = [section] if section and section not in known.sections else []
        items[real] = known._replace(sections=(*known.sections, *named))
    return list(items.values())


def _with_section(root: Path, path: str, inputs: Inputs) -> tuple[str, str, str]:
    """Resolve *path* to a file and a section: `a.md#use` is in the file a.md."""
    real = inputs.real_path(root / os.path.expanduser(path))
    file, _, section = path.partition("#")
    if not file or not section or inputs.exists(real):
        return real, path, ""
    return inputs.real_path(root / os.path.expanduser(file)), file, section


def _obstacle(real: str, allowed: Sequence[str], inputs: Inputs) -> str:
    if not any(contains(folder, real) for folder in allowed):
        return OUTSIDE
    if not inputs.exists(real):
        return MISSING
    if inputs.is_dir(real):
        return FOLDER
    return "" if inputs.is_file(real) else "not a file"


def plan(items: Sequence[Item], budget: Budget, workflow: str) -> Reading:
    """The texts of *items* within the budget: whole files only, and a later, smaller one may still fit."""
    packer = _Packer(budget.parts, f'{_HEADING}"{one_line(workflow, 120)}".', budget.room)
    planned = []
    for item in items:
        text = item.trouble or _text_of(item, budget.a_file)
        if isinstance(text, str):
            planned.append(item._replace(trouble=text))
            continue
        sent = item._replace(digest=text.digest)
        held_by = packer.add(sent, text)
        no_room = (
            NO_ROOM if budget.inline else f"over the budget of {counted(budget.parts, 'part')}"
        )
        planned.append(sent._replace(parts=held_by, trouble="" if held_by else no_room))
    return Reading(planned, packer.render(), budget.inline)


class _Text(NamedTuple):
    lines: list[str]
    digest: str
    fence: str


def _text_of(item: Item, limit: int) -> _Text | str:
    """The text of the file, or why it is not sent."""
    real, inputs = item.real, item.inputs
    try:
        inputs.note(real)
        if os.path.getsize(real) > limit * _BYTES_A_UNIT:
            return _too_long(limit)
        data, _ = inputs.read_file(real, limit * _BYTES_A_UNIT, follow=False)
        if inputs.real_path(real) != real:  # a parent folder was replaced by a link
            return "cannot be read: it is being replaced"
    except OSError as error:
        return f"cannot be read: {error.strerror or error}"
    except StateUnreadable as error:
        return f"cannot be read: {error.reason}"
    text = decode(data)
    if not _is_text(text):
        return NOT_TEXT
    text = quoted(text)
    if not text.strip():
        return EMPTY
    if units(text) > limit:
        return _too_long(limit)
    # A fence longer than any in the text, so that the text cannot close it.
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return _Text(text.removesuffix("\n").split("\n"), digest(data), fence)


def _too_long(limit: int) -> str:
    return f"over the budget of {limit:,} characters a file"


_CONTROL = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")


def _is_text(text: str) -> bool:
    """Whether it is text; escapes and form feeds are allowed."""
    return "\0" not in text and len(_CONTROL.findall(text)) * 50 <= len(text)


class _Line(NamedTuple):
    """A line of a file, or a piece of a line too long for one part."""

    number: int
    text: str
    cut: str = ""  # which characters of the line these are, where it had to be cut


class _Piece(NamedTuple):
    """Rows of one file that go into one part."""

    item: Item
    rows: list[_Line]
    of: int  # lines that the file has
    fence: str

    @property
    def where(self) -> str:
        first, last = self.rows[0], self.rows[-1]
        if first.cut:
            return f"line {first.number} of {self.of}, {first.cut}"
        if first.number == last.number:
            return f"line {first.number} of {self.of}"
        return f"lines {first.number}-{last.number} of {self.of}"

    def render(self, part: int, parts: int) -> str:
        name = f"{one_line(self.item.path, 400)}, version {self.item.version}"
        label = f"reading {part} of {parts}: {name}, {self.where}"
        return "\n".join([label, self.fence, *(row.text for row in self.rows), self.fence])


_LABEL = re.compile(r"^reading (\d+) of (\d+): (.+)$", re.MULTILINE)
_HEADING = "Required reading of the workflow "


def part_number(text: str) -> tuple[int, int] | None:
    """Which part *text* is, and of how many; None when it is none."""
    found = _LABEL.search(text) if text.startswith(_HEADING) else None
    return (int(found[1][:4]), int(found[2][:4])) if found else None


def labels(text: str) -> list[str]:
    """What the part *text* contains, by its labels; the files' own text does not count."""
    found, fence = [], ""
    for line in text.split("\n"):
        if fence:
            fence = "" if line == fence else fence
        elif line.startswith("```"):
            fence = line
        elif label := _LABEL.fullmatch(line):
            found.append(label[3])
    return found


_WIDEST = 999  # labels are measured as if there were so many parts
BETWEEN = "\n\n"
_LEAST = 100  # units of a line that must fit, or nothing is sent


class _Packer:
    """Fills parts in order, each up to its limit, and cuts files at line ends to do so."""

    def __init__(self, most: int, heading: str, room: Room) -> None:
        self._most = most
        self._heading = heading
        self._room = room.resized(room.most - room.taken(heading))  # of each part
        self._parts: list[list[_Piece]] = []
        self._left = 0  # in the last part

    def add(self, item: Item, text: _Text) -> tuple[int, int] | None:
        """The parts that the file went into; None when it does not fit, and nothing changed."""
        room, lines = self._room, len(text.lines)
        widest = _Piece(item, [_Line(lines, "", f"characters {10**7}-{10**7}")], lines, text.fence)
        frame = room.taken(widest.render(_WIDEST, _WIDEST) + BETWEEN)
        if room.most - frame < _LEAST:
            return None
        parts, left = [list(part) for part in self._parts], self._left
        first, piece = 0, None
        for row in _lines(text.lines, room.resized(room.most - frame)):
            needed = room.taken(row.text) + 1
            # What had to be cut is a piece of its own.
            if piece is None or row.cut or piece.rows[0].cut or needed > left:
                needed += frame - 1  # the last line end belongs to the frame
                if needed > left and len(parts) == self._most:
                    return None
                if needed > left:
                    parts.append([])
                    left = room.most
                piece = _Piece(item, [], lines, text.fence)
                parts[-1].append(piece)
            piece.rows.append(row)
            left -= needed
            first = first or len(parts)
        self._parts, self._left = parts, left
        return first, len(parts)

    def render(self) -> list[str]:
        total = len(self._parts)
        return [
            BETWEEN.join([self._heading, *(piece.render(number, total) for piece in pieces)])
            for number, pieces in enumerate(self._parts, 1)
        ]


def _lines(lines: Sequence[str], room: Room) -> Iterator[_Line]:
    longest = room.most
    for number, line in enumerate(lines, 1):
        if room.taken(line) <= longest:
            yield _Line(number, line)
            continue
        begin = 0
        while begin < len(line):
            end = begin + longest
            # What counts more than once leaves room for less.
            while (over := room.taken(line[begin:end]) - longest) > 0:
                end -= max(1, over // room.widest)
            cut = f"characters {begin + 1}-{min(end, len(line))}"
            yield _Line(number, line[begin:end], cut)
            begin = end
