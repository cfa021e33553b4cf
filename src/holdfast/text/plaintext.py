"""Make text from files safe to put before a model or a terminal. The files keep it as it was."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Sequence

from holdfast.patterns import pattern
from holdfast.text.room import Room, units

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
_ESCAPE = pattern(r"\x1b(?:\[[0-?]{0,32}[ -/]{0,8}[@-~]|\][^\x07\x1b\n]{0,256}(?:\x07|\x1b\\))")
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
_UNHYPHENED_TAGS = tuple(tag.replace("-", "") for tag in _CLIENT_TAGS)
# What a reader may pass over between the letters of a tag, and what may stand for its dash.
_INVISIBLE = "\u00ad\u034f\u180b-\u180e\u200b-\u200f\u2060-\u206f\ufe00-\ufe0f\ufeff"
_TAG = pattern(rf"<(?=[\s/{_INVISIBLE}]*([A-Za-z][^<>]{{0,80}}))")
_PASSED_OVER = pattern(f"[{_INVISIBLE}]+")
_SOFT_HYPHEN = "\u00ad"  # read as a hyphen or as nothing
_DASHES = pattern("[_ \u2010-\u2015\u2212\ufe58\ufe63\uff0d]")
_CLOSING_TAG = pattern(r"<(?=\s*/\s*[A-Za-z])")
_SPACE = re.compile(r"\s+")
_INTEGER = pattern(r"0|-?[1-9][0-9]{0,17}")


def clean(text: str) -> str:
    """Several lines of text without what could steer a terminal or break out of a wrapper."""
    text = quoted(text)
    return _CLOSING_TAG.sub("‹", text) if "<" in text else text


def quoted(text: str) -> str:
    """The text of a whole file, cleaned for sending. It keeps closing tags, of which some files consist."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\x1b" in text:
        text = _ESCAPE.sub("", text)
    text = _UNSAFE.sub("", text)
    return _TAG.sub(_unless_harmless, text) if "<" in text else text


def _unless_harmless(tag: re.Match[str]) -> str:
    name, names = _DASHES.sub("-", _PASSED_OVER.sub("", tag[1])).lower(), _CLIENT_TAGS
    if _SOFT_HYPHEN in tag[1]:
        name, names = name.replace("-", ""), _UNHYPHENED_TAGS
    # Whatever follows: what stood between it and the tag may have been taken out.
    return "‹" if name.startswith(("antml:", *names)) else "<"


def escaped(json_text: str) -> str:
    """JSON with the same characters as \\u escapes: for programs, and harmless on a terminal."""
    return _UNSAFE.sub(lambda unsafe: json.dumps(unsafe[0])[1:-1], json_text)


def one_line(text: str, limit: int = 300) -> str:
    """*text* cleaned, as one line of at most *limit* units, ending in "…" where it was cut."""
    # Bound the work before the expressions run; cleaning only ever shortens.
    return shorten(_SPACE.sub(" ", clean(text[: limit * 8])).strip(), limit)


def scalar(text: str) -> str | int | bool:
    """A value as JSON has it where it is plainly a number or a truth value."""
    if _INTEGER.fullmatch(text):
        return int(text)
    return {"true": True, "false": False}.get(text.casefold(), text)


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


def listed(items: Sequence[str], separator: str, room: int, most: int, more: str = "more") -> str:
    """At most *most* of *items*, as many as fit into *room*, and how many more there are."""
    kept: list[str] = []
    for item in items[:most]:
        room -= units(item) + len(separator)
        if room < 0 and kept:
            break
        kept.append(item)
    left = len(items) - len(kept)
    return separator.join([*kept, f"… {left} {more}"] if left else kept)


# Secrets.

_LONGEST = 2_000  # characters that are looked at; the rest is left out

