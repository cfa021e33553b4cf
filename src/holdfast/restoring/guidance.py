"""A briefing as text under a budget: for the model, for the summariser and for the person.

Written as facts. The headings are those of the canonical document. The first 2,000 units stand
alone: workflow, phase, next action, reading. A list that does not fit says how much it leaves out.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from holdfast.config.capabilities import USUAL
from holdfast.formats.engine.workflow import Briefing, as_text
from holdfast.patterns import pattern
from holdfast.restoring.reading import FOLDER, MISSING, OUTSIDE, Item, Reading, span
from holdfast.restoring.summary import LONGEST, REMINDER, Fact, text_of
from holdfast.text.plaintext import NOTE_LIMIT, counted, fitted, listed, one_line, shorten
from holdfast.text.room import Room, units

HEAD = 2_000
_NAME = 200
_ITEM = LONGEST
_NOTES = 5
_NAMED_AGAIN = 5  # files that are named a second time
_BLOCKED = (
    "The work is blocked and waits for a person, who may remove what blocks it "
    "or say how to go on without that."
)
_UNREAD = 20  # files that a reminder or a denial names
_MORE = "… {} more: holdfast show"
_SENT = "The text of the files marked as sent comes"
_PROMISE = pattern(rf"^3\. {_SENT} beside this, in (one|\d{{1,3}}) parts? labelled", re.MULTILINE)
_EXCUSE = "`holdfast read --excuse @path` excuses a file that need not be read."

_ARRIVALS = {
    "compact": "Workflow restored after the compaction",
    "resume": "Workflow continued in the resumed session",
    "fork": "Workflow carried over into the forked session",
    "now": "Workflow as it stands",
}


class Situation(NamedTuple):
    """What guidance contains besides the briefing."""

    arrival: str  # compact, resume, fork, or "now" for a preview
    plan: Reading = Reading((), ())  # the required reading
    changed: Collection[str] = ()  # real paths of files that changed since the last restore
    observed: Sequence[str] = ()  # what hooks saw the session do, one line each
    others: Sequence[str] = ()  # one line each
    root: str = ""  # the project's, where it is not the one around the working directory
    remarks: Sequence[str] = ()  # problems with the state, one line each
    lost: Sequence[Fact] = ()  # facts that the last checked summary lost
    room: Room = USUAL.room  # of all that is said here


def for_model(briefing: Briefing, situation: Situation) -> str:
    """The guidance, within its budget."""
    room = situation.room
    lost, kept = _by_loss(briefing, situation.lost)
    head = _head(briefing, situation, len(lost))
    reading = [_reading_line(item, situation) for item in situation.plan.items]
    if reading:
        first = room.resized(HEAD - room.taken(head) - 2)
        section, count = _listed("## REQUIRED READING", reading, first, "… {} more below")
        head, reading = f"{head}\n\n{section}", reading[count:]
    tail = _action(briefing, situation)
    sections = [
        ("## REQUIRED READING, continued", reading),
        # What was lost has a section of its own: it comes first and has a share of its own.
        ("## Key reminders that the summary did not keep", _items(lost)),
        ("## Key reminders", _items(kept)),
        ("## Context", _context(briefing)),
        ("## Observed (noted by hooks, not stated by anyone)", _items(situation.observed)),
        ("## Other workflows here", _items(situation.others, 300)),
    ]
    body = _fit(sections, room.resized(room.most - room.taken(head) - room.taken(tail) - 4))
    return fitted("\n\n".join([head, *body, tail]), room)


def is_restore(text: str) -> bool:
    """Whether *text* is the guidance after a compaction."""
    return text.startswith(f"# {_ARRIVALS['compact']}: ")


def promised_parts(text: str) -> int:
    """How many parts of the reading the guidance *text* announces."""
    # The last such line is the section's own; what a workflow says is never more than one line.
    section = text.rpartition("\n## ACTION REQUIRED\n")[2]
    found = _PROMISE.search(section)
    return (1 if found[1] == "one" else int(found[1])) if found else 0


def _head(briefing: Briefing, situation: Situation, reminders: int) -> str:
    """The workflow's status, and what the summary lost, including *reminders*."""
    name = one_line(briefing.name, _NAME)
    lines = [
        f"# {_ARRIVALS.get(situation.arrival, _ARRIVALS['now'])}: {name}",
        "",
        f'The workflow "{name}" (type {one_line(briefing.kind, 40)}) is {_stands(briefing)}.',
    ]
    if briefing.next_action:
        lines.append(f"Next action: {one_line(briefing.next_action, 300)}")
    if briefing.gate:
        lines.append(f"Gate of this phase: {one_line(briefing.gate, 250)}")
    lost = [f"the {fact.label}" for fact in situation.lost if fact.label != REMINDER]
    if reminders:
        total = counted(len(briefing.reminders), "reminder")
        lost.append(f"{reminders} of {total} (marked below)")
    if lost:  # it may not be the newest summary
        lines.append(f"The last summary that was checked did not keep: {'; '.join(lost)}.")
    return "\n".join(lines)


