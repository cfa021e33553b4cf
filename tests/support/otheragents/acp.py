"""Sessions over the Agent Client Protocol, with which editors drive agents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from otheragents.jsonrpc import Peer


class AcpSession:
    def __init__(self, peer: Peer, identity: str, compacting: str) -> None:
        self._peer = peer
        self._compacting = compacting
        self.id = identity
        self.printed = peer.heard

    def say(self, text: str) -> None:
        prompt = [{"type": "text", "text": text}]
        self._peer.ask("session/prompt", sessionId=self.id, prompt=prompt)

    def compact(self) -> None:
        self.say(self._compacting)


@contextmanager
def session(
    command: Sequence[str],
    project: Path,
    env: Mapping[str, str],
    *,
    compacting: str,
    resume: str = "",
    mode: str = "",
) -> Iterator[AcpSession]:
    """*compacting* is what a person types to compact; *mode* is one in which tools just run."""
    with Peer(command, project, dict(env), _allowed) as peer:
        peer.ask("initialize", protocolVersion=1, clientCapabilities={})
        place: dict[str, Any] = {"cwd": str(project), "mcpServers": []}
        if resume:
            peer.ask("session/load", sessionId=resume, **place)
            identity = resume
        else:
            identity = peer.ask("session/new", **place)["sessionId"]
        if mode:
            peer.ask("session/set_mode", sessionId=identity, modeId=mode)
        yield AcpSession(peer, identity, compacting)


def _allowed(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Whatever the agent asks to be allowed."""
    if method != "session/request_permission":
        return {}
    options = params["options"]
    allowing = next(each for each in options if each["kind"].startswith("allow"))
    return {"outcome": {"outcome": "selected", "optionId": allowing["optionId"]}}
