"""The fast tier: prints an answer that was prepared, and adds its lines to the logs.

It exists for speed alone. An agent starts a hook before and after every tool call; the full path, which loads pydantic,
takes ten times as long as an interpreter that starts. The price is one rule that is written here a second time, which
event is answered from which set; `tests/hooks/test_prepared_equals_full.py` compares both paths. What else is asked on
both paths (what is still to be opened, what the log says of a run) is asked of the same functions. Where anything is
doubtful, the full path answers. Light; see `hooks.launch`.
"""

from __future__ import annotations

import contextlib
import os
import time

from holdfast.answers import parts, prepared
from holdfast.answers.prepared import Shelf
from holdfast.config import homes
from holdfast.files import ownjson
from holdfast.handlers import PROMPT
from holdfast.records import sessionlog

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.agents.request import Request
    from holdfast.answers.prepared import Answer

# A subagent gets no reply to these, whatever its caller would get.
_FOR_THE_CALLER = {"PreCompact", "SessionStart", "PostCompact"}


def answer(request: Request) -> bytes | None:
    """What to print; None where the full path has to be taken."""
    state_dir = homes.for_state(os.environ)
    odd = request.problem or request.note or request.part or request.later
    if odd or not state_dir or not request.name or not prepared.is_supported():
        return None
    try:
        return _Answering(request, state_dir).answer()
    except Exception:  # noqa: BLE001  # whatever is wrong here, the full path knows how to tell it
        return None


class _Answering:
    def __init__(self, request: Request, state_dir: str) -> None:
        self.begun = time.perf_counter()
        self.request = request
        self.state_dir = state_dir

    def answer(self) -> bytes | None:
        request = self.request
        if request.name == PROMPT and request.agent.capabilities.prompted:
            from holdfast.agents import late

            log = sessionlog.content(self.state_dir, request.session)
            if request.agent_id or not request.session:
                return b""
            if late.nothing_due(log, request.transcript, request.agent.capabilities):
                return b""
        if request.name in {"PreToolUse", "PostToolUse"} and self._is_let_go():
            return b""
        said = self._of_session()
        if request.agent_id and request.name in _FOR_THE_CALLER:
            return said
        if said is not None or sessionlog.is_known(self.state_dir, request.session):
            return said
        if request.name == "PostToolUse" and request.text("permission_mode") == "plan":
            return None  # it may have written a plan that lies elsewhere
        return self._printed("", prepared.IDLE)

    def _of_session(self) -> bytes | None:
        """The answer that was prepared for this session."""
        request = self.request
        if request.agent_id or not request.session:
            return None
        if request.name == "PreCompact":
            return self._printed(request.session, prepared.NOTE)
        if request.name != "SessionStart" or request.source != "compact":
            return None
        if request.agent.capabilities.starts_twice:
            from holdfast.agents import late

            log = sessionlog.content(self.state_dir, request.session)
            if late.compaction_in(log) == "told":  # by a resume just before; see `late`, rule 2
                return None
        return self._printed(request.session, prepared.RESTORE)

    def _find(self, session: str, kind: str) -> dict[str, Answer] | None:
        request, started = self.request, os.environ.get("CLAUDE_PROJECT_DIR", "")
        return Shelf(
            self.state_dir, request.agent.name, session, request.cwd or os.getcwd(), started
        ).find(kind)

    def _printed(self, session: str, kind: str) -> bytes | None:
        found = self._find(session, kind)
        answer = found.get(self.request.name) if found else None
        if answer is None:
            return None
        transcript = self.request.transcript
        if answer.get("transcript", transcript) != transcript:
            return None
        delivered = answer.get("delivered")
        if delivered not in {None, sessionlog.delivered_id(self.state_dir, self.request.session)}:
            return None
        self._note(answer)
        said: str = answer.get("text", "")
        return said.encode()

    # Tool calls: the settings' part of the answer is prepared; the session's log says which files are still unopened.

    def _is_let_go(self) -> bool:
        """Whether a tool call certainly needs no reply and no note."""
        request = self.request
        is_read = request.text("tool_name") == "Read"
        found = self._find("", prepared.TOOLS) if is_read or request.name == "PreToolUse" else None
        if found is None:
            return False
        if request.agent_id or not request.session:
            return True  # what it was not sent, its caller has to read
        given = request.payload.get("tool_input")
        path = given.get("file_path") if isinstance(given, dict) else None
        if request.name == "PostToolUse" and isinstance(path, str) and path.endswith(".md"):
            from holdfast.files.inputs import ends_like

            if any(ends_like(path, pattern) for pattern in found["plans"]):
                return False  # a session that reads a plan may work on it
        lines = sessionlog.deliveries(self.state_dir, request.session)
        if not any(line.get("unread") for line in lines):
            return True
        from holdfast.restoring import delivery

        due = delivery.recall(self.state_dir, request.session)
        if due is None:
            return True
        if request.name == "PostToolUse":
            return isinstance(path, str) and not due.asked_for(
                os.path.join(request.cwd or os.getcwd(), path)
            )
        gate = found["gates"].get(due.root)  # None where another folder's settings decide
        return not due.left() or (gate is not None and due.is_over(*gate))

    def _note(self, answer: Answer) -> None:
        """Note what the full path would note. That a log cannot be written is no reason not to answer."""
        request = self.request
        if "log" in answer:
            # Loaded here: most answers are to tool calls, of which nothing is noted.
            from holdfast import clock
            from holdfast.records import hooklog

            moment = clock.Clock.from_environment().now()
            sessionlog.add_all(answer.get("lines", ()), clock.iso(moment))
        if request.name == "SessionStart":  # the hooks for parts wait for it
            with contextlib.suppress(OSError):
                parts.lay(self.state_dir, request.raw, *answer.get("parts", ([], "", [])))
        if "log" in answer:
            spent = (time.perf_counter() - self.begun) * 1000
            transcript = request.transcript if request.name == "SessionStart" else ""
            run = hooklog.of_run(moment, spent, request.source, request.session, transcript)
            path, record = answer["log"]
            hooklog.add(path, ownjson.encode({**record, **run, "prepared": True}))