def _by_loss(briefing: Briefing, lost: Sequence[Fact]) -> tuple[list[str], list[str]]:
    """The reminders that the summary did not keep, and the others."""
    gone = {fact.text for fact in lost if fact.label == REMINDER}
    first = [reminder for reminder in briefing.reminders if text_of(reminder) in gone]
    return first, [reminder for reminder in briefing.reminders if text_of(reminder) not in gone]


def _items(texts: Sequence[str], limit: int = _ITEM) -> list[str]:
    return [f"- {one_line(text, limit)}" for text in texts]


def _place(briefing: Briefing) -> str:
    """The current phase."""
    if briefing.phase_trouble:
        return f"a phase that is not known ({one_line(briefing.phase_trouble, _NAME)})"
    title = one_line(briefing.phase_name, _NAME)
    return f"phase {briefing.phase} of {briefing.phases}{f': {title}' if title else ''}"


def _stands(briefing: Briefing) -> str:
    """In which phase the work is, and its status; without phases the status and the boxes."""
    status = briefing.status.replace("_", " ")
    if briefing.has_phases:
        return f"in {_place(briefing)}. Status: {status}"
    return ", ".join(filter(None, [status, briefing.boxes]))


def _reading_line(item: Item, situation: Situation) -> str:
    line, facts = f"@{one_line(item.path, 400)}", []
    if item.parts:
        facts.append(f"sent, {span(item.parts)}, version {item.version}")
    elif item.trouble:
        facts.append(f"not sent: {item.trouble}" if situation.plan.parts else item.trouble)
    if item.sections:
        facts.append(f"its section {one_line(', '.join(item.sections), 200)}")
    if item.real in situation.changed:
        facts.append("changed since the last restore")
    return f"{line} ({'; '.join(facts)})" if facts else line


def _context(briefing: Briefing) -> list[str]:
    context = ((one_line(key, 100), as_text(value)) for key, value in briefing.context)
    return [f"- {key}: {one_line(text, _ITEM)}" for key, text in context]


def _action(briefing: Briefing, situation: Situation) -> str:
    commands = ", ".join(f"`{command}`" for command in briefing.kept_with)
    steps = [
        _comes_next(briefing) or _continues(briefing),
        *_left_open(briefing),
        f'The first reply acknowledges this: "{acknowledgement(briefing)}".',
        *_reading_steps(situation.plan),
        f"Before the next change, the reply confirms {'the phase and ' * briefing.has_phases}the context.",
        (
            "Nothing is assumed. Where the summary says otherwise, the saved state counts; what "
            "neither says is looked up, or the person is asked."
        )
        + f" The state is kept current with {commands}, and ended with `{briefing.ended_with}`."
        * bool(commands),
    ]
    lines = ["## ACTION REQUIRED"]
    lines += [f"{number}. {step}" for number, step in enumerate(steps, 1)]
    if briefing.state_path:
        lines.append(f"State file: {one_line(briefing.state_path, 400)}")
    if situation.root:
        lines.append(f"All paths are relative to the project {one_line(situation.root, 400)}")
    return "\n".join([*lines, notes(situation.remarks)]).rstrip()


