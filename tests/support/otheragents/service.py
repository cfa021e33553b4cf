"""What the stand-ins of other model APIs have in common: one shape of request for the tests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any, ClassVar, NamedTuple

from otheragents.network import Network, private
from realclient import standin
from realclient.standin import EVENT_STREAM, JSON, Reply, Server, StandIn


class Turn(NamedTuple):
    """One message of a conversation, as text."""

    role: str
    text: str


@dataclass(frozen=True)
class Request(standin.Request):
    """A request in one of the APIs. `turns` says for each how its messages are read."""

    @property
    def turns(self) -> list[Turn]:
        """Everything that the model reads, in order, with the system's own words first."""
        raise NotImplementedError

    @property
    def text(self) -> str:
        return "\n".join(turn.text for turn in self.turns)

    @property
    def first_text(self) -> str:
        return self.said_by("user")[0] if self.said_by("user") else ""

    @property
    def last_user_text(self) -> str:
        return self.said_by("user")[-1] if self.said_by("user") else ""

    def said_by(self, role: str) -> list[str]:
        return [turn.text for turn in self.turns if turn.role == role]

    @property
    def tool_results(self) -> list[str]:
        return self.said_by("tool")


@dataclass
class Service(StandIn):
    """A stand-in for one of the APIs, in a network of its own."""

    asked: ClassVar[type[Request]]
    network: Network = field(default_factory=private)

    def _listening(self, handler: type[BaseHTTPRequestHandler]) -> Server:
        return self.network.inside(lambda: Server(handler))

    def recorded(self, body: dict[str, Any], size: int) -> Request:
        with self._lock:
            request = self.asked(len(self.requests) + 1, body, size)
            self.requests.append(request)
        return request

    def usage(self, request: Request) -> tuple[int, int]:
        """Tokens of the request, and of the answer."""
        return self.tokens(request), 10


def as_json(content: Mapping[str, Any]) -> tuple[bytes, str]:
    return json.dumps(content).encode(), JSON


def as_stream(*events: Mapping[str, Any], last: str = "") -> tuple[bytes, str]:
    """Server-sent events; those that have a type carry it as their name, too."""
    lines = []
    for event in events:
        named = f"event: {event['type']}\n" if "type" in event else ""
        lines.append(f"{named}data: {json.dumps(event)}\n\n")
    if last:
        lines.append(f"data: {last}\n\n")
    return "".join(lines).encode(), EVENT_STREAM


__all__ = ["Reply", "Request", "Service", "Turn", "as_json", "as_stream"]
