"""What fields, statuses, phases, paths and sections look like, wherever a person writes them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias, get_args

from holdfast.formats.canonical.declaration import Json, PhaseMark, Status, WorkflowType
from holdfast.formats.canonical.markdown import Line
from holdfast.plaintext import one_line

Word: TypeAlias = Literal["in_progress", "blocked", "completed", "cancelled", "not_started"]

MOST_ITEMS = 200
_MOST_CHARACTERS = 2_000
_MOST_PHASES = 9_999
_LONGEST_STATUS = 200  # with its remark
LONGEST_LINE = 50_000  # in which paths are looked for

_LABELS = {
    label: key
    for key, labels in {
        "workflow": ("workflow", "workflow name", "current workflow", "active workflow"),
        "type": ("workflow type", "type"),
        "phase": ("phase", "current phase", "workflow phase"),
        "status": ("status", "current status", "workflow status", "plan status", "phase status"),
        "next": ("next", "next action", "next step"),
        "gate": ("gate", "validation", "validation gate", "quality gate", "exit criteria"),
        "plan": ("plan", "plan file"),
        "reading": ("required reading",),
        "reminders": ("key reminders", "reminders", "remember", "key rules"),
        "context": ("context", "workflow context", "context variables"),
    }.items()
    for label in labels
}
_SECTIONS = {"reading", "reminders", "context"}
_BELOW = {"status", "phase", "next", "gate"}  # as a heading, their value is the line below

_MARKS = "*_`~"
_SIGNS: dict[str, Word] = {
    **dict.fromkeys("🔄🚧", "in_progress"),
    **dict.fromkeys("⏸⛔", "blocked"),
    **dict.fromkeys("✅✔☑", "completed"),
    **dict.fromkeys("❌🚫", "cancelled"),
    **dict.fromkeys("⬜☐", "not_started"),
}
_SYMBOLS = r"\u2190-\u2bff\ufe0f\u200d\U0001f000-\U0001faff"
DECORATION = rf"[*_`~\s{_SYMBOLS}]*+"
_FIELD = re.compile(
    rf"{DECORATION}(?P<label>[a-z][a-z_ -]{{0,40}}?)[*_`~\s]*+[:：](?P<value>.*)", re.IGNORECASE
)
_TITLE = re.compile(
    rf"{DECORATION}(?P<label>[a-z][a-z_ -]{{0,40}}?)\s*(?:\([^()]*\))?[*_`~:：\s]*", re.IGNORECASE
)
_CLOSED = re.compile(rf"\s*[{_MARKS}]{{1,3}}(?=\s|$)")
_STATUS = re.compile(
    r"(?P<in_progress>in[\s_-]?progress|active|ongoing|wip)|(?P<blocked>blocked|on[\s_-]?hold|paused)"
    r"|(?P<completed>completed?|done|finished|shipped)|(?P<cancelled>cancell?ed|abandoned|superseded)"
    r"|(?P<not_started>not[\s_-]started|planned|pending|draft|proposed|to-?do)",
    re.IGNORECASE,
)
# "Complete rewrite needed" is no status, "Complete since Monday" is one.
_ENDS = re.compile(r"\s*(?:$|[^\w\s]|(?:on|at|since|as|in|by)\b|[0-9])")
_AROUND = re.compile(rf"[*_`~\s{_SYMBOLS}.!()\[\]]+")
_COUNTED = re.compile(rf"{DECORATION}phase\s+(?P<value>#?[0-9].*)", re.IGNORECASE)
_OF = r"\s*+(?:/|(?:out\s+)?of\b)\s*+"
_PHASE = rf"{DECORATION}(?:phase\s+)?#?"
_TWO = re.compile(
    rf"{_PHASE}(?P<current>[0-9]+){_OF}#?(?P<total>[0-9]+)(?!\w|\.[0-9])(?P<rest>.*)", re.IGNORECASE
)
_ONE = re.compile(
    rf"{_PHASE}(?P<current>[0-9]+)(?=$|\.?\s|[:(–—,]|-(?![0-9]))(?P<rest>.*)", re.IGNORECASE
)
_NUMBER = "(?:[0-9.?-]+|zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_BROKEN = re.compile(
    rf"{_PHASE}(?:{_NUMBER}{_OF}{_NUMBER}|{_NUMBER}\s*+/\s*+\w+|\w+\s*+/\s*+{_NUMBER})(?!\w)(?P<rest>.*)",
    re.IGNORECASE,
)
_SEPARATORS = " \t-–—:|,."
_BETWEEN = (" - ", " – ", " — ", ": ", " | ")  # a title and its status
_SEPARATED = re.compile(rf"\s*(?:$|[-–—:|,.(\[{_SYMBOLS}])")
_PAIR = re.compile(
    rf"[{_MARKS}]*(?P<key>[^\W\d][\w.-]*(?: [\w.-]+){{0,2}})[{_MARKS}]*\s*[:=](?!//)(?P<value>.*)",
)
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
_AT_PATH = re.compile(
    r"""@(?:"(?P<double>[^"]+)"|'(?P<single>[^']+)'|(?P<token>(?:\\ |[^\s,])+))[\s,]*"""
)
_LINK = re.compile(r"\]\(<?(?P<target>[^()\[\]\s<>]{1,1000})")
_NO_PATH = re.compile(r"[\x00-\x1f\ud800-\udfff]")
_CODE = re.compile(r"`([^`]+)`")
_DESCRIPTION = re.compile(r"\s+[-–—(]|:\s")
_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,9}$")
_IMPLEMENTATION = re.compile(r"\b(?:implement\w*|features?|build(?:ing|s)?)\b", re.IGNORECASE)


