"""The prepared and the full path say the same, whatever was done to the project before.

A machine plays edits, commands and the events of one agent. Whenever an event is answered out of what was prepared, the
full path is asked as well, with a copy of the user's folder as it was, and has to print the same bytes.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from holdfast import agents
from holdfast.agents import events
from holdfast.agents.replies import Outcome
from holdfast.agents.request import Request
from holdfast.answers import prepare, quick
from holdfast.clock import Clock, iso
from holdfast.config.project import Surroundings
from holdfast.files.fingerprints import checksum
from holdfast.hooks import full
from holdfast.testing import MovableClock, Project
from holdfast.testing.simulate import Session, encode

SESSIONS = st.sampled_from(["one", "two"])
PHASES = st.sampled_from(["1/3 - Aaa", "2/3 - Bbb", "3/3 - Ccc", "2/3 - Ddd"])
NAMES = st.sampled_from(["Work", "Other", "Werk"])
TEXTS = st.sampled_from(["aaaa\n", "bbbb\n", "", "a longer text\n" * 2000])
EVENTS: Mapping[str, Mapping[str, object]] = {
    "PreCompact": {"trigger": "auto"},
    "SessionStart": {"source": "compact"},
    "PreToolUse": {"tool_name": "Edit", "tool_input": {"file_path": "x.py"}},
    "UserPromptSubmit": {"prompt": "go on"},
    "Stop": {},
}


class Doors(RuleBasedStateMachine):
    """Both paths, on one project."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory(prefix="holdfast-")
        top = Path(self._folder.name).resolve()
        self.project = Project(top / "project", top / "home", MovableClock())

    def teardown(self) -> None:
        self._folder.cleanup()

    def answer(self, payload: Mapping[str, object], arguments: tuple[str, ...] = ()) -> bool:
        """One event; whether the quick path knew an answer, and so both were asked."""
        raw, home = encode(payload), self.project.home
        before, aside = home.with_name("before"), home.with_name("aside")
        shutil.copytree(home, before)
        # Both at the same moment: when a loaded machine comes to the second path, another day may have begun.
        moment = {"HOLDFAST_NOW": iso(self.project.clock.now())}
        with _Environment(self.project.environment() | moment, self.project.root):
            said = quick.answer(Request(raw, arguments))
            if said is None:
                self._full(raw, arguments)
            else:
                ready = laid(home, raw)
                home.rename(aside)
                before.rename(home)
                expected = full.run(raw, Surroundings.from_environment(), clock(), arguments)
                expected_parts = laid(home, raw)
                home.rename(before)
                aside.rename(home)
                assert expected == Outcome(said), "the full path says otherwise"
                assert ready == expected_parts, "the full path lays other parts ready"
        shutil.rmtree(before)
        return said is not None

    def _full(self, raw: bytes, arguments: tuple[str, ...]) -> None:
        surroundings, request = Surroundings.from_environment(), Request(raw, arguments)
        full.run(raw, surroundings, clock(), arguments)
        if request.part:
            return
        event = events.parse(request)
        here = surroundings._replace(capabilities=request.agent.capabilities)
        prepare.after(event, here, clock(), request.agent, beside=True)

    @initialize(agent=st.sampled_from(agents.NAMES))
    def begin(self, agent: str) -> None:
        self.agent = agent
        self.project.write(".git/HEAD", "ref: refs/heads/main\n")
        self.project.write("docs/a.md", "a guide\n")
        self.declare("Work", "1/3 - Aaa", read=True, reminder="x")
        self.compact("one")

    # What people, agents and tools do.

    @rule(name=NAMES, phase=PHASES, read=st.booleans(), reminder=st.sampled_from(["x", "yy"]))
    def declare(self, name: str, phase: str, read: bool, reminder: str) -> None:
        reading = ["@docs/a.md", "@docs/b.md"] if read else []
        self.project.declare(name, phase=phase, reading=reading, reminders=[reminder])

    @rule(letters=st.sampled_from(["Aaa", "Bbb", "Xxx"]), back=st.booleans())
    def edit_in_place(self, letters: str, back: bool) -> None:
        """Of the same length, now and then with the old time put back."""
        path = self.project.root / "CLAUDE.local.md"
        if path.exists():
            status, text = path.stat(), path.read_text()
            at = text.find(" - ") + 3
            with path.open("r+") as stream:
                stream.write(text[:at] + letters + text[at + 3 :])
            if back:
                os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    @rule()
    def replace(self) -> None:
        path = self.project.root / "CLAUDE.local.md"
        if path.exists():
            path.with_name("new").write_text(path.read_text().replace("Work", "Werk"))
            path.with_name("new").replace(path)

    @rule(path=st.sampled_from(["CLAUDE.local.md", "CLAUDE/Plan", "docs", ".claude/holdfast.toml"]))
    def remove(self, path: str) -> None:
        target = self.project.root / path
        if target.is_dir():
            shutil.rmtree(target)
        else:
            target.unlink(missing_ok=True)

    @rule(number=st.integers(1, 2), ticked=st.integers(0, 2))
    def plan(self, number: int, ticked: int) -> None:
        items = [f"{'x ' if ticked > each else ''}item {each}" for each in range(2)]
        self.project.plan(f"00{number}-plan", {"One": items[:1], "Two": items[1:]})

    @rule(name=st.sampled_from("ab"), text=TEXTS)
    def write_reading(self, name: str, text: str) -> None:
        self.project.write(f"docs/{name}.md", text)

    @rule(
        line=st.sampled_from(
            ["enabled = false", "stale_days = 1", 'reading = "list"', "nonsense", 'guard = "all"']
        ),
        of_user=st.booleans(),
    )
    def configure(self, line: str, of_user: bool) -> None:
        if of_user:
            folder = self.project.home / ".config" / "holdfast"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "holdfast.toml").write_text(f"{line}\n")
        else:
            self.project.write(".claude/holdfast.toml", f"{line}\n")

    @rule()
    def configure_nothing(self) -> None:
        (self.project.home / ".config/holdfast/holdfast.toml").unlink(missing_ok=True)

    @rule(branch=st.sampled_from(["main", "side"]))
    def check_out(self, branch: str) -> None:
        self.project.write(".git/HEAD", f"ref: refs/heads/{branch}\n")

    @rule(what=st.sampled_from(["broken", "deleted", "by hand"]))
    def spoil_a_state(self, what: str) -> None:
        for path in self.project.state_files()[:1]:
            if what == "deleted":
                path.unlink()
            elif what == "broken":
                path.write_text('{"workflow": ')
            else:
                path.write_text(path.read_text().replace('"x"', '"by hand"'))

    @rule(hours=st.sampled_from([0.01, 1, 13, 200]))
    def wait(self, hours: float) -> None:
        self.project.clock.advance(hours=hours)

    @rule(session=SESSIONS, tool=st.sampled_from(["Edit", "Read", "Bash"]))
    def use_a_tool(self, session: str, tool: str) -> None:
        given = {"file_path": str(self.project.root / "docs/a.md"), "command": "pytest"}
        self._event(session, "PostToolUse", tool_name=tool, tool_input=given)

    @rule(session=SESSIONS)
    def hear_of_a_subagent(self, session: str) -> None:
        self._event(session, "SubagentStart", agent_id="a1", agent_type="Explore")

    # What the client asks.

    @rule(session=SESSIONS, event=st.sampled_from(sorted(EVENTS)))
    def ask(self, session: str, event: str) -> None:
        self._event(session, event, **EVENTS[event])

    @rule(session=SESSIONS)
    def compact(self, session: str) -> None:
        self._event(session, "PreCompact", trigger="auto")
        self._event(session, "SessionStart", source="compact")

    @rule(session=SESSIONS)
    def do_the_bookkeeping(self, session: str) -> None:
        """While the summary is written."""
        self._event(session, "PreCompact", "--later", trigger="auto")

    @rule(session=SESSIONS)
    def resume_a_compacted_session(self, session: str) -> None:
        """Which begins twice then, under some agents."""
        self._event(session, "PreCompact", trigger="auto")
        self._event(session, "SessionStart", source="resume")
        self._event(session, "SessionStart", source="compact")

    @rule(session=SESSIONS)
    def ask_twice(self, session: str) -> None:
        """With nothing between: then it has to be prepared, unless it depends on the time."""
        self._event(session, "PreCompact", trigger="auto")
        is_prepared = self._event(session, "PreCompact", trigger="auto")
        assert is_prepared, "nothing has changed, and yet nothing was prepared"

    def _event(self, session: str, event: str, *arguments: str, **fields: Any) -> bool:
        who = Session(session, str(self.project.root))
        return self.answer(who.payload(event, **fields), ("--agent", self.agent, *arguments))

    @invariant()
    def nothing_is_left_over(self) -> None:
        """No temporary file."""
        assert not [*self.project.home.glob(".local/state/holdfast/prepared/*.json.*")]


def laid(home: Path, raw: bytes) -> list[bytes]:
    """The texts that are laid ready for the hooks of the start *raw*."""
    path = home / ".local/state/holdfast/parts" / f"start-{checksum(raw)}"
    return path.read_bytes().split(b"\0")[3::2] if path.exists() else []


def clock() -> Clock:
    return Clock.from_environment()


class _Environment:
    """Like a process of its own: these variables and no others, in that folder."""

    def __init__(self, environment: Mapping[str, str], cwd: Path) -> None:
        self._environment, self._cwd = dict(environment), cwd

    def __enter__(self) -> None:
        self._before, self._where = dict(os.environ), os.getcwd()
        os.environ.clear()
        os.environ.update(self._environment)
        os.chdir(self._cwd)

    def __exit__(self, *_: object) -> None:
        os.chdir(self._where)
        os.environ.clear()
        os.environ.update(self._before)


Doors.TestCase.settings = settings(
    max_examples=int(os.environ.get("PREPARED_EXAMPLES", "25")),
    stateful_step_count=30,
    deadline=None,
    print_blob=True,  # the seed is another one each time
    suppress_health_check=list(HealthCheck),
)
TestBothPaths = Doors.TestCase
