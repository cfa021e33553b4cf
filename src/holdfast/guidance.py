"""A briefing as text under a budget: for the model, for the summariser and for the person.

Written as facts. The headings are those of the canonical document. The first 2,000 units stand
alone: workflow, phase, next action, reading. A list that does not fit says how much it leaves out.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from holdfast.briefing import Briefing, shown
from holdfast.capabilities import USUAL
from holdfast.plaintext import NOTE_LIMIT, fitted, one_line, shorten
from holdfast.reading import NOTHING_REQUIRED, Item, Plan, span
from holdfast.records import Record
from holdfast.room import Room, units
from holdfast.summary import LONGEST, REMINDER, Fact, text_of

HEAD = 2_000
_NAME = 200
_ITEM = LONGEST

_ARRIVALS = {
    "compact": "Workflow restored after the compaction",
    "resume": "Workflow taken up again with the resumed session",
    "fork": "Workflow carried over into the forked session",
    "now": "Workflow as it stands",
}


class Situation(Record):
    """What guidance tells beside the briefing itself."""

    arrival: str  # compact, resume, fork, or "now" for a preview
    plan: Plan = NOTHING_REQUIRED  # the required reading
    changed: Collection[str] = ()  # real paths of files that changed since the last restore
    observed: Sequence[str] = ()  # what hooks saw the session do, one line each
    others: Sequence[str] = ()  # one line each
    root: str = ""  # the project's, where it is not the one around the working directory
    remarks: Sequence[str] = ()  # what went wrong with the state, in one line each
    lost: Sequence[Fact] = ()  # what the summary that was checked last did not keep
    room: Room = USUAL.room  # of all that is said here


def for_model(briefing: Briefing, situation: Situation) -> str:
    """The guidance, within the room that there is."""
    room = situation.room
    head = _head(briefing, situation.arrival) + _lost_line(briefing, situation.lost)
    reading = [_reading_line(item, situation) for item in situation.plan.items]
    first, left = _reading_section(reading, room.of(HEAD - room.taken(head) - 2))
    head = f"{head}\n\n{first}" if first else head
    tail = _action(briefing, situation)
    lost, kept = _by_loss(briefing, situation.lost)
    sections = [
        ("## REQUIRED READING, continued", left),
        # What was lost has a section of its own: it comes first and has a share of its own.
        ("## Key reminders that the summary did not keep", _items(lost)),
        ("## Key reminders", _items(kept)),
        ("## Context", [_context_line(*each) for each in briefing.context]),
        ("## Observed (noted by hooks, not stated by anyone)", _items(situation.observed)),
        ("## Other workflows here", [f"- {one_line(each, 300)}" for each in situation.others]),
    ]
    body = _fit(sections, room.of(room.most - room.taken(head) - room.taken(tail) - 4))
    return fitted("\n\n".join([head, *body, tail]), room)


def is_restore(text: str) -> bool:
    """Whether *text* is the guidance after a compaction."""
    return text.startswith(f"# {_ARRIVALS['compact']}: ")


def promised_parts(text: str) -> int:
    """How many parts of the reading the guidance *text* says come beside it."""
    # The last such line is the section's own; what a workflow says is never more than one line.
    section = text.rpartition("\n## ACTION REQUIRED\n")[2]
    found = re.search(r"^1\. .* comes beside this, in (one|\d{1,3}) parts? labelled", section)
    return (1 if found[1] == "one" else int(found[1])) if found else 0


def _head(briefing: Briefing, arrival: str) -> str:
    name = one_line(briefing.name, _NAME)
    lines = [
        f"# {_ARRIVALS.get(arrival, _ARRIVALS['now'])}: {name}",
        "",
        (
            f'The workflow "{name}" (type {one_line(briefing.kind, 40)}) is in '
            f"{_place(briefing, ': ')}. Status: {briefing.status.replace('_', ' ')}."
        ),
    ]
    if briefing.next_action:
        lines.append(f"Next action: {one_line(briefing.next_action, 300)}")
    if briefing.gate:
        lines.append(f"Gate of this phase: {one_line(briefing.gate, 250)}")
    return "\n".join(lines)


def _lost_line(briefing: Briefing, lost: Sequence[Fact]) -> str:
    """What the summary left out, in a line of its own; it may be another one than the newest."""
    parts = [f"the {fact.label}" for fact in lost if fact.label != REMINDER]
    reminders, _ = _by_loss(briefing, lost)
    if reminders:
        total = len(briefing.reminders)
        plural = "s" if total > 1 else ""
        parts.append(f"{len(reminders)} of {total} reminder{plural} (marked below)")
    line = f"\nThe last summary that was checked did not keep: {'; '.join(parts)}."
    return line if parts else ""


def _by_loss(briefing: Briefing, lost: Sequence[Fact]) -> tuple[list[str], list[str]]:
    """The reminders that the summary did not keep, and the others."""
    gone = {fact.text for fact in lost if fact.label == REMINDER}
    first = [each for each in briefing.reminders if text_of(each) in gone]
    return first, [each for each in briefing.reminders if text_of(each) not in gone]


def _items(texts: Sequence[str]) -> list[str]:
    return [f"- {one_line(each, _ITEM)}" for each in texts]


def _place(briefing: Briefing, before: str, after: str = "") -> str:
    """In which phase the work is; its title stands between *before* and *after*."""
    if briefing.phase_trouble:
        return f"a phase that is not known ({one_line(briefing.phase_trouble, _NAME)})"
    return f"phase {briefing.phase} of {briefing.phases}{_titled(briefing, before, after)}"


def _titled(briefing: Briefing, before: str, after: str = "") -> str:
    title = one_line(briefing.phase_title, _NAME)
    return f"{before}{title}{after}" if title else ""


def _reading_line(item: Item, situation: Situation) -> str:
    line = f"@{one_line(item.path, 400)}"
    facts = []
    if item.parts:
        facts.append(f"sent, {span(item.parts)}, version {item.version}")
    elif item.trouble:
        facts.append(f"not sent: {item.trouble}" if situation.plan.parts else item.trouble)
    if item.real in situation.changed:
        facts.append("changed since the last restore")
    return f"{line} ({'; '.join(facts)})" if facts else line


def _reading_section(lines: Sequence[str], room: Room) -> tuple[str, list[str]]:
    """The reading that fits the head, and the rest, which comes further down."""
    if not lines:
        return "", []
    heading = "## REQUIRED READING"
    more = "… {} more below"
    kept: list[str] = []
    left = room.most - room.taken(heading) - room.taken(more) - 4
    for line in lines:
        left -= room.taken(line) + 1
        if left < 0:
            break
        kept.append(line)
    rest = list(lines[len(kept) :])
    shown = [*kept, more.format(len(rest))] if rest else kept
    return "\n".join([heading, *shown]), rest


def _context_line(key: str, value: object) -> str:
    return f"- {one_line(key, 100)}: {one_line(shown(value), _ITEM)}"


def _action(briefing: Briefing, situation: Situation) -> str:
    lines = ["## ACTION REQUIRED"]
    steps = []
    steps += _reading_steps(situation.plan)
    if briefing.status == "blocked":
        steps.append("The phase is blocked; what blocks it comes first.")
    if briefing.phase_trouble:
        steps.append(
            "Which phase the work is in is to be found out before it continues; "
            "`holdfast phase set N --total M` notes it."
        )
    else:
        place = _place(briefing, ", ")
        steps.append(f"The work continues in {place}; nothing before it is to be done again.")
    steps.append(f"The saved state counts where the summary says otherwise.{_commands(briefing)}")
    lines += [f"{number}. {step}" for number, step in enumerate(steps, 1)]
    if briefing.state_path:
        lines.append(f"State file: {one_line(briefing.state_path, 400)}")
    if situation.root:
        lines.append(f"All paths are relative to the project {one_line(situation.root, 400)}")
    lines += [f"Note: {one_line(each, 300)}" for each in situation.remarks[:5]]
    return "\n".join(lines)


def _commands(briefing: Briefing) -> str:
    if not briefing.kept_with:
        return ""
    kept = ", ".join(f"`{each}`" for each in briefing.kept_with)
    return f" It is kept current with {kept}, and ended with `{briefing.ended_with}`."


def _reading_steps(plan: Plan) -> list[str]:
    """What is left to do about the required reading."""
    steps = []
    if plan.parts:
        steps.append(
            f"The text of the files marked as sent comes {_where(plan)}, in {_parts(plan)}. A file whose "
            "part is missing here, or is of another version, was not delivered whole and is to be "
            "read from disk."
        )
    unread = [f"@{one_line(item.path, 200)}" for item in plan.items if item.can_be_opened]
    if unread:
        more = len(unread) - _UNREAD
        named = ", ".join(unread[:_UNREAD]) + (f" and {more} more" if more > 0 else "")
        steps.append(
            f"Still to be read from disk: {named}. These carry details that a summary does not; "
            "reading them comes before the next change."
        )
    return steps


_UNREAD = 5  # files that are named a second time


def _where(plan: Plan) -> str:
    return "at the end of this" if plan.inline else "beside this"


def _parts(plan: Plan) -> str:
    count = len(plan.parts)
    if count == 1:
        return 'one part labelled "reading 1 of 1"'
    return f'{count} parts labelled "reading 1 of {count}" and so on'


def _fit(sections: Sequence[tuple[str, list[str]]], room: Room) -> list[str]:
    """Every section, each list as long as its fair share of *room* allows.

    The shortest sections are served first, so that what they do not need goes to the longer ones.
    """
    wanted = [(heading, lines) for heading, lines in sections if lines]
    chosen: dict[str, str] = {}
    left = room.most

    def length(section: tuple[str, list[str]]) -> int:
        return sum(room.taken(line) + 1 for line in section[1])

    for count, (heading, lines) in enumerate(sorted(wanted, key=length)):
        text = _listed(heading, lines, room.of(left // (len(wanted) - count) - 2))
        chosen[heading] = text
        left -= room.taken(text) + 2
    return [chosen[heading] for heading, _ in wanted]


def _listed(heading: str, lines: list[str], room: Room) -> str:
    left = room.most - room.taken(heading)
    kept: list[str] = []
    for index, line in enumerate(lines):
        rest = len(lines) - index - 1
        reserve = room.taken(_more(rest)) + 1 if rest else 0
        if room.taken(line) + 1 + reserve > left:
            return "\n".join([heading, *kept, _more(len(lines) - index)])
        kept.append(line)
        left -= room.taken(line) + 1
    return "\n".join([heading, *kept])


def _more(count: int) -> str:
    return f"… {count} more: holdfast show"


def for_summariser(briefing: Briefing, lost: Sequence[Fact] = ()) -> str:
    """Plain text that tells the summariser what to keep word for word; first what it *lost* before."""
    first, others = _by_loss(briefing, lost)
    name = one_line(briefing.name, 120)
    parts = [
        (
            f'Keep word for word: the workflow "{name}" is in {_place(briefing, " (", ")")}, '
            f"status {briefing.status.replace('_', ' ')}."
        )
    ]
    if briefing.next_action:
        parts.append(f"Next action: {one_line(briefing.next_action, 160)}.")
    if briefing.gate:
        parts.append(f"Gate: {one_line(briefing.gate, 100)}.")
    for label, items in (
        ("Reminders", [*first, *others]),
        ("Required reading", briefing.reading),
    ):
        room = NOTE_LIMIT - units(" ".join(parts)) - len(label) - 24
        kept = _as_many(items, room)
        if kept:
            more = len(items) - len(kept)
            tail = f"; {more} more saved" if more else ""
            parts.append(f"{label}: {'; '.join(kept)}{tail}.")
    return shorten(" ".join(parts), NOTE_LIMIT)


def _as_many(items: Sequence[str], room: int) -> list[str]:
    kept = []
    for item in items:
        text = one_line(item, 160)
        room -= units(text) + 2
        if room < 0:
            break
        kept.append(text)
    return kept


def reminder(workflow: str, unread: Sequence[str]) -> str:
    """For the model, once, before its first change: what it has not opened yet."""
    return (
        f'Required reading of the workflow "{one_line(workflow, _NAME)}" that was not sent and '
        f"has not been opened in this session:\n{_unread(unread)}\n"
        f"It carries details that a summary does not. {_EXCUSE}"
    )


def denial(workflow: str, unread: Sequence[str]) -> str:
    """For the model, in place of its change: what is to be opened before."""
    return (
        f'The workflow "{one_line(workflow, _NAME)}" requires these files to be opened with Read before '
        f"the next change; their text was not sent:\n{_unread(unread)}\n"
        f"After that the same call goes through. {_EXCUSE}"
    )


def guarded(path: str, commands: str, *, subagent: bool) -> str:
    """For the model, in place of its edit of a state file: how the state is kept instead."""
    way = (
        "Report what is to be noted to the agent that called you; it keeps the state."
        if subagent
        else f"Use them instead: `{commands} --help`."
    )
    return f"{one_line(path, 400)} is a state file, and kept by the commands of `{commands}`. {way}"


_EXCUSE = "`holdfast read --excuse @path` lets one pass that need not be read."


def _unread(paths: Sequence[str]) -> str:
    lines = [f"@{one_line(path, 400)}" for path in paths]
    more = len(lines) - _SHOWN
    return "\n".join(lines[:_SHOWN] + ([f"… {more} more: holdfast show"] if more > 0 else []))


_SHOWN = 20


def for_person(briefing: Briefing, verb: str) -> str:
    """One line: which workflow, and where it stands."""
    line = f"Workflow {verb}: {one_line(briefing.name, 120)}, {briefing.where}"
    line += _titled(briefing, " (", ")")
    if briefing.status != "in_progress":
        line = f"{line}, {briefing.status.replace('_', ' ')}"
    if briefing.next_action:
        return f"{line}. Next: {one_line(briefing.next_action, 160)}"
    return line


def in_one_line(briefing: Briefing) -> str:
    """For the model at the start of a session: that there is one, and how to take it up."""
    stopped = briefing.next_action if briefing.status == "stopped" else None
    return (
        f'The workflow "{one_line(briefing.name, _NAME)}" is kept in this project, in '
        f"{_place(briefing, ' (', ')')}. {f'{one_line(stopped, 300)}. ' if stopped else ''}"
        "`holdfast resume` prints where it stands and takes it up in this session."
    )