def tidy(text: str) -> str:
    """Text as it is kept: stripped, composed, bounded, and what UTF-8 can hold."""
    bounded = unicodedata.normalize("NFC", text.strip()[:_MOST_CHARACTERS])
    return bounded.encode("utf-8", "replace").decode()


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


def label_key(label: str) -> str:
    """A label or a front matter key, without its case and its kind of space."""
    return " ".join(re.split(r"[\s_-]+", label.strip(f"{_MARKS}: ").casefold()))


def field_of(line: Line) -> tuple[str, str] | None:
    """The known field on this line, and its value, which is empty where a section begins."""
    text = line.text
    if text.startswith("|"):
        cells = [bare(cell) for cell in text.strip("| ").split("|", 3)]
        key = _LABELS.get(label_key(cells[0])) if len(cells) == 2 else None
        return (key, tidy(cells[1])) if key else None
    match = _FIELD.match(text)
    if match and (key := _LABELS.get(label_key(match["label"]))):
        return key, tidy(bare(_CLOSED.sub("", match["value"], count=1)))
    match = _COUNTED.match(text) if line.checked is None else None
    if match and (two := _TWO.match(bare(match["value"]))) and _SEPARATED.match(two["rest"]):
        return "counted phase", tidy(bare(match["value"]))
    if line.level or (text.startswith(("**", "__")) and text.endswith(("**", "__"))):
        title = _TITLE.fullmatch(text)
        key = _LABELS.get(label_key(title["label"])) if title else None
        return (key, "") if key else None
    return None


def status_of(value: str) -> Word | None:
    """The status that a value begins with."""
    start = _AROUND.match(value)
    at = start.end() if start else 0
    match = _STATUS.match(value, at)
    if match and not value[match.end() : match.end() + 1].isalnum():
        word = _word(match)
        if word != "completed" or _ENDS.match(value, match.end()):
            return word
    if value[at : at + 4].casefold() == "not ":
        return None
    return next((_SIGNS[sign] for sign in value[:at] if sign in _SIGNS), None)


def whole_status(text: str) -> Word | None:
    """The status, if the text is nothing but one, with or without a sign and a remark in brackets."""
    text = text.strip()
    if len(text) > _LONGEST_STATUS:
        return None
    if text.endswith(")") and (opening := text.rfind("(")) > 0:
        text = text[:opening]
    start = _AROUND.match(text)
    at = start.end() if start else 0
    match = _STATUS.match(text, at)
    if match and (match.end() == len(text) or _AROUND.fullmatch(text, match.end())):
        return _word(match)
    signs = (_SIGNS[sign] for sign in text if sign in _SIGNS)
    return next(signs, None) if at == len(text) else None


def _word(match: re.Match[str]) -> Word | None:
    return next((word for word in get_args(Word) if match.lastgroup == word), None)


def split_status(title: str) -> tuple[str, Word | None]:
    """A title, and the status that stands before or behind it."""
    title = title.strip()
    closed = title.endswith((")", "]"))
    cuts = {title.rfind(mark) for mark in (*_BETWEEN, *_SIGNS, *("([" if closed else ""))}
    for cut in sorted(cuts):
        tail = title[cut:].lstrip(f"{_SEPARATORS}{_MARKS}")
        if cut > 0 and (word := whole_status(tail[1:-1] if tail[:1] in {"(", "["} else tail)):
            return _named(title[:cut]), word
    if title and title[0] in _SIGNS:
        return _named(title[1:]), _SIGNS[title[0]]
    return _named(title), None


