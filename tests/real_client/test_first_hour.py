"""The first hour in the real client, from an empty home to the day somebody leaves, as it looks on the screen."""

from __future__ import annotations

import os
import re
import subprocess
import time
from pathlib import Path

import pytest

from holdfast.agents.clients import CLAUDE
from realclient.client import TooSlow, run, wait_until
from realclient.standin import Reply, StandIn, Tool, calls, says_much
from realclient.terminal import Terminal, past_onboarding
from realclient.workplace import PluginPlace, Workplace, shell, trouble

pytestmark = pytest.mark.needs("npm", "tmux", "git")

START = 'holdfast init --plan --name Payments --phases "Design,Webhook,Test"'
# What nobody asked for: JSON, questions whether something may be done, errors.
_NOISE = re.compile(
    r"[{\[,] ?\"|^[\[{]$|^\"\w+\":|Do you want|requires approval|Error|No such file|not found|"
    r"Traceback|\d failed|\(ctrl\+o to see all\)"
)
# Files of ours, unless a command of ours names them: the older client shows what commands print.
_OURS = re.compile(r"workflow-state/|\.claude/holdfast")
_AT_WORK = "esc to interrupt"
OLDEST = CLAUDE.tried[0]
ASKS, ASKS_NOTHING = ("--permission-mode", "acceptEdits"), ("--dangerously-skip-permissions",)


class Hour:
    """A person and an agent at work in *terminal*."""

    def __init__(self, place: Workplace, stand_in: StandIn, terminal: Terminal) -> None:
        self.place, self.stand_in, self.terminal = place, stand_in, terminal
        self.screens: list[str] = []  # after each turn: a compaction clears what was before it

    def turn(self, prompt: str, *replies: Reply) -> None:
        """The person types *prompt*, and the agent does *replies* before it says something."""
        self.stand_in.queue += [*replies, says_much(400)]
        self.terminal.type(prompt)
        try:
            wait_until(lambda: not self.stand_in.queue, f"the answer to {prompt}")
            wait_until(lambda: _AT_WORK not in self.terminal.screen, f"the end of {prompt}")
        except TooSlow as slow:
            raise TooSlow(f"{slow}\n{self.terminal.screen}") from None
        self.screens.append(self.terminal.screen)

    def work(self) -> None:
        """A plan of one's own, work, a compaction, the next phases, and the end."""
        write = {"file_path": str(self.place.project / "src/hook.py"), "content": "print()\n"}
        self.turn("plan the payments", shell(START))
        self.turn("begin", calls(Tool("Write", write)), shell("holdfast remind 'Tokens expire'"))
        self.turn("go on", shell("holdfast status"))
        self.terminal.type("/compact")
        self.terminal.wait_for("Workflow restored: Payments, Phase 1/3 (Design)")
        self.turn("the design is done", shell("holdfast phase next --tick"))
        self.turn("the hook is done", shell("cd src && holdfast phase next --tick | head -5"))
        self.turn("all is done", shell("holdfast complete"))
        assert "Workflow completed: Payments" in self.results()

    def results(self) -> str:
        """All that commands of the agent printed."""
        found = [result for request in self.stand_in.requests for result in request.tool_results]
        return "\n".join(found)

    def was_quiet(self) -> None:
        lines = {line.strip("⎿\xa0 ") for screen in self.screens for line in screen.splitlines()}
        noise = [line for line in lines if _NOISE.search(line)]
        printed = self.results()
        noise += [line for line in lines if _OURS.search(line) and line not in printed]
        assert (trouble(self.screens), noise) == ([], [])
        assert "requires approval" not in self.results()


def repository(place: Workplace) -> None:
    """Something of the person's own, committed."""
    place.write("src/app.py", "print('paid')\n")
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "Begin"]):
        git(place, *arguments)
    past_onboarding(place.home, place.project)


def git(place: Workplace, *arguments: str) -> str:
    who = ["-c", "user.name=A person", "-c", "user.email=person@example.org"]
    done = subprocess.run(
        ["git", *who, *arguments],
        cwd=place.project,
        env={"PATH": os.environ["PATH"], "HOME": str(place.home)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def is_the_persons_own(place: Workplace) -> None:
    shown = git(place, "status", "--porcelain", "--untracked-files=all").splitlines()
    assert shown == ["?? PLAN.md", "?? src/hook.py"]


def nothing_of_ours_is_left(place: Workplace) -> None:
    is_the_persons_own(place)
    ignored = git(place, "status", "--porcelain", "--ignored", "--untracked-files=all")
    assert "!!" not in ignored
    assert "nothing of Holdfast that is known" in place.holdfast("uninstall", "--purge")


@pytest.mark.parametrize("mode", [ASKS, ASKS_NOTHING], ids=["asks", "asks nothing"])
def test_with_the_program(mode: tuple[str, ...], binary: Path, tmp_path: Path) -> None:
    """Of the two modes one would ask for permission, the other shows files that commands change."""
    place = Workplace(tmp_path)
    repository(place)
    assert "Registered 25 hooks" in place.holdfast("init", "--yes")
    with (
        StandIn() as stand_in,
        Terminal([binary, *mode], place.project, place.env(stand_in)) as terminal,
    ):
        terminal.wait_for("❯")
        hour = Hour(place, stand_in, terminal)
        hour.work()
        hour.was_quiet()
    is_the_persons_own(place)
    assert "25 hooks" in place.holdfast("uninstall", "--purge", "--yes")
    nothing_of_ours_is_left(place)


def test_with_the_plugin(version: str, binary: Path, tmp_path: Path, wheels: Path) -> None:
    """Nothing else is installed, and the first session sets it up."""
    place = PluginPlace(tmp_path, wheels)
    repository(place)

    with StandIn() as stand_in:

        def plugin(*arguments: str) -> None:
            done = run(binary, place.project, place.env(stand_in), "plugin", *arguments)
            assert done.returncode == 0, done.stdout + done.stderr

        plugin("marketplace", "add", str(place.root))
        plugin("install", "holdfast@holdfast")
        with Terminal([binary, *ASKS], place.project, place.env(stand_in)) as terminal:
            terminal.wait_for("Holdfast is being set up in the background")
            wait_until(lambda: bool(place.environments), "the environment is ready")
            hour = Hour(place, stand_in, terminal)
            add_rule = shell("holdfast init --yes --only permission")
            hour.turn("/holdfast:init", shell("holdfast init"), add_rule)
            assert any("Run `holdfast init`." in asked.text for asked in stand_in.requests)
            assert "to do  permission" in hour.results()
            assert 'Added the permission rule "Bash(holdfast:*)"' in hour.results()
            if version == OLDEST:  # which shows the first lines that a command prints
                assert f"Project: {place.project}" in hour.terminal.screen
            time.sleep(3)  # after which the client has read its changed settings
            hour.work()
            assert any("Holdfast: it is set up, and saves" in screen for screen in hour.screens)
            is_the_persons_own(place)
            hour.turn("we leave", shell("holdfast uninstall --purge --yes"))
            assert "Nothing was removed" not in hour.results()
            hour.was_quiet()
        plugin("uninstall", "holdfast@holdfast")
        plugin("marketplace", "remove", "holdfast")
    nothing_of_ours_is_left(place)
