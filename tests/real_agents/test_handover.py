"""One workflow that is handed from agent to agent, and moved on by each of them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from otheragents.claude import Claude
from otheragents.codex import Codex
from otheragents.opencode import Opencode
from otheragents.place import Place
from realclient.requests import asking
from realclient.standin import Request

pytestmark = pytest.mark.needs("npm", "git")

# Whoever comes last takes up what the first has begun.
RELAY = (Claude, Codex, Opencode, Claude)
NOW = "2026-11-19T08:00:00Z"
PHASES = ("Look", "Draw", "Build", "Check", "Ship")
GUIDE = "".join(f"line {number} of the guide, in no other file\n" for number in range(1, 101))
BEGIN = (
    "holdfast start 'The relay' --type implementation"
    f" --phases {','.join(PHASES)} --read '@docs/the guide.md' --remind 'Pass it on.'"
)
HEADING = "# Workflow restored after the compaction: The relay"


class Leg(NamedTuple):
    """What one agent was told, and what it has left behind."""

    agent: str
    request: Request  # the first after its compaction
    first: Request
    states: dict[str, bytes]


def ran(kinds: Sequence[type[Place]], folder: Path, made: Callable[..., Any]) -> list[Leg]:
    """The agents one after the other, in one project on one machine."""
    places = {kind: made(kind, folder / kind.agent) for kind in dict.fromkeys(kinds)}
    # opencode has libraries of its own in the project.
    base = places.get(Opencode) or places[kinds[0]]
    base.write("docs/the guide.md", GUIDE)
    subprocess.run(["git", "init", "-q"], cwd=base.project, check=True)
    for place in places.values():
        place.share(base)
        place.also["HOLDFAST_NOW"] = NOW
        Place.install(place)
    os.utime(base.project / "docs/the guide.md", (1_795_000_000, 1_795_000_000))
    return [leg(places[kind], number) for number, kind in enumerate(kinds)]


def leg(place: Place, number: int) -> Leg:
    with (
        place.service(tokens=lambda _: 5_000) as stand_in,
        place.session(stand_in) as session,
    ):
        if number == 0:
            stand_in.queue += [place.shell(BEGIN)]
        session.say("the first prompt of this agent")
        stand_in.queue += [place.shell("holdfast phase next")]
        session.say("move on")
        session.compact()
        session.say("the prompt after the compaction")
    files = sorted(place.project.glob("untracked/workflow-state/**/*.json"))
    return Leg(
        place.agent,
        asking(stand_in.requests, "the prompt after the compaction"),
        # What has no tools asks for a title.
        next(each for each in stand_in.requests if each.tools),
        {str(file.relative_to(place.project)): file.read_bytes() for file in files},
    )


@pytest.fixture(scope="module")
def relay(tmp_path_factory: pytest.TempPathFactory, made: Callable[..., Any]) -> list[Leg]:
    return ran(RELAY, tmp_path_factory.mktemp("relay"), made)


def test_a_workflow_is_handed_on_and_moved_on_by_every_agent(relay: list[Leg]) -> None:
    assert [each.agent for each in relay] == [kind.agent for kind in RELAY]
    for phase, each in enumerate(relay, 2):
        text = each.request.text
        assert text.count(HEADING) == 1, each.agent
        assert f"is in phase {phase} of 5: {PHASES[phase - 1]}. Status: in progress." in text
        assert text.count("line 100 of the guide, in no other file") == 1, each.agent
        assert "Pass it on." in text


def test_whoever_takes_over_is_told_of_the_workflow_at_once(relay: list[Leg]) -> None:
    for each in relay[1:]:
        assert "The relay" in each.first.text, each.agent


def test_the_state_is_the_one_that_claude_code_alone_would_leave(
    relay: list[Leg], tmp_path: Path, made: Callable[..., Any]
) -> None:
    """After every leg, byte for byte."""
    alone = ran([Claude] * len(RELAY), tmp_path, made)
    for each, other in zip(relay, alone, strict=True):
        assert len(each.states) == 1
        assert each.states == other.states, each.agent