def _named(title: str) -> str:
    return tidy(bare(title.strip(f"{_SEPARATORS}\ufe0f{''.join(_SIGNS)}")))


class PhaseReading(NamedTuple):
    """What a phase expression says; not everything that is written there can be read."""

    mark: PhaseMark | None
    word: Word | None = None
    readable: bool = True


def phase_of(value: str) -> PhaseReading:
    """Read "4/10 - X", "4 of 10", "4 (X)" or a mere name."""
    value = bare(value)
    match = _TWO.match(value) or _ONE.match(value)
    broken = None if match else _BROKEN.match(value)
    rest = match["rest"] if match else broken["rest"] if broken else value
    name, word = phase_name(rest)
    current = int(match["current"]) if match else None
    total = int(match["total"]) if match and "total" in match.groupdict() else None
    mark = sane_mark(current, total, name)
    readable = not broken and (match is None or current_of(mark) is not None)
    return PhaseReading(mark, word or _SIGNS.get(value[:1]), readable)


def current_of(mark: PhaseMark | None) -> int | None:
    return mark.current if mark else None


def sane_mark(current: int | None, total: int | None, name: str | None) -> PhaseMark | None:
    """A mark whose numbers can be true, without them if they cannot."""
    if current is None or not 1 <= current <= (total or _MOST_PHASES) <= _MOST_PHASES:
        current = total = None
    return PhaseMark(current, total, name) if current or name else None


def phase_name(rest: str) -> tuple[str | None, Word | None]:
    rest = rest.strip(_SEPARATORS)
    if (word := whole_status(rest)) and rest[:1] in {"(", "[", *_SIGNS}:
        return None, word
    if rest.startswith("(") and rest.find(")") == len(rest) - 1:
        rest = rest[1:-1]
    name, word = split_status(rest)
    return (None if name.casefold() in {"", "phase", "phases"} else name), word


def type_of(value: str) -> WorkflowType:
    """A stated type; one that is not in the document is a custom one."""
    stated = re.sub(r"[\s_]+", "-", value.strip().casefold())
    return next((known for known in get_args(WorkflowType) if known == stated), "custom")


def guess_type(name: str, planning: re.Pattern[str]) -> WorkflowType:
    """A type from the words of a name, by the table of the document."""
    if planning.search(name):
        return "planning"
    if re.search(r"\bqa\b", name, re.IGNORECASE):
        return "qa-loop"
    return "implementation" if _IMPLEMENTATION.search(name) else "custom"


def at_paths(text: str) -> list[str]:
    """The paths of a line that begins with @path, each as it is written."""
    text = text[:LONGEST_LINE].lstrip(f"{_MARKS} ")
    if not text.startswith("@"):
        return []
    whole = _DESCRIPTION.split(text[: _MOST_CHARACTERS + 1], maxsplit=1)[0].rstrip(f"{_MARKS} ")
    first, _, rest = whole[1:].partition(" ")
    spaced = rest and not _EXTENSION.search(first) and _EXTENSION.search(rest)
    if spaced and not re.search(r"[@,\"'\\]", whole[1:]) and ("/" in first or "/" not in rest):
        return [whole[1:]]
    paths: list[str] = []
    at = 0
    while (match := _AT_PATH.match(text, at)) and len(paths) < MOST_ITEMS:
        quoted = match["double"] or match["single"]
        paths.append(quoted or _trimmed(match["token"].replace("\\ ", " ")))
        at = match.end()
    return [path for path in paths if path_of(path)]


def _trimmed(token: str) -> str:
    path = token.strip(_MARKS).rstrip(":;,.!?").strip(_MARKS)
    return path.rstrip(")") if "(" not in path else path


def path_of(text: str) -> str | None:
    """A path from the folder of its file, or None for what is clearly none."""
    path = text.strip().removeprefix("@")
    while path.startswith("./"):
        path = path[2:].lstrip("/")
    if len(path) > _MOST_CHARACTERS or "://" in path or _NO_PATH.search(path):
        return None
    if path.casefold().startswith(("n/a", "mailto:", "#")) or not re.search(r"\w", path):
        return None
    return path if "." in path or "/" in path else None


def link_targets(text: str) -> Iterator[str]:
    """The files that a text links to; "./" marks what is relative to the text's own folder."""
    for match in _LINK.finditer(text):
        target = match["target"].partition("#")[0].replace("%20", " ").removeprefix("@")
        if target and "://" not in target and not target.startswith("mailto:"):
            rooted = target.startswith(("CLAUDE/", ".claude/", "/", "~", "./", "../"))
            yield target if rooted else f"./{target}"


