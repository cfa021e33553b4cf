"""Both kinds of source open a markdown file in the same way: decoded, in two parts, line by line."""

from __future__ import annotations

from typing import NamedTuple

from holdfast.decoding import decode
from holdfast.formats.canonical.declaration import Json
from holdfast.formats.canonical.sources.fields import by_key, divided
from holdfast.formats.canonical.sources.front_matter import front_matter
from holdfast.formats.canonical.sources.reasons import joined
from holdfast.formats.canonical.sources.tables import with_headers
from holdfast.formats.markdown.lines import MOST_LINES, Line, scanned


class Document(NamedTuple):
    """One markdown file in its parts."""

    front: dict[str, Json]  # by key, see fields.by_key
    lines: list[Line]  # of the body
    problem: str | None  # with the front matter, or with the length of the file


def open_document(data: bytes) -> Document | None:
    """The file's parts, or None if it is blank."""
    text = decode(data)
    if not text or text.isspace():
        return None
    front, body, problem = front_matter(text)
    del text  # which may take 20 MB
    if body.count("\n") > MOST_LINES:
        problem = joined(problem, f"only its first {MOST_LINES:,} lines were read")
    lines = [part for line in with_headers(scanned(body)) for part in divided(line)]
    return Document(by_key(front), lines, problem)
