"""opencode: its server, which its terminal and its editors' extensions speak to over HTTP."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, Self

from holdfast.agents import clients
from otheragents.chat import Chat, ChatRequest
from otheragents.network import private
from otheragents.place import API_KEY, Place
from otheragents.programs import VERSIONS
from otheragents.service import Service
from realclient.client import DEADLINE, wait_until
from realclient.standin import Reply, StandIn, Tool, calls

# How opencode begins what it asks for a summary with.
SUMMARY_PROMPT = "Here is the conversation so far"
MODEL = {"providerID": "standin", "modelID": "stand-in"}


class OpencodeRequest(ChatRequest):
    """Those without tools are for the summary, or for the title of a session."""

    @property
    def is_summary(self) -> bool:
        return self.first_text.startswith(SUMMARY_PROMPT)

    @property
    def is_title(self) -> bool:
        return not self.tools and not self.is_summary


@dataclass
class OpencodeService(Chat):
    asked = OpencodeRequest


def shell(line: str) -> Reply:
    """The agent runs a line in its shell."""
    return calls(Tool("bash", {"command": line, "description": "a line"}))


class Server:
    """`opencode serve`, as a context manager. `heard` is every event that it told of."""

    def __init__(self, command: list[str], folder: Path, env: dict[str, str], log: Path) -> None:
        self._start = (command, folder, env, log)
        self.heard: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        command, folder, env, self._log = self._start
        words = ["serve", "--port", "0", "--hostname", "127.0.0.1", "--print-logs"]
        with self._log.open("ab") as out:
            from_here = out.tell()
            self.process = subprocess.Popen(
                [*command, *words],
                cwd=folder,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
            )
        self._listener: threading.Thread | None = None
        try:
            self._address = self._listening(from_here)
            self._events = self._connected()
            self._listener = threading.Thread(target=self._listen, daemon=True)
            self._listener.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait(timeout=DEADLINE)
        if self._listener is not None:
            self._listener.join(DEADLINE)
            self._events.close()

    def _listening(self, from_here: int) -> tuple[str, int]:
        found: list[re.Match[bytes]] = []

        def says_so() -> bool:
            assert self.process.poll() is None, self._log.read_text(encoding="utf-8")
            written = self._log.read_bytes()[from_here:]
            found.extend(re.finditer(rb"listening on http://([\d.]+):(\d+)\n", written))
            return bool(found)

        wait_until(says_so, "opencode listens")
        return found[0][1].decode(), int(found[0][2])

    def _connected(self) -> HTTPConnection:
        connection = HTTPConnection(*self._address, timeout=DEADLINE)
        private().inside(connection.connect)
        return connection

    def _listen(self) -> None:
        with contextlib.suppress(OSError, HTTPException):  # it ends with the process
            self._events.request("GET", "/event")
            for line in self._events.getresponse():
                if line.startswith(b"data: "):
                    self.heard.append(json.loads(line.removeprefix(b"data: ")))

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        content = None if body is None else json.dumps(body)
        with contextlib.closing(self._connected()) as connection:
            connection.request(method, path, content, {"content-type": "application/json"})
            response = connection.getresponse()
            read = response.read()
        assert response.status == 200, f"{method} {path}: {read.decode(errors='replace')}"
        return json.loads(read)


class OpencodeSession:
    def __init__(self, server: Server, identity: str) -> None:
        self.server = server
        self.id = identity
        self.printed = server.heard

    def say(self, text: str, model: str = "stand-in") -> None:
        of = {**MODEL, "modelID": model}
        body = {"parts": [{"type": "text", "text": text}], "model": of}
        self.server.ask("POST", f"/session/{self.id}/message", body)

    def compact(self) -> None:
        self.server.ask("POST", f"/session/{self.id}/summarize", MODEL)

    def fork(self) -> OpencodeSession:
        identity = self.server.ask("POST", f"/session/{self.id}/fork", {})["id"]
        return OpencodeSession(self.server, identity)

    def toasts(self, least: int) -> list[str]:
        """What the person is shown, wherever a terminal listens, once it is so much."""
        wait_until(lambda: len(self._toasts()) >= least, f"{least} toasts")
        return self._toasts()

    def _toasts(self) -> list[str]:
        shown = [each for each in list(self.printed) if each["type"] == "tui.toast.show"]
        return [each["properties"]["message"] for each in shown]


class Opencode(Place):
    agent = "opencode"
    service = OpencodeService
    shell = staticmethod(shell)
    window = 100_000
    full = 99_000

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.server_log = folder / "serve.log"

    def write_settings(self, hooks: dict[str, Any] | None = None) -> None:
        """There are no hooks to be written down; its settings are in its environment."""

    def plug(self, folder: Path, *program: str | Path) -> None:
        """The plugin by hand, in one of opencode's folders."""
        text = clients.opencode_plugin([str(word) for word in program])
        self.write(folder / "plugins/holdfast.js", text)

    @property
    def folders(self) -> tuple[Path, Path]:
        """Where opencode looks for plugins: for this person, and for this project."""
        return self.home / ".config/opencode", self.project / ".opencode"

    def _with_libraries(self) -> None:
        """opencode gets its library for plugins from the registry, unless it is there by this."""
        needs = {"dependencies": {"@opencode-ai/plugin": VERSIONS["opencode"]}}
        for folder in self.folders:
            (folder / "node_modules").mkdir(parents=True, exist_ok=True)
            self.write(folder / "package-lock.json", json.dumps({"packages": {"": needs}}))

    def env(self, stand_in: StandIn, **more: str) -> dict[str, str]:
        limit = {"context": self.window, "output": 4000}
        models = ("stand-in", "gpt-5-stand-in")
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "name": "Stand-in",
            "options": {"baseURL": f"{stand_in.url}/v1", "apiKey": API_KEY},
            "models": {each: {"name": each, "tool_call": True, "limit": limit} for each in models},
        }
        settings = {
            "provider": {"standin": provider},
            "model": "standin/stand-in",
            "small_model": "standin/stand-in",
            "permission": {"*": "allow"},
            "autoupdate": False,
            "share": "disabled",
            "snapshot": False,
            "lsp": False,
            "formatter": False,
            **self.settings,
        }
        given = {
            "OPENCODE_CONFIG_CONTENT": json.dumps(settings),
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
        }
        self._with_libraries()
        return self.machine(**{**given, **more})

    @contextmanager
    def session(self, stand_in: Service, resume: str = "") -> Iterator[OpencodeSession]:
        command = self.entered(self.command)
        with Server(command, self.project, self.env(stand_in), self.server_log) as server:
            identity = resume or server.ask("POST", "/session", {})["id"]
            yield OpencodeSession(server, identity)