def notes(remarks: Sequence[str]) -> str:
    """Warnings about a workflow's state, restored or not, one line each."""
    lines = [one_line(remark, 300) for remark in remarks[:_NOTES]]
    lines += [f"{more} more: holdfast status"] if (more := len(remarks) - _NOTES) > 0 else []
    return "\n".join(f"Note: {line}" for line in lines)


def _continues(briefing: Briefing) -> str:
    where = f" in {_place(briefing)}" if briefing.has_phases else ""
    return f"The work continues{where}; what is done is not to be repeated."


def _left_open(briefing: Briefing) -> Iterator[str]:
    """The open boxes that the work went past."""
    if briefing.left_open:
        left = "; ".join(one_line(line, 600) for line in briefing.left_open[:_NOTES])
        yield f"Not done yet, though the work went past it: {left}. The person is asked when."


def _comes_next(briefing: Briefing) -> str:
    """The next step, if it is not to continue the phase; else empty."""
    if briefing.comes_next:
        return one_line(briefing.comes_next, 500)
    if briefing.phase_trouble:
        return (
            "The current phase is not known and has to be found out first; "
            "`holdfast phase set N --total M` records it."
        )
    return _BLOCKED if briefing.status == "blocked" else ""


def _reading_steps(plan: Reading) -> Iterator[str]:
    """The agent's remaining steps for the required reading."""
    count = len(plan.parts)
    if count:
        where = "at the end of this" if plan.inline else "beside this"
        parts = 'one part labelled "reading 1 of 1"'
        if count > 1:
            parts = f'{count} parts labelled "reading 1 of {count}" and so on'
        yield (
            f"{_SENT} {where}, in {parts}. A file whose "
            "part is missing here, or is of another version, was not delivered whole and has to be "
            "read from disk."
        )
    if named := _named_again([item for item in plan.items if item.can_be_opened]):
        why = "They contain details that a summary does not; reading them comes before the next change."
        yield f"Still to be read from disk: {named}. {why}"
    if named := _named_again([item for item in plan.items if item.trouble == MISSING]):
        yield f"Missing: {named}. It is looked for, or the person is asked."
    if named := _named_again([item for item in plan.items if item.trouble == FOLDER]):
        yield f"A folder: {named}. What this phase needs in it is read."
    if named := _named_again([item for item in plan.items if item.trouble == OUTSIDE]):
        yield f"Outside the project: {named}. It is read from disk if the person agrees."
    if named := _named_again([item for item in plan.items if item.cannot_be_shown]):
        yield f"Not text: {named}. The person is asked what is needed of it."
    if named := _named_again([item for item in plan.items if item.sections]):
        yield f"Required for the section that is named above: {named}."


def _named_again(items: Sequence[Item]) -> str:
    paths = [f"@{one_line(item.path, 200)}" for item in items]
    more = f" and {len(paths) - _NAMED_AGAIN} more" if len(paths) > _NAMED_AGAIN else ""
    return ", ".join(paths[:_NAMED_AGAIN]) + more


