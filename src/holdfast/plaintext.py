"""Make text from files safe to put before a model or a terminal. The files keep it as it was."""

from __future__ import annotations

import json
import re

from holdfast.room import Room

NOTE_LIMIT = 800  # units for the summariser

# Control characters (C0 without tab and line ends, DEL, C1), marks and overrides of direction,
# invisible joiners, tags and selectors that hide text, and lone surrogates, which no UTF-8 encoder
# accepts.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)
# Terminal escapes go whole, so that "\x1b[31mred" becomes "red" and not "[31mred".
# A title that is not ended on its line is text; of that only the escape itself goes.
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]{0,32}[ -/]{0,8}[@-~]|\][^\x07\x1b\n]{0,256}(?:\x07|\x1b\\))")
# A closing tag could end the element that the client wraps hook text in, and an opening one could
# start one of the client's own. Their "<" is replaced, not removed: removing one tag may join the
# halves of another.
_CLIENT_TAGS: tuple[str, ...] = (
    *("system-reminder", "user-prompt-submit-hook", "session-start-hook", "persisted-output"),
    *("local-command-stdout", "local-command-stderr", "local-command-caveat", "bash-input"),
    *("bash-stdout", "bash-stderr", "command-name", "command-message", "command-args"),
    *("task-notification", "tool-use-error", "new-diagnostics", "ide-selection", "ide-opened-file"),
    *("function-calls", "function-results", "function-result"),
)
_UNHYPHENED_TAGS = tuple(each.replace("-", "") for each in _CLIENT_TAGS)
# What a reader may pass over between the letters of a tag, and what may stand for its dash.
_INVISIBLE = "\u00ad\u034f\u180b-\u180e\u200b-\u200f\u2060-\u206f\ufe00-\ufe0f\ufeff"
_TAG = re.compile(rf"<(?=[\s/{_INVISIBLE}]*([A-Za-z][^<>]{{0,80}}))")
_PASSED_OVER = re.compile(f"[{_INVISIBLE}]+")
_SOFT_HYPHEN = "\u00ad"  # read as a hyphen or as nothing
_DASHES = re.compile("[_ \u2010-\u2015\u2212\ufe58\ufe63\uff0d]")
_CLOSING_TAG = re.compile(r"<(?=\s*/\s*[A-Za-z])")
_SPACE = re.compile(r"\s+")


def clean(text: str) -> str:
    """Several lines of text without what could steer a terminal or break out of a wrapper."""
    return _CLOSING_TAG.sub("‹", quoted(text))


def quoted(text: str) -> str:
    """The same for a whole file that is sent: closing tags are what some files consist of."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _TAG.sub(_unless_harmless, _UNSAFE.sub("", _ESCAPE.sub("", text)))


def _unless_harmless(tag: re.Match[str]) -> str:
    name, names = _DASHES.sub("-", _PASSED_OVER.sub("", tag[1])).lower(), _CLIENT_TAGS
    if _SOFT_HYPHEN in tag[1]:
        name, names = name.replace("-", ""), _UNHYPHENED_TAGS
    # Whatever follows: what stood between it and the tag may have been taken out.
    return "‹" if name.startswith(("antml:", *names)) else "<"


def escaped(json_text: str) -> str:
    """JSON with the same characters as \\u escapes: for programs, and harmless on a terminal."""
    return _UNSAFE.sub(_as_escape, json_text)


def _as_escape(match: re.Match[str]) -> str:
    return json.dumps(match[0])[1:-1]


def one_line(text: str, limit: int = 300) -> str:
    """The same as one line of at most *limit* units, ending in "…" where it was cut."""
    # Bound the work before the expressions run; cleaning only ever shortens.
    return shorten(_SPACE.sub(" ", clean(text[: limit * 8])).strip(), limit)


def counted(count: int, noun: str) -> str:
    """A number with its noun: "1 part", "2 parts"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def shorten(text: str, limit: int) -> str:
    """At most *limit* units of *text*, ending in "…" where it was cut."""
    return fitted(text, Room(limit))


def fitted(text: str, room: Room) -> str:
    """As much of *text* as there is *room* for, ending in "…" where it was cut."""
    if room.taken(text) <= room.most:
        return text
    kept, used = [], room.taken("…")
    for character in text:
        used += room.taken(character)
        if used > room.most:
            break
        kept.append(character)
    return "".join(kept).rstrip() + "…"