def listed_paths(text: str) -> list[str]:
    """The path that a required-reading item names, with "./" or "../" where it is relative to its file."""
    text = text.strip()
    if found := at_paths(text):
        return found
    bounded = text[:_MOST_CHARACTERS]
    candidates = [*link_targets(bounded), *map(str.strip, _CODE.findall(bounded))]
    words = [_trimmed(word.strip("(\"'),")) for word in bounded.split()]
    for index, word in enumerate(words):
        if index == 0 or ("/" in word and _EXTENSION.search(word)) or word.endswith(".md"):
            candidates.append(word)
    return [path.removeprefix("@") for path in candidates if path_of(path)][:1]


def pair_of(text: str) -> tuple[str, Json] | None:
    """A context variable: "key: value" or "key = value"."""
    match = _PAIR.match(text[: _MOST_CHARACTERS * 2])
    if match is None:
        return None
    value = tidy(bare(_CLOSED.sub("", match["value"], count=1)))
    return (tidy(match["key"].strip(_MARKS) or match["key"]), scalar(value)) if value else None


def scalar(value: str) -> Json:
    """A value as JSON has it where it is plainly a number or a truth value."""
    if _INTEGER.fullmatch(value):
        return int(value)
    return {"true": True, "false": False}.get(value.casefold(), value)


class Found(NamedTuple):
    """The value of a field and the line that states it."""

    value: str
    number: int


@dataclass(slots=True)
class Notes:
    """All that the fields and sections of some lines say. The first of each kind wins."""

    fields: dict[str, Found] = field(default_factory=dict)
    listed: list[str] = field(default_factory=list)  # paths, in a required-reading section
    reading: list[str] = field(default_factory=list)  # these, and those of lines that begin with @
    reminders: list[str] = field(default_factory=list)
    context: dict[str, Json] = field(default_factory=dict)


def collect(lines: Iterable[Line], elsewhere: frozenset[int] = frozenset()) -> Notes:
    """Read fields and sections; lines *elsewhere* have sections but state no fields of the whole."""
    collector = _Collector()
    for line in lines:
        collector.feed(line, states=line.number not in elsewhere)
    return collector.notes


class _Collector:
    def __init__(self) -> None:
        self.notes = Notes()
        self.section = ""
        self.level = 0  # of the heading that opened the section, 0 for a label
        self.indent = -1  # of the item that opened it
        self.previous = 0
        self.joining = False  # the line before belongs to a reminder
        self.below = ""

    def feed(self, line: Line, *, states: bool) -> None:
        known = field_of(line)
        gap = line.number > self.previous + 1
        if self.section and self._ends(line, gap=gap, known=known):
            self.section = ""
        paths = at_paths(line.text)
        inside = self.section and not line.level and not (known and self._is_field(line, known[0]))
        if inside:
            self._take(line, paths, gap=gap)
        elif known:
            self._open(line, *known, states=states)
        elif self.below and not line.level and states:
            self._take_below(line)
        self.notes.reading += [] if inside and self.section == "reading" else paths
        self.joining = bool(inside) and self.section == "reminders" and (line.item or self.joining)
        self.below = "" if line.level and not known else self.below
        self.previous = line.number

    def _ends(self, line: Line, *, gap: bool, known: tuple[str, str] | None) -> bool:
        if line.level:
            return not self.level or line.level <= self.level
        if self.level:
            return known is not None and not line.item and known[0] in _SECTIONS
        if line.item:
            return line.indent <= self.indent
        return bool(known) or (gap and line.indent < 2)

    def _is_field(self, line: Line, key: str) -> bool:
        """Within a section, items are the section's, but context also names the work itself."""
        return not line.item or (
            self.section == "context" and key in {"workflow", "phase", "counted phase"}
        )

    def _open(self, line: Line, key: str, value: str, *, states: bool) -> None:
        self.below = key if line.level and key in _BELOW and not value else ""
        if key not in _SECTIONS:
            if states and value and not (key == "phase" and line.checked is not None):
                self.notes.fields.setdefault(key, Found(value, line.number))
            return
        self.section, self.level = key, line.level
        self.indent = line.indent if line.item else -1
        if value and key == "reminders":
            self.notes.reminders.append(value)
        elif value and key == "reading":
            self._list([path for part in value.split(",") for path in listed_paths(part)])

    def _take(self, line: Line, paths: list[str], *, gap: bool) -> None:
        if self.section == "reading":
            self._list(paths or (listed_paths(line.text) if line.item else []))
        elif self.section == "context":
            if (pair := pair_of(line.text)) and len(self.notes.context) < MOST_ITEMS:
                self.notes.context.setdefault(*pair)
        elif line.item:
            self.notes.reminders.append(tidy(line.text))
        elif self.joining and not gap and not paths:
            self.notes.reminders[-1] = tidy(f"{self.notes.reminders[-1]} {line.text}")

    def _list(self, paths: list[str]) -> None:
        self.notes.listed += paths
        self.notes.reading += paths

    def _take_below(self, line: Line) -> None:
        value = tidy(bare(line.text))
        if self.below == "status" and not status_of(value):
            return
        if self.below != "phase" or current_of(phase_of(value).mark):
            self.notes.fields.setdefault(self.below, Found(value, line.number))
        self.below = ""


