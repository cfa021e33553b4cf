"""What a restore promised, held against what the transcript says reached the model."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from holdfast import guidance, reading
from holdfast.room import units
from holdfast.settings import MOST_PARTS
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
    found = [_piece(compaction, "guidance", "", told, guidance.is_restore)]
    numbered = [(text, number) for text in whole if (number := reading.part_number(text))]
    promised = guidance.promised_parts(told[0]) if told else _counted(numbered)
    for part in range(1, promised + 1):
        texts = [text for text, number in numbered if number == (part, promised)]
        wanted = partial(_is_part, (part, promised))
        what, arguments = f"part {part} of {promised}", f" --part {part}"
        found.append(_piece(compaction, what, arguments, texts, wanted))
    return found


def _counted(numbered: Sequence[tuple[str, tuple[int, int]]]) -> int:
    """How many parts the parts themselves say that there are."""
    return min(max((of for _, (_, of) in numbered), default=0), MOST_PARTS)


def _is_part(number: tuple[int, int], text: str) -> bool:
    return reading.part_number(text) == number


def _piece(
    compaction: Compaction,
    what: str,
    arguments: str,
    texts: Sequence[str],
    wanted: Callable[[str], bool],
) -> Finding:
    """What became of the piece that the hook with *arguments* was to say."""
    if texts:
        holds = "; ".join(reading.labels(texts[0]))
        detail = f"{units(texts[0]):,} characters" + (f": {holds}" if holds else "")
        return _arrived(what, texts, detail)
    ours = [each for each in compaction.failures if each.command.endswith(f"hook{arguments}")]
    if ours:
        return Finding(what, "failed", f"{ours[0].command}: {ours[0].reason}")
    return Finding(what, "missing", _why_not(compaction, wanted))


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
