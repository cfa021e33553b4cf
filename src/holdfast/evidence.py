"""What a restore promised, held against what the transcript says reached the model."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from holdfast import guidance, reading
from holdfast.plaintext import units
from holdfast.transcript import Compaction

_CUT = "<persisted-output>"  # what the client puts in place of a text that it finds too long


@dataclass(frozen=True)
class Finding:
    """One piece of a restore."""

    what: str  # "guidance", "part 2 of 7"
    became: Literal["arrived", "missing", "doubled", "failed"]
    detail: str


def findings(compaction: Compaction) -> list[Finding]:
    """The guidance and each part that it promised: whether it is there, or why not."""
    whole = [text for text in compaction.contexts if not text.startswith(_CUT)]
    told = [text for text in whole if guidance.is_restore(text)]
    parts: dict[int, list[str]] = {}
    for text in whole:
        number = reading.part_number(text)
        if number:
            parts.setdefault(number, []).append(text)
    found = [_guidance(compaction, told)]
    promised = guidance.promised_parts(told[0]) if told else max(parts, default=0)
    last = max([promised, *parts])
    found += [_part(compaction, n, promised, parts.get(n, [])) for n in range(1, last + 1)]
    found += [Finding("a hook", "failed", error) for error in compaction.errors]
    return found


def _guidance(compaction: Compaction, texts: Sequence[str]) -> Finding:
    if not texts:
        return Finding("guidance", "missing", _why_not(compaction, guidance.is_restore))
    return _arrived("guidance", texts, f"{units(texts[0]):,} characters")


def _part(compaction: Compaction, number: int, of: int, texts: Sequence[str]) -> Finding:
    what = f"part {number} of {of}"
    if not texts:
        wanted = partial(_is_part, number)
        return Finding(what, "missing", _why_not(compaction, wanted))
    holds = "; ".join(reading.labels(texts[0]))
    return _arrived(what, texts, f"{units(texts[0]):,} characters: {holds}")


def _is_part(number: int, text: str) -> bool:
    return reading.part_number(text) == number


def _arrived(what: str, texts: Sequence[str], detail: str) -> Finding:
    if len(texts) == 1:
        return Finding(what, "arrived", detail)
    often = f"{len(texts)} times, so the hooks are registered more than once"
    return Finding(what, "doubled", f"{detail}; {often}")


def _why_not(compaction: Compaction, wanted: Callable[[str], bool]) -> str:
    if any(wanted(_context(each)) for each in compaction.said):
        if any(text.startswith(_CUT) for text in compaction.contexts):
            return "the client put a preview in its place"
        return "the hook said it, and the client did not pass it on"
    return "no hook said it; is it registered? (settings.example.json)"


def _context(stdout: str) -> str:
    try:
        reply = json.loads(stdout)
        return str(reply["hookSpecificOutput"]["additionalContext"])
    except (ValueError, KeyError, TypeError):
        return stdout
