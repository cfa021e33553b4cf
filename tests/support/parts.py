"""Put required reading together again, as a reader of the labels would."""

from __future__ import annotations

import re
from collections.abc import Iterable

PIECE = re.compile(
    r"^reading (?P<part>\d+) of (?P<parts>\d+): (?P<path>.+?), version \w+, "
    r"lines? (?P<first>\d+)(?:-(?P<last>\d+))? of (?P<of>\d+)"
    r"(?:, characters (?P<begin>\d+)-\d+)?\n(?P<fence>`{3,}|~{3,})\n(?P<text>.*?)\n(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)


def put_together(parts: Iterable[str]) -> dict[str, str]:
    """Each file's text as a reader of the labels would put it together, from parts in any order."""
    found: dict[str, dict[tuple[int, int], str]] = {}
    for part in parts:
        for piece in PIECE.finditer(part):
            place = int(piece["first"]), int(piece["begin"] or 0)
            found.setdefault(piece["path"], {})[place] = piece["text"]
    texts = {}
    for path, pieces in found.items():
        lines: dict[int, str] = {}
        for (first, begin), text in sorted(pieces.items()):
            if begin:
                lines[first] = lines.get(first, "") + text
            else:
                lines |= dict(enumerate(text.split("\n"), first))
        assert list(lines) == list(range(1, len(lines) + 1))
        texts[path] = "\n".join(lines.values())
    return texts
