"""What a hook was asked, parsed once for the fast tier and the full path alike. Light; see `hooks.launch`."""

from __future__ import annotations

import os
import sys

from holdfast import agents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from holdfast.agents import Agent

_MOST_DIGITS = 9
LARGEST = 8 * 1024 * 1024  # bytes of hook input
_CHUNK = 1024 * 1024
_DRAINED = 256 * _CHUNK


def read_stdin() -> bytes:
    """All of stdin up to one byte over the limit; the rest is read and dropped.

    Leaving it unread would break the client's pipe.
    """
    kept: list[bytes] = []
    size = dropped = 0
    while sys.stdin is not None and (chunk := sys.stdin.buffer.read(_CHUNK)):
        room = LARGEST + 1 - size
        kept.append(chunk[:room])
        size += len(kept[-1])
        dropped += len(chunk) - len(kept[-1])
        if dropped > _DRAINED:
            break
    return b"".join(kept)


def write(stdout: bytes, stderr: bytes = b"", code: int = 0) -> int:
    """Print the bytes as they are, whatever the code page, and return the exit *code*."""
    try:
        for stream, data in ((sys.stdout, stdout), (sys.stderr, stderr)):
            if data and stream is not None:
                stream.buffer.write(data)
                stream.buffer.flush()
    except OSError:  # the client went away; the state is saved, and that is what counts
        os._exit(code)
    return code


def read_options(arguments: Sequence[str]) -> tuple[int, str, bool]:
    """Part of the reading, agent and whether it runs later, out of the *arguments* of `holdfast hook`.

    Each may stand there once, in any order; ValueError where they are none of ours. By hand, since a usage error of
    a parser would exit with 2 and block.
    """
    wrong = ValueError(f"the arguments of the hook are wrong: {' '.join(arguments)}")
    found: dict[str, str] = {}
    rest = list(arguments)
    while rest:
        name, is_joined, value = rest.pop(0).partition("=")
        if name == "--later":
            value = "" if is_joined else name
        elif not is_joined and rest:
            value = rest.pop(0)
        if name not in {"--part", "--agent", "--later"} or name in found or not value:
            raise wrong
        found[name] = value
    part = found.get("--part", "")
    if "--part" in found and not (part.isascii() and part.isdecimal() and int(part[:_MOST_DIGITS])):
        raise wrong
    return int(part[:_MOST_DIGITS] or 0), found.get("--agent", ""), "--later" in found


def parsed(raw: bytes) -> dict[str, Any]:
    """The JSON object in *raw*; ValueError where there is none that can be used."""
    # A hook for a part of the reading reads its options alone.
    import json  # noqa: PLC0415

    from holdfast.files.regular import INPUT_BRACKETS, exceeds_json_limit  # noqa: PLC0415

    if len(raw) > LARGEST:
        raise ValueError(f"the hook input is larger than {LARGEST} bytes")
    if exceeds_json_limit(raw, INPUT_BRACKETS):
        raise ValueError(f"the hook input has more than {INPUT_BRACKETS:,} objects and lists")
    if not raw.strip():
        raise ValueError("the hook input is empty")
    try:
        payload = json.loads(raw)
    except (ValueError, RecursionError) as error:  # ValueError: JSON and Unicode alike
        raise ValueError(f"the hook input is not JSON: {error}") from error
    if isinstance(payload, dict):
        return payload
    raise ValueError(f"the hook input is a JSON {type(payload).__name__}, not an object")


def is_path(text: str) -> bool:
    try:
        os.fsencode(text)
    except UnicodeEncodeError:  # a lone surrogate
        return False
    return True


class Request:
    """One event, and who asks. *problem* says why it cannot be answered at all, *note* what else there is to be told.

    Any field of the payload may be missing, or of another type than documented. It reads as empty then.
    """

    def __init__(self, raw: bytes, arguments: Sequence[str] = ()) -> None:
        self.raw = raw
        self.part = 0  # of the reading; 0 for the main hook
        self.later = False  # whether it is the bookkeeping of the event, beside the conversation
        self.agent: Agent = agents.named(agents.USUAL)
        self.payload: dict[str, Any] = {}  # in the shape of Claude Code's
        self.problem = self.note = ""
        try:
            self.part, name, self.later = read_options(arguments)
            payload = parsed(raw)
        except ValueError as error:
            self.problem = str(error)
        else:
            self.agent = self._asking(payload, name)
            self.payload = self.agent.given(payload)
        self.name = self.text("hook_event_name")
        self.session = self.text("session_id")
        self.cwd = self.path("cwd")
        self.agent_id = self.text("agent_id")  # the subagent that it comes from, or is about
        # Of a start, or of a compaction.
        self.source = self.text("source") or self.text("trigger")
        self.transcript = self.text("transcript_path")  # where the client writes the session down
        self.asked = self.text("timestamp")  # by the clock of the agent

    def _asking(self, payload: dict[str, Any], name: str) -> Agent:
        """Who asks; an unknown agent is told from what it has sent."""
        if name in agents.NAMES:
            return agents.named(name)
        found = agents.recognised(payload)
        if name:
            known = ", ".join(agents.NAMES)
            self.note = (
                f"the hook was registered for an agent that is not known ({name[:40]}; "
                f"there are {known}); it was answered as {found}"
            )
        return agents.named(found)

    def text(self, key: str) -> str:
        value = self.payload.get(key)
        return value if isinstance(value, str) and "\0" not in value else ""

    def path(self, key: str) -> str:
        text = self.text(key)
        return text if is_path(text) else ""

    def mapping(self, key: str) -> dict[str, Any]:
        value = self.payload.get(key)
        return value if isinstance(value, dict) else {}
