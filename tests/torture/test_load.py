"""Many sessions at once, each with work in every format, hooks in between: equal to what was counted."""

from __future__ import annotations

import json
import queue
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from arena import torn
from efforts import EFFORT
from holdfast.files.store import Store
from holdfast.testing import Compactions, Project
from holdfast.testing.simulate import Session, encode
from tracks import Canonical, Gated, Markdown, Orchestrator, Pipeline, Shared, Skill, Track
from warm import Ended, Warm

_AT_ONCE = 8  # processes; more sessions than that take turns
_IN_VAIN = "was held by another process for"
_KINDS: tuple[type[Track], ...] = (Canonical, Shared, Skill, Gated, Orchestrator, Pipeline)


class Player:
    """One session: its tracks, and its hooks."""

    def __init__(self, number: int, project: Project, chance: random.Random) -> None:
        self.id, self._project, self._chance = f"session-{number}", project, chance
        self.tracks = [kind(number) for kind in _KINDS]
        self.markdown = Markdown() if number == 0 else None
        self.did: Counter[str] = Counter()

    def play(self, servers: queue.Queue[Warm], until: float) -> None:
        while time.monotonic() < until:
            server = servers.get()
            try:
                self._one(server)
            finally:
                servers.put(server)

    def _one(self, server: Warm) -> None:
        if self._chance.random() < 0.4:
            self._hook(server)
            return
        if self.markdown and self._chance.random() < 0.3:
            self.markdown.edit(self._project)
            return
        track = self._chance.choice(self.tracks)
        ended = self._run(server, *track.command())
        if ended.code == 0:
            track.made += 1
            track.told(ended.stdout)
            self.did["commands"] += 1
        else:
            assert f"{_IN_VAIN} 30 s" in ended.stderr, (track.command(), ended)
            self.did["commands that gave up waiting for a lock"] += 1

    def _hook(self, server: Warm) -> None:
        session = Session(self.id, str(self._project.root))
        given = {"file_path": str(self._project.root / "src" / "a.py")}
        payload = self._chance.choice(
            [
                session.pre_compact("auto"),
                session.session_start("compact"),
                session.post_compact("auto", "The work goes on."),
                session.payload(
                    "PostToolUse", tool_name="Edit", tool_input=given, tool_response={}
                ),
            ]
        )
        ended = self._run(server, "hook", stdin=encode(payload))
        self.did["hooks"] += 1
        if ended.code:
            assert ended.code == 1, (payload, ended)
            assert f"{_IN_VAIN} 2 s" in ended.stderr, (payload, ended)
            self.did["hooks that gave up waiting for a lock"] += 1

    def _run(self, server: Warm, *arguments: str, stdin: bytes = b"") -> Ended:
        environment = self._project.environment(self.id)
        return server.run(arguments, cwd=self._project.root, environment=environment, stdin=stdin)


@contextmanager
def pool(count: int) -> Iterator[queue.Queue[Warm]]:
    servers: queue.Queue[Warm] = queue.Queue()
    with ExitStack() as stack:
        for _ in range(count):
            servers.put(stack.enter_context(Warm()))
        yield servers


def prepared(project: Project, sessions: int) -> None:
    """What all of them share."""
    project.run("start", Shared.NAME, "--phases", "A,B")
    project.write("docs/load.md", Orchestrator.document(sessions))
    for name in ("requirements", "architecture", "user-guide"):  # what phases begin with
        project.write(f"docs/{name}.md", "# Written\n")
    project.run(
        "orchestrate", "start", "docs/load.md", "--max-cost", "$100000", "--max-time", "999h"
    )
    project.run("orchestrate", "approve-plan")
    definition = project.write("long.toml", Pipeline.DEFINITION)
    project.run("pipeline", "define", str(definition))


def test_many_sessions_are_equal_to_the_model(
    holdfast_project: Project, compaction_cycle: Compactions, count: Callable[[str, int], None]
) -> None:
    project = holdfast_project
    prepared(project, EFFORT.sessions)
    players = [
        Player(each, project, EFFORT.chance(f"session {each}")) for each in range(EFFORT.sessions)
    ]
    with (
        pool(min(EFFORT.sessions, _AT_ONCE)) as servers,
        ThreadPoolExecutor(EFFORT.sessions) as threads,
    ):
        until = time.monotonic() + EFFORT.seconds
        playing = [threads.submit(each.play, servers, until) for each in players]
        for each in playing:
            each.result()
    assert compaction_cycle.fire("PreCompact").code == 0
    for player in players:
        for track in player.tracks:
            if track.made:
                assert track.found(project) == track.wanted(), (player.id, type(track).__name__)
        if player.markdown and player.markdown.made:
            assert player.markdown.found(project) == player.markdown.wanted()
        started = compaction_cycle.start(session=player.id)
        assert "Workflow restored" in started.guidance
    indexes_are_true(project)
    nothing_is_left(project)
    did = sum((player.did for player in players), Counter[str]())
    for what, number in did.items():
        count(what, number)
    count("sessions", EFFORT.sessions)


def indexes_are_true(project: Project) -> None:
    """What follows the states has followed all of them."""
    skills = project.root / ".claude/workflow-state"
    if (skills / "index.json").exists():
        listed = json.loads((skills / "index.json").read_bytes())["active_workflows"]
        assert sorted(each["id"] for each in listed) == _stems(skills / "active")
    pipelines = project.root / "workspace/workflow-state"
    if (pipelines / "index.json").exists():
        listed = json.loads((pipelines / "index.json").read_bytes())["workflows"]
        there = [each for each in _stems(pipelines) if each != "index"]
        assert sorted(each["workflow_id"] for each in listed) == there


def _stems(folder: Path) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.json"))


def nothing_is_left(project: Project) -> None:
    """No half of a file, no note of something unfinished, nothing that could not be read."""
    store = Store(project.root)
    for folder in ("tmp", "unfinished", "quarantine"):
        assert [each.name for each in (store.private / folder).glob("*")] == []
    records = {
        str(path): path.read_bytes()
        for top in (store.private, project.home)
        for path in top.rglob("*.json*")
        if path.is_file()
    }
    assert torn(records) == []


@pytest.mark.parametrize("kind", _KINDS)
def test_a_track_goes_on_for_as_long_as_sessions_may(
    kind: type[Track], holdfast_project: Project
) -> None:
    """Beyond the end of what it works on, which only a long run reaches."""
    prepared(holdfast_project, 2)
    track = kind(1)
    for _ in range(20):
        track.told(holdfast_project.run(*track.command()).stdout)
        track.made += 1
    assert track.found(holdfast_project) == track.wanted()


def test_a_track_that_went_elsewhere_is_found_out(holdfast_project: Project) -> None:
    """The comparison above can fail: one command more was counted than was given."""
    track = Canonical(1)
    for _ in range(3):
        holdfast_project.run(*track.command())
        track.made += 1
    assert track.found(holdfast_project) == track.wanted()
    track.made += 1
    assert track.found(holdfast_project) != track.wanted()
