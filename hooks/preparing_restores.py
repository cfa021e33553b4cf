"""Prepares the answers around a compaction, which follow from workflows.

They are made once for now and once for a later moment: where both come out the same, they hold in between,
since what depends on the time (ages, "stale", a date beside an hour) changes once and does not change back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from holdfast import (
    compacting,
    compactions,
    counts,
    delivery,
    homes,
    hooklog,
    journal,
    ledger,
    restore,
    sessions,
    sync,
    transcribed,
)
from holdfast.clock import Clock
from holdfast.delivery import Delivery
from holdfast.formats.registry import format_of
from holdfast.handlers import pre_compact, reading_part, session_start
from holdfast.hooks import prepared, quick, standing
from holdfast.hooks.preparing import Answer, Answers, log_line
from holdfast.hooks.witness import Witness, watching
from holdfast.project import Surroundings
from holdfast.store import COPIES
from holdfast.sync import Synced
from holdfast.wire.agents.base import Agent
from holdfast.wire.replies import Restored


def prepare_status(here: Surroundings, session: str | None, clock: Clock, agent: Agent) -> None:
    """Prepare what the status line asks for."""
    kept, witness = Answers(here, session or "", clock, agent), _witness(here, session)
    with watching(witness):
        found = _same(*(_standing(_synced(here, session, Clock(at))) for at in kept.moments))
    if found:
        kept.answers["statusline"] = found[0]
        kept.keep(prepared.STATUS, witness)


def _witness(here: Surroundings, session: str | None) -> Witness:
    """Of the journals it only counts that there is none of this session, which would have to be folded."""
    own = dict([journal.place_of(here.state_dir, session)]) if session else {}
    return Witness(own, f"/{COPIES}")


def _synced(here: Surroundings, session: str | None, clock: Clock) -> Synced:
    return sync.run(here.cwd, session, here, clock, wait=None, saver="PreCompact")


def _standing(synced: Synced) -> list[Answer]:
    """In a list, since there may be none to tell."""
    chosen = synced.choice().chosen
    return [{"standing": list(vars(standing.told(chosen)).values()) if chosen else None}]


class _Told(NamedTuple):
    """What an event would be told at one moment, and what the log would say of it."""

    stdout: bytes
    decided: str
    why: list[str]


class _Start(NamedTuple):
    """What a SessionStart(compact) would be told, and what would be noted."""

    first: _Told
    again: bytes = b""  # the same once more: then no file has changed since the last restore
    delivered: bytes = b""
    parts: Sequence[bytes] = ()


def prepare(here: Surroundings, session: str | None, clock: Clock, agent: Agent) -> None:
    """Prepare what a compaction asks for, and the status line."""
    if sessions.left_alone(here.state_dir, session):
        return  # the log tells of it every time
    kept, witness = Answers(here, session or "", clock, agent), _witness(here, session)
    with watching(witness):
        now, later = (_synced(here, session, Clock(at)) for at in kept.moments)
        if _standing(now) == _standing(later):
            kept.answers["statusline"] = _standing(now)[0]
    kept.keep(prepared.STATUS, witness)
    kept.answers.clear()
    if now.due or later.due or now.failure:
        return
    held = _held(here, session)
    before = delivery.recall(here.state_dir, session)
    with watching(witness):
        note = _same(_note(kept, now), _note(kept, later))
        start = _same(_start(kept, now, before), _start(kept, later, before))
    if note:
        kept.answers["PreCompact"] = _answer(kept, here, now, "PreCompact", note)
        if now.claim and now.place.settings.enabled:
            heard = sessions.heard_in(here.state_dir or "", now.claim.session)
            kept.answers["PreCompact"]["heard"] = heard
        if now.takes.transcript:
            path = transcribed.followed(here.state_dir, session)
            kept.answers["PreCompact"]["transcript"] = path
    if start and _held(here, session) == held:
        _restore(kept, here, now, start, held)
    kept.keep(prepared.COMPACTION, witness)


def _same(one: Any, other: Any) -> Any:
    return one if one == other else None


def _held(here: Surroundings, session: str | None) -> bytes | None:
    """What is noted of the last restore, as it stands."""
    return quick.read(delivery.path_of(here.state_dir or "", session)) if session else None


def _answer(kept: Answers, here: Surroundings, synced: Synced, event: str, told: _Told) -> Answer:
    entry = hooklog.Entry()
    entry.event, entry.decided, entry.why = event, told.decided, list(told.why)
    answer = {"text": kept.text(told.stdout), "log": log_line(here, entry, synced.root, kept.agent)}
    if synced.takes.notes_begun and synced.session and here.state_dir:
        answer["compacting"] = [
            homes.compacting(here.state_dir, synced.session),
            compacting.BEGUN.decode(),
        ]
    return answer


def _note(kept: Answers, synced: Synced) -> _Told | None:
    """What a PreCompact is told with nothing to save; None where the full path has more to note."""
    entry = hooklog.Entry()
    entry.why += synced.notes
    if not synced.place.settings.enabled:
        return _Told(b"", pre_compact.OFF, entry.why)
    choice = synced.choice()
    if choice.chosen and (pre_compact.is_to_take(synced) or pre_compact.is_to_note(synced)):
        return None
    reply = pre_compact.told(synced, choice, entry)
    return _Told(kept.said(reply, "PreCompact"), entry.decided, entry.why)


def _start(kept: Answers, synced: Synced, before: Delivery | None) -> _Start | None:
    """None where the full path has more to note than is noted of a prepared answer, or no start comes."""
    if synced.takes.prompted:
        return None
    choice = synced.choice()
    chosen = choice.chosen
    depth = restore.depth(synced, choice, "compact")
    if depth == "off" and chosen is None:
        return _Start(_Told(b"", session_start.off("compact"), synced.notes))
    if (
        chosen is None
        or depth != "full"
        or (synced.session and not synced.has(chosen))
        or format_of(chosen).notes_compactions
        or ledger.load(synced.place.store).untold
    ):
        return None
    plan = restore.reading_of(synced, chosen, "compact")

    def told(after: Delivery | None) -> tuple[_Told, Delivery]:
        entry = hooklog.Entry()
        entry.why += synced.notes
        reply, delivered = session_start.restoration(
            synced, choice, chosen, "compact", plan, after, synced.notes, entry
        )
        return _Told(kept.said(reply, "SessionStart"), entry.decided, entry.why), delivered

    first, delivered = told(before)
    again, _ = told(delivered)
    beside = [] if plan.inline else plan.parts
    parts = [kept.said(Restored(part), "SessionStart") for part in beside]
    return _Start(first, again.stdout, delivery.encoded(delivered), parts)


def _restore(
    kept: Answers, here: Surroundings, synced: Synced, start: _Start, held: bytes | None
) -> None:
    """Keep the answers to a SessionStart(compact) and to those that ask for its parts."""
    answer = _answer(kept, here, synced, "SessionStart", start.first)
    kept.answers[prepared.start("compact")] = answer
    kept.answers[prepared.start("compact", prepared.MORE)] = {}
    chosen = synced.choice().chosen
    if chosen is None:
        return
    for number, text in enumerate(start.parts, 1):
        what = reading_part.decided(number, len(start.parts), chosen.name)
        part = _answer(kept, here, synced, "SessionStart", _Told(text, what, []))
        kept.answers[prepared.start("compact", str(number))] = part
    if synced.place.user_folder:
        restored = compactions.restore_of(synced.place, chosen, synced.session)
        path = counts.path(synced.place.user_folder)
        answer["count"] = [path, counts.line_of(restored)]
    if synced.session:
        answer["delivery"] = delivery.path_of(here.state_dir or "", synced.session)
        answer["delivered"] = start.delivered.decode("utf-8", "surrogateescape")
        answer["by_delivery"] = {
            prepared.name_of(held): kept.text(start.first.stdout),
            prepared.name_of(start.delivered): kept.text(start.again),
        }
