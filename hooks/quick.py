"""The answer to an event out of what was prepared, with what a hook has to note all the same.

What is noted is what the full path would note, and it only adds: lines to logs, and the time at which a
session was heard of. Light; see `launch`.
"""

from __future__ import annotations

import os
import time

from holdfast import homes, pipes
from holdfast.appending import append
from holdfast.handlers import HANDLERS, PROMPT
from holdfast.hooks import options, prepared, quickjson
from holdfast.wire import agents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.hooks.prepared import Answer, Found


def answer(raw: bytes, arguments: Sequence[str]) -> bytes | None:
    """What to print; None where the full path has to be taken."""
    if len(raw) > pipes.LARGEST or pipes.holds_too_much(raw) or not is_supported():
        return None
    try:
        asked = Asked(raw, arguments)
        return _answer(asked) if asked.name and asked.state_dir else None
    except Exception:  # noqa: BLE001  # whatever is wrong here, the full path knows how to tell it
        return None


class Asked:
    """An event, as far as it decides which answer it gets."""

    def __init__(self, raw: bytes, arguments: Sequence[str]) -> None:
        self.begun = time.perf_counter()
        wanted = options.read(arguments)
        payload = _mapping(quickjson.loads(raw))
        self.by = agents.named(wanted.agent or agents.recognised(payload))
        self.payload = self.by.given(payload)
        self.name = self.text("hook_event_name") or ""
        self.session = self.text("session_id") or ""
        self.source = self.text("source") or self.text("trigger") or ""
        self.agent = self.text("agent_id")
        self.cwd = self.text("cwd") or os.getcwd()
        self.part = str(wanted.part or "")
        self.state_dir = homes.for_state(os.environ) or ""
        self.now = now()

    @property
    def at(self) -> str:
        """The time as records have it; see `clock.iso`."""
        seconds, rest = divmod(self.now, 1_000_000_000)
        return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{rest // 1000:06}Z"

    @property
    def is_prompt(self) -> bool:
        """Whether it is one with which something may have to be told."""
        return self.name == PROMPT and self.by.takes.prompted and not self.part

    def text(self, key: str) -> str | None:
        value = self.payload.get(key)
        return value if isinstance(value, str) and value and "\0" not in value else None


def is_supported() -> bool:
    """Whether marks tell every change: on Windows no time is kept that nobody can set.

    And what `simulate` plays is looked at anew each time, since it is to leave no trace.
    """
    return hasattr(os, "geteuid") and not os.environ.get("HOLDFAST_PLAYED")


def now() -> int:
    """The time in nanoseconds, as `Clock.from_environment` has it."""
    fixed = os.environ.get("HOLDFAST_NOW")
    if not fixed:
        return time.time_ns()
    from holdfast import clock  # only where somebody plays with the time

    moment = clock.parse(fixed)
    return time.time_ns() if moment is None else round(moment.timestamp() * 1_000_000) * 1000


def _mapping(value: object) -> Answer:
    return value if isinstance(value, dict) else {}


def _answer(asked: Asked) -> bytes | None:
    if asked.is_prompt:
        from holdfast.hooks import prompts

        if prompts.nothing_due(asked):
            return b""
    found = _of_session(asked) or _of_place(asked)
    if found is None:
        return None
    kept, answer = found
    if answer.get("transcript", asked.text("transcript_path")) != asked.text("transcript_path"):
        return None
    if not _is_untold(answer):
        return None
    texts = answer.get("by_delivery")
    delivered = None
    if isinstance(texts, dict):
        delivered = read(answer["delivery"])
        answer = {**answer, "text": texts.get(prepared.name_of(delivered))}
        if answer["text"] is None:
            return None
    said = kept.text(answer)
    if said is not None:
        _note(asked, answer, delivered)
    return said


def _is_untold(answer: Answer) -> bool:
    """Whether the session was surely not told just before; see `compacting`, whose record it is."""
    if "compacting" not in answer:
        return True
    path, begun = answer["compacting"]
    return read(path) in {None, begun.encode()}


def _of_session(asked: Asked) -> tuple[Found, Answer] | None:
    """What was prepared for this session."""
    if asked.agent and asked.name != "PreToolUse":
        return None
    name = asked.name
    if name in {"PreCompact", "SessionStart"}:
        kind = prepared.COMPACTION
        if name == "SessionStart":
            name = prepared.start(asked.source, asked.part)
    elif name == "PreToolUse" or (name == "PostToolUse" and asked.text("tool_name") == "Read"):
        kind = prepared.TOOLS
    else:
        return None
    return _look(asked, asked.session, kind, name)


def _of_place(asked: Asked) -> tuple[Found, Answer] | None:
    """What was prepared for whoever works in this folder."""
    ours = asked.name in HANDLERS or asked.is_prompt
    if not ours or (asked.part and asked.name != "SessionStart"):
        return _look(asked, "", prepared.STRAY, asked.name)
    if is_known(asked.state_dir, asked.session) or (asked.agent and asked.name in _FOR_THE_CALLER):
        return None
    name = "part" if asked.part else asked.name
    return _look(asked, "", prepared.IDLE, name)


# Of these a subagent is told nothing, whatever its caller would be told.
_FOR_THE_CALLER = {"PreCompact", "SessionStart", "PostCompact"}


def is_known(state_dir: str, session: str) -> bool:
    """Whether there is a record of *session*; see `sessions.known`."""
    return bool(session) and os.path.exists(homes.file_of(state_dir, "sessions", session, "json"))


def _look(asked: Asked, session: str, kind: str, name: str) -> tuple[Found, Answer] | None:
    started = os.environ.get("CLAUDE_PROJECT_DIR", "")
    folder = prepared.folder(asked.state_dir, asked.by.name, session, asked.cwd, started)
    kept = prepared.find(folder, kind, asked.now)
    answer = kept.get(name) if kept else None
    if kept and answer is None and asked.part:
        answer = kept.get(prepared.start(asked.source, prepared.MORE))
    return (kept, answer) if kept and answer is not None else None


def _note(asked: Asked, answer: Answer, delivered: bytes | None) -> None:
    """What the full path would note; that something cannot be noted is no reason not to answer."""
    for step in (_begin, _heard, _deliver, _count, _log):
        try:
            step(asked, answer, delivered)
        except OSError:
            continue


def _begin(asked: Asked, answer: Answer, _: bytes | None) -> None:
    """A compaction begins, or a start comes after it; the parts beside that change nothing."""
    if "compacting" not in answer or asked.part:
        return
    path, begun = answer["compacting"]
    is_noted = os.path.lexists(path)
    if asked.name == "PreCompact" and is_noted:
        os.utime(path)  # when it has begun
    elif asked.name == "PreCompact":
        _put(path, begun)
    elif is_noted:
        os.unlink(path)


def _heard(asked: Asked, answer: Answer, _: bytes | None) -> None:
    """The session was heard of."""
    if "heard" in answer:
        homes.note_heard(answer["heard"], asked.now)


def _deliver(_: Asked, answer: Answer, delivered: bytes | None) -> None:
    """What was sent, for the hooks of tool calls."""
    if "by_delivery" not in answer or delivered == answer["delivered"].encode():
        return
    _put(answer["delivery"], answer["delivered"])


def _put(path: str, text: str) -> None:
    from holdfast.atomic import replace_file
    from holdfast.openflags import make_private

    make_private(os.path.dirname(path))
    replace_file(path, text.encode(), mode=0o600)


def _count(asked: Asked, answer: Answer, _: bytes | None) -> None:
    """A compaction that was restored from."""
    if "count" in answer:
        path, line = answer["count"]
        append(path, _encoded({**line, "at": asked.at}))


def _log(asked: Asked, answer: Answer, _: bytes | None) -> None:
    if "log" not in answer:
        return
    path, record, most = answer["log"]
    record |= {"at": asked.at, "source": asked.source[:100], "session": asked.session[:100]}
    record["ms"] = round((time.perf_counter() - asked.begun) * 1000, 1)
    record["prepared"] = True
    if asked.name == "SessionStart" and not asked.part:
        record["transcript"] = (asked.text("transcript_path") or "")[:1000]
    if append(path, _encoded(record)) > most:
        from holdfast import hooklog

        hooklog.rotate(path)


def _encoded(record: Answer) -> bytes:
    return quickjson.dumps(record).encode("utf-8", "replace") + b"\n"


def read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as stream:
            return stream.read()
    except OSError:
        return None
