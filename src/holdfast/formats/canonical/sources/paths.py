"""Required reading is named by paths, which stand in text in many dresses: @path, link, code, word."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from holdfast.formats.canonical.sources.values import MARKS, MOST_CHARACTERS, MOST_ITEMS
from holdfast.patterns import pattern

_LONGEST_LINE = 50_000  # in which paths are looked for

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


def path_of(text: str) -> str | None:
    """A path from the folder of its file, or None for what is clearly none."""
    path = text.strip().removeprefix("@")
    while path.startswith("./"):
        path = path[2:].lstrip("/")
    if len(path) > MOST_CHARACTERS or "://" in path or _NO_PATH.search(path):
        return None
    if path.casefold().startswith(("n/a", "mailto:", "#")) or not re.search(r"\w", path):
        return None
    return path if "." in path or "/" in path else None


def resolved(raw: str, folder: str) -> str | None:
    """The path from the project root, or None if it leads out of the project."""
    if not raw.startswith(_RELATIVE):
        return path_of(raw)
    path = posixpath.normpath(posixpath.join(folder, raw))
    return None if path.startswith("../") or not path_of(path) else path


def at_paths(text: str) -> list[str]:
    """The paths of a line that begins with @path, each as it is written."""
    text = text[:_LONGEST_LINE].lstrip(f"{MARKS} ")
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
        quoted = match["double"] or match["single"]
        paths.append(quoted or _trimmed(match["token"].replace("\\ ", " ")))
        at = match.end()
    return [path for path in paths if path_of(path)]


def listed_paths(text: str) -> list[str]:
    """The path that a required-reading item names, with "./" or "../" where it is relative to its file."""
    text = text.strip()
    if found := at_paths(text):
        return found
    bounded = text[:MOST_CHARACTERS]
    candidates = [*_link_targets(bounded), *map(str.strip, _CODE.findall(bounded))]
    words = [_trimmed(word.strip("(\"'),")) for word in bounded.split()]
    for index, word in enumerate(words):
        if index == 0 or ("/" in word and _EXTENSION.search(word)) or word.endswith(".md"):
            candidates.append(word)
    return [path.removeprefix("@") for path in candidates if path_of(path)][:1]


def mentioned_documents(text: str) -> Iterator[str]:
    """The markdown files that a line of prose refers to, by a link or by where they lie."""
    text = text[:_LONGEST_LINE]
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
