"""Make text from files safe to put before a model or a terminal. The files keep it as it was."""

from __future__ import annotations

import re

# Control characters (C0 without tab and line ends, DEL, C1), bidirectional overrides and isolates,
# invisible joiners that hide text, and lone surrogates, which no UTF-8 encoder accepts.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
# Terminal escapes go whole, so that "\x1b[31mred" becomes "red" and not "[31mred".
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]{0,32}[ -/]{0,8}[@-~]|\][^\x07\x1b]{0,256}(?:\x07|\x1b\\)?)")
# A closing tag could end the element that the client wraps hook text in. An opening tag could start
# one of the client's own.
_TAG = re.compile(
    r"</[A-Za-z][\w:.-]{0,64}\s{0,8}>|<(?=/?(?:system|user|assistant)-)", re.IGNORECASE
)
_SPACE = re.compile(r"\s+")


def units(text: str) -> int:
    """Length as the client counts it: UTF-16 code units."""
    return len(text) + sum(1 for character in text if character > "\uffff")


def clean(text: str) -> str:
    """Several lines of text without what could steer a terminal or break out of a wrapper."""
    previous = None
    text = _UNSAFE.sub("", _ESCAPE.sub("", text.replace("\r\n", "\n").replace("\r", "\n")))
    while previous != text:  # removing one tag may join the halves of another
        previous, text = text, _TAG.sub("", text)
    return text


def one_line(text: str, limit: int = 300) -> str:
    """The same as one line of at most *limit* units, ending in "…" where it was cut."""
    # Bound the work before the expressions run; cleaning only ever shortens.
    return shorten(_SPACE.sub(" ", clean(text[: limit * 8])).strip(), limit)


def shorten(text: str, limit: int) -> str:
    """At most *limit* units of *text*, ending in "…" where it was cut."""
    if units(text) <= limit:
        return text
    kept, used = [], 1
    for character in text:
        used += units(character)
        if used > limit:
            break
        kept.append(character)
    return "".join(kept).rstrip() + "…"