def _fit(sections: Sequence[tuple[str, list[str]]], room: Room) -> list[str]:
    """Every section, each list as long as its fair share of *room* allows.

    Room is given to the shortest sections first; the longer ones get what is left.
    """
    wanted = [(heading, lines) for heading, lines in sections if lines]
    shortest = sorted(wanted, key=lambda item: sum(room.taken(line) + 1 for line in item[1]))
    chosen, left = dict[str, str](), room.most
    for served, (heading, lines) in enumerate(shortest):
        share = room.resized(left // (len(wanted) - served) - 2)
        chosen[heading], _ = _listed(heading, lines, share, _MORE)
        left -= room.taken(chosen[heading]) + 2
    return [chosen[heading] for heading, _ in wanted]


def _listed(heading: str, lines: list[str], room: Room, more: str) -> tuple[str, int]:
    """The *lines* that fit, and their number; *more* counts the rest."""
    left = room.most - room.taken(heading)
    for at, line in enumerate(lines):
        rest = len(lines) - at - 1
        reserve = room.taken(more.format(rest)) + 1 if rest else 0
        if room.taken(line) + 1 + reserve > left:
            return "\n".join([heading, *lines[:at], more.format(rest + 1)]), at
        left -= room.taken(line) + 1
    return "\n".join([heading, *lines]), len(lines)


def for_summariser(briefing: Briefing, lost: Sequence[Fact] = ()) -> str:
    """Plain text that tells the summariser what to keep word for word; first what it *lost* before."""
    first, others = _by_loss(briefing, lost)
    name = one_line(briefing.name, 120)
    parts = [f'Keep word for word: the workflow "{name}" is {_stands(briefing)}.']
    if briefing.next_action:
        parts.append(f"Next action: {one_line(briefing.next_action, 160)}.")
    if briefing.gate:
        parts.append(f"Gate: {one_line(briefing.gate, 100)}.")
    for label, items in (("Reminders", [*first, *others]), ("Required reading", briefing.reading)):
        room = NOTE_LIMIT - units(" ".join(parts)) - len(label) - 24
        texts = [one_line(item, 160).rstrip(".") for item in items]  # a stop ends the list
        if texts:
            parts.append(f"{label}: {listed(texts, '; ', room, len(texts), 'more saved')}.")
    return shorten(" ".join(parts), NOTE_LIMIT)


def unread(workflow: str, paths: Sequence[str], *, denied: bool) -> str:
    """Has the model open the files at *paths*: it is reminded once, or its change is *denied* until then."""
    lines = [f"@{one_line(path, 400)}" for path in paths[:_UNREAD]]
    lines += [_MORE.format(more)] if (more := len(paths) - _UNREAD) > 0 else []
    named = "\n".join(lines)
    why = "They contain details that a summary does not."
    return (
        f'The workflow "{one_line(workflow, _NAME)}" requires these files to be opened with Read before '
        f"the next change; their text was not sent:\n{named}\n"
        f"{'After that the same call goes through.' if denied else why} {_EXCUSE}"
    )


def guarded(path: str, commands: str, *, subagent: bool) -> str:
    """For the model, when its edit of a state file is denied: the commands that change the state."""
    kept = f"{one_line(path, 400)} is a state file that is kept by the commands of `{commands}`."
    if subagent:
        return f"{kept} Report any change to the agent that called you; it keeps the state."
    return f"{kept} Use them instead: `{commands} --help`."


def acknowledgement(briefing: Briefing, verb: str = "restored") -> str:
    """In the canonical document's words: which workflow is back, and in which phase."""
    phase = f", Phase {briefing.count}" if briefing.has_phases else ""
    return f"✅ Workflow {verb}: {one_line(briefing.name, 120)}{phase}"


def for_person(briefing: Briefing, verb: str, opening: str = "") -> str:
    """One line: the workflow and its status; *opening* replaces the first part."""
    line = opening or f"Workflow {verb}: {one_line(briefing.name, 120)}, {briefing.where}"
    title = one_line(briefing.phase_name, _NAME)
    line += f" ({title})" if title else ""
    if briefing.status != "in_progress" and (briefing.has_phases or opening):
        line = f"{line}, {briefing.status.replace('_', ' ')}"
    line += f". {briefing.boxes}" if briefing.boxes else ""
    if briefing.next_action:
        return f"{line}. Next: {one_line(briefing.next_action, 160)}"
    return line


def at_a_glance(briefing: Briefing, others: int) -> str:
    """For the person at the start of a session: where it stands, what is next, how many *others* there are."""
    facts = [f"{one_line(briefing.name, 120)} {briefing.count}".rstrip()]
    if briefing.boxes:
        facts.append(briefing.boxes)
    if briefing.status != "in_progress":
        facts.append(briefing.status.replace("_", " "))
    if briefing.next_action:
        facts.append(f"next: {one_line(briefing.next_action, 160)}")
    if others:
        facts.append(counted(others, "other"))
    return " · ".join(facts)


def in_one_line(briefing: Briefing) -> str:
    """For the model at a session's start: the workflow exists, and how to resume it."""
    comes_next = f"{said} " if (said := _comes_next(briefing)) else ""
    where = f", in {_place(briefing)}" if briefing.has_phases else ""
    return (
        f'The workflow "{one_line(briefing.name, _NAME)}" is kept in this project{where}. '
        f"{comes_next}"
        "`holdfast resume` prints where it stands and continues it in this session."
    )
