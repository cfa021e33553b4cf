"""A stand-in for the Messages API, on the loopback interface only.

It records every request, and answers with what a test has scripted, or with one word.
"""

from __future__ import annotations

import itertools
import json
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

# No reply is held back longer than this, whatever a test forgets.
LONGEST_HOLD = 60.0

JSON, EVENT_STREAM = "application/json", "text/event-stream"

SUMMARY = "<summary>The summary that the stand-in made.</summary>"


@dataclass(frozen=True)
class Text:
    text: str


@dataclass(frozen=True)
class Tool:
    """A tool that the model asks the client to run."""

    name: str
    input: dict[str, Any]


@dataclass(frozen=True)
class Reply:
    """What the model says. `hold` keeps it back until the event is set."""

    blocks: tuple[Text | Tool, ...]
    hold: threading.Event | None = None


def says(text: str, hold: threading.Event | None = None) -> Reply:
    return Reply((Text(text),), hold)


def says_much(characters: int) -> Reply:
    sentence = "The quick brown fox jumps over the lazy dog. "
    return says((sentence * (characters // len(sentence) + 1))[:characters])


def calls(*tools: Tool) -> Reply:
    return Reply(tools)


@dataclass(frozen=True)
class Request:
    """One request as the client sent it."""

    number: int
    body: dict[str, Any]
    size: int

    @property
    def messages(self) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = self.body.get("messages", [])
        return messages

    @property
    def tools(self) -> list[str]:
        return [tool.get("name", "") for tool in self.body.get("tools", [])]

    @property
    def text(self) -> str:
        """Everything that the model reads in the messages, tool results too.

        Look here and not in the last user message: with newer models the client puts what hooks
        say into a message of its own, with the role "system".
        """
        return "\n".join(text for message in self.messages for text in _texts(message))

    @property
    def first_text(self) -> str:
        return "\n".join(_texts(self.messages[0])) if self.messages else ""

    @property
    def last_user_text(self) -> str:
        users = [each for each in self.messages if each["role"] == "user"]
        return "\n".join(_texts(users[-1])) if users else ""

    @property
    def is_summary(self) -> bool:
        """Whether the client asks for the summary of a compaction."""
        return "a detailed summary" in self.last_user_text

    @property
    def tool_results(self) -> list[str]:
        """What the model is told in this request about the tools that it called last."""
        users = [each for each in self.messages if each["role"] == "user"]
        content = users[-1]["content"] if users else []
        return [
            "\n".join(_texts(each))
            for each in (content if isinstance(content, list) else [])
            if each.get("type") == "tool_result"
        ]


def _texts(message: Mapping[str, Any]) -> Iterator[str]:
    content = message.get("content")
    if isinstance(content, str):
        yield content
        return
    for block in content or []:
        if block.get("type") == "text":
            yield block["text"]
        elif block.get("type") == "tool_result":
            yield from _texts(block)


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.failures: list[BaseException] = []

    def handle_error(self, *_: object) -> None:
        error = sys.exception()
        # A client that has ended does not wait for its replies.
        if error is not None and not isinstance(error, ConnectionError):
            self.failures.append(error)


@dataclass
class StandIn:
    """As a context manager it serves at `url`.

    A request is answered by the first of these that has an answer: `script`; the route whose text
    the conversation begins with (so a subagent gets its own replies, by its prompt); the summary;
    the next in `queue`, which is for the conversation; the one word "Noted.".
    """

    script: Callable[[Request], Reply | None] | None = None
    queue: list[Reply] = field(default_factory=list)
    routes: dict[str, list[Reply]] = field(default_factory=dict)
    # The client compacts by what the service says about the size of a request.
    tokens: Callable[[Request], int] = lambda request: request.size // 4
    summary: str = SUMMARY
    requests: list[Request] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._ids = itertools.count(1)
        self._closing = threading.Event()

    def __enter__(self) -> Self:
        self._server = self._listening(_handler(self))
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(LONGEST_HOLD)
        if kind is None and self._server.failures:
            raise self._server.failures[0]

    def _listening(self, handler: type[BaseHTTPRequestHandler]) -> Server:
        return Server(handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def identity(self, kind: str) -> str:
        with self._lock:
            return f"{kind}_{next(self._ids):08}"

    def serve(self, path: str, raw: bytes) -> tuple[bytes, str] | None:
        """What a request is answered with, and its media type; None for a path of nobody's."""
        if path == "/v1/messages/count_tokens":
            return json.dumps({"input_tokens": len(raw) // 4}).encode(), JSON
        if path != "/v1/messages":
            return None
        body = json.loads(raw)
        with self._lock:
            request = Request(len(self.requests) + 1, body, len(raw))
            self.requests.append(request)
        message = self._message(request, self.reply_to(request))
        if body.get("stream"):
            return _events(message), EVENT_STREAM
        return json.dumps(message).encode(), JSON

    def reply_to(self, request: Request) -> Reply:
        """What the model says, when it is time to say it."""
        reply = self.script(request) if self.script else None
        if reply is None:
            reply = self._scripted(request)
        self._hold(reply.hold)
        return reply

    def _scripted(self, request: Request) -> Reply:
        with self._lock:
            for opening, replies in self.routes.items():
                if opening in request.first_text and not request.is_summary:
                    return replies.pop(0) if replies else says("Noted.")
            if request.is_summary:
                return says(self.summary)
            # A request without tools is the client's own, for a title.
            return self.queue.pop(0) if self.queue and request.tools else says("Noted.")

    def _hold(self, until: threading.Event | None) -> None:
        end = time.monotonic() + LONGEST_HOLD
        while until and not self._closing.is_set() and time.monotonic() < end:
            if until.wait(0.02):
                return

    def _message(self, request: Request, reply: Reply) -> dict[str, Any]:
        tools = any(isinstance(block, Tool) for block in reply.blocks)
        return {
            # With one id repeated, the client thinks that there was only one round.
            "id": self.identity("msg"),
            "type": "message",
            "role": "assistant",
            "model": request.body.get("model", "stand-in"),
            "content": [self._block(block) for block in reply.blocks],
            "stop_reason": "tool_use" if tools else "end_turn",
            "stop_sequence": None,
            "usage": {
                "input_tokens": self.tokens(request),
                "output_tokens": 10,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
            },
        }

    def _block(self, block: Text | Tool) -> dict[str, Any]:
        if isinstance(block, Text):
            return {"type": "text", "text": block.text}
        identity = self.identity("toolu")
        return {"type": "tool_use", "id": identity, "name": block.name, "input": block.input}


def _handler(stand_in: StandIn) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is inherited
            """Nothing is printed: the requests are recorded."""

        def do_HEAD(self) -> None:
            self._send(b"", JSON)

        def do_GET(self) -> None:
            self._nothing_here()

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("content-length", 0)))
            served = stand_in.serve(self.path.partition("?")[0], raw)
            if served is None:
                self._nothing_here()
            else:
                self._send(*served)

        def _nothing_here(self) -> None:
            stand_in.elsewhere.append(f"{self.command} {self.path}")
            self._send(b'{"type": "error"}', JSON, 404)

        def _send(self, content: bytes, kind: str, status: int = 200) -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(content)))
            self.send_header("request-id", stand_in.identity("req"))
            self.end_headers()
            self.wfile.write(content)

    return Handler


def _events(message: dict[str, Any]) -> bytes:
    """The message as server-sent events."""
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    ]
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            start = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": block["text"]}
        else:
            start = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        events += [
            {"type": "content_block_start", "index": index, "content_block": start},
            {"type": "content_block_delta", "index": index, "delta": delta},
            {"type": "content_block_stop", "index": index},
        ]
    end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    events += [
        {"type": "message_delta", "delta": end, "usage": {"output_tokens": 10}},
        {"type": "message_stop"},
    ]
    return b"".join(
        f"event: {each['type']}\ndata: {json.dumps(each)}\n\n".encode() for each in events
    )
