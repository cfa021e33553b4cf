"""A project to put hostile files into, and what has to be true of every answer that it gives."""

from __future__ import annotations

import json
import os
import re
import shutil
import unicodedata
from pathlib import Path

from holdfast.agents import Agent
from holdfast.agents.claude import AGENT as CLAUDE
from holdfast.agents.replies import Outcome
from holdfast.config.project import Surroundings
from holdfast.formats import registry
from holdfast.hooks import full
from holdfast.records import hooklog
from holdfast.testing import MovableClock, Project, simulate
from holdfast.text.room import Room

# Said here once more and otherwise than in plaintext.py, so that a slip there is noticed here.
_HIDDEN = {
    *map(chr, (0x61C, 0x180E, 0x200B, 0x200E, 0x200F, 0xFEFF)),
    *map(chr, range(0x202A, 0x202F)),
    *map(chr, range(0x2060, 0x2070)),
    *map(chr, range(0xE0000, 0xE01F0)),
}
_WRAPPER = re.compile(
    r"<[\s/]*(?:system[-_ ]?reminder|persisted[-_ ]?output|antml:)", re.IGNORECASE
)
_CODES = {0, 1}


def steers(text: str) -> list[str]:
    """What of *text* could steer a terminal, hide from a reader, or end the client's wrapper."""
    found = {
        character
        for character in text
        if character in _HIDDEN
        or (unicodedata.category(character) in {"Cc", "Cs"} and character not in "\t\n")
    }
    shown = "".join(each for each in text if unicodedata.category(each) != "Cf")
    return [*map(ascii, sorted(found)), *_WRAPPER.findall(shown)]


class House:
    """One project that is as new before each try."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self.project = Project(folder / "project", folder / "home", MovableClock())
        here = Surroundings.from_environment(self.project.environment())
        self.surroundings = here._replace(cwd=str(self.project.root))

    def clear(self) -> None:
        for folder in (self.project.root, self.project.home):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()

    def put(self, path: str, data: bytes) -> Path:
        """A file that nobody is writing any more: one that changed just now would be waited for."""
        target = self.project.write(path, data)
        os.utime(target, (1, 1))
        return target

    def fire(self, raw: bytes, *arguments: str, by: Agent = CLAUDE) -> Outcome:
        """One hook, asked *by* an agent, whose answer and whose log have to be in order."""
        outcome = full.run(raw, self.surroundings, self.project.clock, arguments)
        _is_in_order(outcome, by.capabilities.room)
        self._nothing_was_unexpected()
        return outcome

    def compact(self) -> str:
        """A compaction: what was said of it to anybody."""
        who = simulate.Session("session-1", str(self.project.root))
        start = simulate.encode(who.session_start())
        outcomes = [
            self.fire(simulate.encode(who.pre_compact())),
            self.fire(start),
            self.fire(start, "--part", "1"),
            self.fire(simulate.encode(who.post_compact(summary="It goes on."))),
        ]
        return "\n".join(f"{each.stdout.decode()}\n{each.stderr}" for each in outcomes)

    def inspect(self, path: Path, data: bytes) -> None:
        """What `inspect` says of it."""
        for each in registry.every():
            each.inspect(path, data)

    def _nothing_was_unexpected(self) -> None:
        """A hook never fails loudly, so an error that nobody foresaw stands in the log alone."""
        for entry in hooklog.read(self.surroundings.state_dir, str(self.project.root)):
            decided = str(entry["decided"])
            if decided.startswith("failed: "):
                raise AssertionError(f"{decided}: {entry['why']}")


def _is_in_order(outcome: Outcome, room: Room) -> None:
    assert outcome.code in _CODES, outcome
    texts = [outcome.stderr]
    try:
        reply = json.loads(outcome.stdout)
    except ValueError:
        texts.append(outcome.stdout.decode())
    else:
        texts += [str(reply.get(each, "")) for each in ("systemMessage", "additionalContext")]
        texts.append(simulate.context_of(reply))
    for text in texts:
        assert not (found := steers(text)), f"{found} in {text!r}"
        assert room.taken(text) <= room.most
