"""Values as their writer meant them: without surrounding marks, bounded, and none where there is none."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Iterable, Iterator

from holdfast.formats.canonical.sources import Json
from holdfast.patterns import pattern
from holdfast.text.plaintext import one_line

MOST_ITEMS = 200
MOST_CHARACTERS = 2_000

MARKS = "*_`~"
SYMBOLS = r"\u2190-\u2bff\ufe0f\u200d\U0001f000-\U0001faff"
DECORATION = rf"[{MARKS}\s{SYMBOLS}]*+"
_CLOSED = pattern(rf"(?:(?<!\s)\s++|)[{MARKS}]{{1,3}}(?=\s|$)")
_EMPHASIS = pattern(r"(?<![\w`])(\*\*|__)(?=\S)([^*_`]{1,300})\1(?![\w`])")


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


def spoken(text: str) -> str:
    """An item as it is told to somebody: without marks of emphasis."""
    return tidy(_EMPHASIS.sub(r"\2", text)) if "*" in text or "__" in text else tidy(text)


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
    return tuple(dict.fromkeys(item for item in items if item))[:most]


# Reasons tell a person which words of which line decided; each fits on one line.


def quoted(text: str) -> str:
    return f"'{one_line(text, 60)}'"


def joined(*parts: str | None) -> str:
    return "; ".join(filter(None, parts))


# Where there is nothing to state, people write so, or leave what stood in a template.

_THING = r"(?:workflows?|phases?|plans?|gates?|steps?|actions?|tasks?|state|one|reading|reminders?)"
_NOW = r"(?:active|running|open|set|needed|required|planned|yet|(?:for|right)\s+now|now|currently|in\s+progress|at\s+(?:the\s+moment|this\s+time|present))"
_NONE = pattern(
    rf"(?:none|n\s*/\s*a|no(?:\s+(?:active|current|open|running|next|further|more))*\s+{_THING})"
    rf"(?:\s+(?:is\s+)?{_NOW})*+\s*(?:$|[.;,(!]|[-–—]+\s)",
    re.IGNORECASE,
)
_UNKNOWN = pattern(
    r"(?:na|nil|null|nothing|unknown|undefined|idle|inactive|todo|tb[acd]|\W*"
    r"|not\s+(?:applicable|set|active|yet\s+(?:known|set|decided))|to\s+be\s+(?:determined|decided|defined|announced))",
    re.IGNORECASE,
)
_TEMPLATE = pattern(r"[_.-]*(?:0+[_-]+)?(?:plan[_-]*)?templates?[_-]*(?:\.\w+)?", re.IGNORECASE)
_AROUND = "()[]<>{}*_`~.!…: \t"
_SLOT = pattern(r"<[^<>]*>|\{[^{}]*\}|\[[^\[\]0-9]*\](?!\()")
_SYMBOLS = pattern("[\u2190-\u2bff\U0001f000-\U0001faff]")
_LONGEST = 300  # with its remark


def says_nothing(value: str) -> bool:
    """Whether a value states that there is none: "none", "N/A", "TBD", "-"."""
    inner = value[:_LONGEST].strip(_AROUND)
    if _NONE.match(inner):
        return True
    return len(value) < _LONGEST and bool(_UNKNOWN.fullmatch(inner)) and not _SYMBOLS.search(value)


def is_template(value: str) -> bool:
    """Whether a value is what somebody was to fill in: "<name>", "[workflow name]"."""
    if len(value) > _LONGEST or value[:1] not in {"<", "{", "["}:
        return False
    return not re.search(r"\w", _SLOT.sub("", value))


def is_unfilled(value: str) -> bool:
    """Whether a value names nothing: it states that there is none, or is still the template's."""
    return says_nothing(value) or is_template(value)


def template_name(path: str) -> str | None:
    return next((part for part in path.split("/") if _TEMPLATE.fullmatch(part)), None)


# Paths of required reading stand in text as @path, link, code or a bare word.

