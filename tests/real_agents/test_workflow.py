"""Holdfast in each of the agents: what the model was really sent, and what lies on disk afterwards."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable

import pytest

from otheragents.claude import Claude
from otheragents.codex import Codex
from otheragents.copilot import Copilot
from otheragents.gemini import Gemini
from otheragents.opencode import Opencode
from otheragents.place import Place
from otheragents.qwen import Qwen
from realclient.recording import Recording
from realclient.requests import asking, summaries, words
from realclient.standin import Request
from realclient.workplace import READING, reading_in, trouble

pytestmark = [pytest.mark.needs("npm"), pytest.mark.needs("tmux")]

STEPS = 5
# So much that every agent can have the whole of it.
SHORT = dict(list(READING.items())[:3])
RESTORED = "# Workflow restored after the compaction: "
# The agent's own shell, in which the session is known where the agent tells it.
NEXT = "holdfast phase next"
# Not with `sleep`, which Qwen keeps its agent from.
WAIT = f"{shlex.quote(sys.executable)} -c 'import time; time.sleep(2)'"
NOW, BEFORE = "2026-11-19T08:00:00Z", 1_795_000_000
BY_HAND, BY_ITSELF = "the prompt after the compaction", "the prompt of a long turn"
LATER, RESUMED = "the prompt after the long turn", "the prompt of the resumed session"


def worked(place: Place) -> Recording:
    """Begun; a step taken; compacted by hand; a step taken; compacted by itself; resumed."""
    place.also["HOLDFAST_NOW"] = NOW
    plan = place.plan(STEPS, SHORT)
    os.utime(plan, (BEFORE, BEFORE))
    place.write_settings({})
    place.install()

    def tokens(request: Request) -> int:
        last = request.last_user_text
        # Copilot puts the person's prompts into what it says of a summary.
        old = request.is_summary or "has been summarized" in last
        return place.full if "fills the window" in last and not old else 5_000

    with place.service(tokens=tokens) as stand_in:
        with place.session(stand_in) as session:
            session.say("the first prompt")
            stand_in.queue += [place.shell(NEXT)]
            session.say("take the first step")
            session.compact()
            session.say(BY_HAND)
            stand_in.queue += [place.shell(NEXT)]
            session.say("take the second step")
            session.say("a prompt that fills the window")
            # Some go on while they compact.
            stand_in.queue += [place.shell(WAIT), place.shell("true")]
            session.say(BY_ITSELF)
            session.say(LATER)
            session.say("one more prompt")
            printed = list(session.printed)
        with place.session(stand_in, session.id) as session:
            session.say(RESUMED)
    notes = {"states": states(place), "log": place.holdfast("log", "--hooks", "--last", "1000")}
    return Recording(stand_in.requests, [], printed, notes)


def states(place: Place) -> dict[str, str]:
    """Every state file, by its path in the project, byte for byte."""
    files = sorted(place.project.glob("untracked/workflow-state/**/*.json"))
    return {
        str(file.relative_to(place.project)): file.read_bytes().decode("utf-8") for file in files
    }


@pytest.fixture(
    scope="module", params=[Codex, Qwen, Copilot, Gemini, Opencode], ids=lambda kind: kind.agent
)
def kind(request: pytest.FixtureRequest) -> type[Place]:
    asked: type[Place] = request.param
    return asked


@pytest.fixture(scope="module")
def run(kind: type[Place], recorded: Callable[..., Recording]) -> Recording:
    return recorded(worked, kind)


def told(request: Request, phase: int) -> None:
    """The workflow and all of its reading, once."""
    text = request.text
    assert text.count(RESTORED) == 1
    assert f"is in phase {phase} of {STEPS}: Stage {phase}. Status: in progress." in text
    sent = reading_in(request)
    assert {path: sent.get(path) for path in SHORT} == SHORT


def test_compacted_by_hand_the_next_prompt_finds_the_workflow_and_its_reading(
    run: Recording,
) -> None:
    told(asking(run.requests, BY_HAND), phase=2)


def test_at_the_start_the_workflow_is_named_once(run: Recording) -> None:
    named = 'The workflow "The long way" is kept in this project, in phase 1 of 5: Stage 1.'
    # What has no tools asks for a title.
    working = [each for each in run.requests if each.tools]
    for prompt in ("the first prompt", "take the first step"):
        assert asking(working, prompt).text.count(named) == 1


def test_before_that_nothing_was_restored(run: Recording) -> None:
    first = asking(run.requests, BY_HAND).number
    assert not [each.number for each in run.requests[: first - 1] if RESTORED in each.text]


def test_it_is_told_once_and_not_with_every_prompt(run: Recording) -> None:
    told(asking(run.requests, "take the second step"), phase=2)


def test_compacted_by_itself_it_is_told_as_soon_as_the_agent_can_have_it(
    run: Recording, kind: type[Place]
) -> None:
    """Codex and opencode: in the very next request. Qwen: in the one after that, which no longer has the old one.
    Where there is no event after a compaction: with the next prompt."""
    compaction = summaries(run.requests)[-1].number
    if kind in {Codex, Opencode}:
        told(run.requests[compaction], phase=3)
    elif kind is Qwen:
        told(run.requests[compaction + 1], phase=3)
    else:
        told(asking(run.requests, LATER), phase=3)


def test_after_that_it_is_told_once(run: Recording) -> None:
    told(asking(run.requests, "one more prompt"), phase=3)


def test_a_resumed_session_has_it_once(run: Recording) -> None:
    text = asking(run.requests, RESUMED).text
    assert text.count("# Workflow continued in the resumed session: The long way") == 1


def test_the_person_is_shown_no_trouble(run: Recording) -> None:
    assert trouble(words(run.printed)) == []
    assert "invalid" not in words(run.printed)


def test_the_state_is_what_claude_code_leaves(
    run: Recording, recorded: Callable[..., Recording]
) -> None:
    claude = recorded(worked, Claude).notes["states"]
    assert list(claude) != []
    assert run.notes["states"] == claude