_CAMEL_CASE = pattern(r"(?<=[a-z\d])(?=[A-Z])")  # dbPass: db-Pass
_SECRET_NAME = pattern(
    r"token(?!i[sz])|secret|passw|passphrase|pwd|credential|bearer|cookie|authoriz|jwt|signature"
    r"|apikey|(?:private|access|encryption|signing|secret|master)key"
    r"|(?<![a-z\d])(?:api|private|access|encryption|signing|master|shared|account)[-_.]key"
    r"|(?<![a-z\d])(?:o?auth|creds?|sig|psk|pat|otp)(?![a-z\d])|(?<![a-z\d])(?:pass|key|pin)\Z",
    re.IGNORECASE,
)
_QUOTED = r"\"[^\"]*\"|'[^']*'"
# A name and its value: NAME=value and ?name=value, --name value, name: value.
_NAMED = (
    pattern(rf"(?<![\w.-])([\w.-]++)(\s?=\s?)({_QUOTED}|[^\s&'\"]+)"),
    pattern(rf"(?<![\w.-])(--?[A-Za-z][\w.-]*+)(\s+)({_QUOTED}|\S+)"),
    pattern(rf"(?<![\w.-])([\w.-]++)([\"']?\s?:\s?)({_QUOTED}|[^\s'\",]+)"),
)
_SHAPES = (
    # Passwords in addresses, with a slash in them too, unless what comes before it is a port.
    (pattern(r"(://)[^/\s:@'\"]*:(?!\d+/)[^\s'\"]*@|(//)[^/\s'\"]*@"), r"\1\2…@"),
    (
        pattern(
            r"(?<![\w-])((?:-u|-U|--user|--proxy-user|--username|--login)(?:=|\s+)?['\"]?[^\s:'\"]+:)"
            r"[^\s'\"]+"
        ),
        r"\1…",
    ),
    (
        pattern(
            r"(?<![\w-])((?:(?:proxy-)?authorization|(?:set-)?cookie|x-[\w-]++)\s?:\s?)\S.*",
            re.IGNORECASE,
        ),
        r"\1…",
    ),
    (pattern(r"\b(bearer\s)(?=[^\s\d]*\d)\S+", re.IGNORECASE), r"\1…"),
    (
        pattern(
            r"(?<![A-Za-z\d])(?:(?:gh[a-z]_|github_pat_|glpat-|xox[a-z]-|xapp-|eyJ)[\w.-]{8,}"
            r"|sk-[\w-]{16,}|[prs]k_(?:live|test)_\w{8,}|A(?:KIA|SIA)[A-Z\d]{12,}|AIza[\w-]{20,}"
            r"|npm_[A-Za-z\d]{20,}|pypi-[\w-]{16,}|hf_[A-Za-z\d]{16,}|dop_v1_\w{16,})"
        ),
        "…",
    ),
    (pattern(r"(-----BEGIN [A-Z ]*PRIVATE KEY-----).*", re.DOTALL), r"\1…"),
)


def redacted(text: str) -> str:
    """*text* with "…" in place of what looks secret, in doubt too: masked in vain costs a word."""
    text = text[:_LONGEST]
    for shape, replacement in _SHAPES:
        text = shape.sub(replacement, text)
    for named in _NAMED:
        text = named.sub(_masked, text)
    return text


def _masked(match: re.Match[str]) -> str:
    if ":" in match[2] and match[3].isalpha():
        return match[0]  # "Token: rotate it" is a sentence, "token: hunter2" is not
    name = _CAMEL_CASE.sub("-", match[1][-200:])
    return f"{match[1]}{match[2]}…" if _SECRET_NAME.search(name) else match[0]


def one_safe_line(value: object, limit: int) -> str:
    """One line of *value*, cut after what looks secret is out of it, so that no half is left."""
    return one_line(redacted(one_line(value, 4 * limit)), limit) if isinstance(value, str) else ""


_REPLACED = "\ufffd"


def decode(data: bytes) -> str:
    """The text of a file, with plain line ends; no bytes make it fail."""
    return _text(data).replace("\r\n", "\n").replace("\r", "\n")


def _text(data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    head = data[:1000]
    for encoding, nul, other in (("utf-16-le", 1, 0), ("utf-16-be", 0, 1)):
        if head[nul::2].count(0) > len(head) // 4 and not head[other::2].count(0):
            return data.decode(encoding, "replace")
    # A decoder that waits for more forgives a cut within the last character, at a size limit.
    decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
    text = decoder.decode(data)
    # A U+FFFD that stands in the file was written by an earlier reader, and is no bad byte.
    bad = text.count(_REPLACED) - data.count(_REPLACED.encode())
    good = len(text) - len(text.encode("ascii", "ignore")) - bad
    # One byte that waits at the end is a bad one where nothing else shows that this is UTF-8.
    bad += not good and len(decoder.getstate()[0]) == 1
    if not bad or good > bad:
        return text
    try:
        return data.decode("cp1252")
    except UnicodeDecodeError:
        return data.decode("latin-1")