LONGEST_LINE = 50_000  # in which paths are looked for
_AT_PATH = pattern(
    r"""@(?:"(?P<double>[^"]+)"|'(?P<single>[^']+)'|(?P<token>(?:\\ |[^\s,])+))[\s,]*"""
)
_LINK = pattern(r"\]\(<?(?P<target>[^()\[\]\s<>]{1,1000})")
_NO_PATH = pattern(r"[\x00-\x1f\ud800-\udfff]")
_CODE = pattern(r"`([^`]+)`")
_DESCRIPTION = pattern(r"(?<!\s)\s++[-–—(]|:\s")
_EXTENSION = pattern(r"\.[A-Za-z][A-Za-z0-9]{0,9}$")
_TOKEN = pattern(r"""[^\s`"'<>()\[\]{}|*,;:@!?=#…]+""")
_RELATIVE = ("./", "../")
_ROOTED = ("CLAUDE/", ".claude/")


def _from_folder(text: str) -> str:
    path = text.strip().removeprefix("@")
    while path.startswith("./"):
        path = path[2:].lstrip("/")
    return path


def path_of(text: str) -> str | None:
    """A path from the folder of its file, or None for what is clearly none."""
    path = _from_folder(text)
    if len(path) > MOST_CHARACTERS or "://" in path or _NO_PATH.search(path):
        return None
    if path.casefold().startswith(("n/a", "mailto:", "#")) or not re.search(r"\w", path):
        return None
    return path if "." in path or "/" in path else None


def normal_reading(item: str) -> str:
    """One spelling for each path that is to be read: with its @, without a leading ./."""
    return f"@{_from_folder(item)}"


def resolved(raw: str, folder: str) -> str | None:
    """The path from the project root, or None if it leads out of the project."""
    if not raw.startswith(_RELATIVE):
        return path_of(raw)
    path = posixpath.normpath(posixpath.join(folder, raw))
    return None if path.startswith("../") or not path_of(path) else path


def at_paths(text: str) -> list[str]:
    """The paths of a line that begins with @path, each as it is written."""
    text = text.lstrip(f"{MARKS} ")
    if not text.startswith("@"):
        return []
    whole = _DESCRIPTION.split(text[: MOST_CHARACTERS + 1], maxsplit=1)[0].rstrip(f"{MARKS} ")
    first, _, rest = whole[1:].partition(" ")
    spaced = rest and not _EXTENSION.search(first) and _EXTENSION.search(rest)
    if spaced and not re.search(r"[@,\"'\\]", whole[1:]) and ("/" in first or "/" not in rest):
        return [whole[1:]]
    paths: list[str] = []
    at = 0
    while (match := _AT_PATH.match(text, at)) and len(paths) < MOST_ITEMS:
        quoted_path = match["double"] or match["single"]
        paths.append(quoted_path or _trimmed(match["token"].replace("\\ ", " ")))
        at = match.end()
    return [path for path in paths if path_of(path)]


def listed_paths(text: str) -> list[str]:
    """The path that a required-reading item names; "./" or "../" where it is relative to its file."""
    bounded = text[:MOST_CHARACTERS]
    candidates = [*at_paths(text), *_link_targets(bounded), *map(str.strip, _CODE.findall(bounded))]
    words = [_trimmed(word.strip("(\"'),")) for word in bounded.split()]
    for index, word in enumerate(words):
        if index == 0 or ("/" in word and _EXTENSION.search(word)) or word.endswith(".md"):
            candidates.append(word)
    return [path.removeprefix("@") for path in candidates if path_of(path)][:1]


def mentioned_documents(text: str) -> Iterator[str]:
    """The markdown files that a line of prose refers to, by a link or by where they lie."""
    if ".md" not in text:
        return
    yield from (target for target in _link_targets(text) if target.endswith(".md"))
    for token in _TOKEN.findall(text):
        raw = token.rstrip("._~")
        if raw.endswith(".md") and raw.startswith((*_ROOTED, *_RELATIVE)):
            yield raw


def _link_targets(text: str) -> Iterator[str]:
    """The files that a text links to; "./" marks what is relative to the text's own folder."""
    for match in _LINK.finditer(text):
        target = match["target"].partition("#")[0].replace("%20", " ").removeprefix("@")
        if target and "://" not in target and not target.startswith("mailto:"):
            is_placed = target.startswith((*_ROOTED, *_RELATIVE, "/", "~"))
            yield target if is_placed else f"./{target}"


def _trimmed(token: str) -> str:
    home = "~/" if token.startswith("~/") else ""  # which is no strike-through
    path = home + token.removeprefix(home).strip(MARKS).rstrip(":;,.!?").strip(MARKS)
    return path.rstrip(")") if "(" not in path else path