def unique(items: Iterable[str], most: int = MOST_ITEMS) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item for item in items if item))[:most]


@dataclass(frozen=True, slots=True)
class Stated:
    """What one file states: its front matter first, its body where that is silent."""

    front: dict[str, Json]  # by known key, or by the key as label_key writes it
    notes: Notes

    def value(self, key: str) -> str | None:
        found = self.notes.fields.get(key)
        return text_of(self.front.get(key)) or (found.value if found else None)

    def shown(self, key: str) -> str:
        """A value as a reason quotes it, with the place where it stands."""
        found = self.notes.fields.get(key) or self.notes.fields.get(f"counted {key}")
        front = self.front.get(key)
        if front is not None or found is None:
            return f"'{one_line(str(front), 60)}' (front matter)"
        return f"'{one_line(found.value, 60)}' (line {found.number})"

    def phase(self, *, counted: bool) -> PhaseReading | None:
        """The phase as stated; "Phase 4/10: X" is a statement only where phases are not listed."""
        fields = self.notes.fields
        found = fields.get("phase") or (fields.get("counted phase") if counted else None)
        reading = _front_phase(self.front.get("phase")) or (
            phase_of(found.value) if found else None
        )
        if reading is None or reading.mark is None:
            return reading
        stated = reading.mark
        name = stated.name or text_of(self.front.get("phase name"))
        mark = sane_mark(stated.current, stated.total or _front_total(self.front), name)
        lost = current_of(mark) != stated.current
        return PhaseReading(mark, reading.word, reading.readable and not lost)

    def reminders(self) -> tuple[str, ...] | None:
        return unique(texts_of(self.front.get("reminders")) or self.notes.reminders) or None

    def reading(self) -> list[str] | None:
        """The paths that front matter lists."""
        return [
            path for text in texts_of(self.front.get("reading")) for path in listed_paths(text)
        ] or None

    def context(self) -> dict[str, Json] | None:
        front = self.front.get("context")
        if isinstance(front, dict) and front:
            return dict(list(front.items())[:MOST_ITEMS])
        return self.notes.context or None


def by_label(fields: dict[str, Json]) -> dict[str, Json]:
    """Front matter by the keys that fields have."""
    front: dict[str, Json] = {}
    for name, value in fields.items():
        key = label_key(name)
        front.setdefault(_LABELS.get(key, key), value)
    return front


def text_of(value: Json) -> str | None:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    return tidy(str(value)) or None


def texts_of(value: Json) -> list[str]:
    items = value if isinstance(value, list) else [value]
    return [text for text in map(text_of, items[:MOST_ITEMS]) if text]


def _front_phase(value: Json) -> PhaseReading | None:
    if not isinstance(value, dict):
        text = text_of(value)
        return phase_of(text) if text else None
    parts = {label_key(key): text_of(item) or "" for key, item in value.items()}
    read = phase_of(parts.get("current", "")).mark
    total = _count(parts.get("total", ""))
    mark = sane_mark(
        current_of(read), total or (read.total if read else None), parts.get("name") or None
    )
    return PhaseReading(
        mark, status_of(parts.get("status", "")), readable=current_of(mark) is not None
    )


def _front_total(front: dict[str, Json]) -> int | None:
    for key in ("total", "phases", "total phases"):
        value = front.get(key)
        if isinstance(value, list) and value:
            return len(value)
        if count := _count(text_of(value) or ""):
            return count
    return None


def _count(text: str) -> int | None:
    return int(text) if re.fullmatch("[0-9]{1,4}", text) else None


def status_for(word: Word | None) -> Status | None:
    return None if word == "cancelled" else word
