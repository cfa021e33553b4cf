"""People's editors leave files in many encodings; the same words have to read the same in all."""

from __future__ import annotations

import codecs

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
