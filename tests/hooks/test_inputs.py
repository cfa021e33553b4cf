"""What prepared answers follow from is declared, and nothing is missing: for every format and every event."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from recorder import InputRecorder, recording

from holdfast import agents
from holdfast.agents import events
from holdfast.agents.request import Request
from holdfast.answers import prepare, prepared
from holdfast.clock import Clock
from holdfast.config.project import Surroundings
from holdfast.records import sessionlog
from holdfast.testing import Compactions, Project
from holdfast.testing.simulate import Session, encode
from works import FORMATS

SESSION = "session-1"
ROWS = "/rows.json"


def begun(project: Project, steps: Any) -> None:
    """A project in which *steps* were done, in a checkout, by a session that was compacted once."""
    project.write(".git/HEAD", "ref: refs/heads/main\n")
    for step in steps:
        if callable(step):
            step(project)
        elif isinstance(step, list):
            project.run(*step, session=SESSION)


def undeclared(
    project: Project, event: str, monkeypatch: pytest.MonkeyPatch, **fields: object
) -> tuple[set[str], list[str]]:
    """The sets that are prepared after *event*, and what was looked at for them and is declared in none."""
    here = Surroundings.from_environment(project.environment())._replace(cwd=str(project.root))
    kept = Path(here.state_dir or "") / prepared.KIND
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir(parents=True)
    # What is prepared is no input, and what a session's log says is asked each time.
    apart = (kept, kept.with_name("parts"), kept.with_name(sessionlog.LOGS))
    recorder = InputRecorder(tuple(map(str, apart)))
    payload = Session(SESSION, str(project.root)).payload(event, **fields)
    monkeypatch.chdir(project.root)
    with recording(recorder):
        prepare.after(
            events.parse(Request(encode(payload))),
            here,
            Clock(),
            agents.named("claude"),
            beside=True,
        )
    inputs, kinds = dict[str, bool](), set[str]()
    for path in kept.glob("*.json"):
        kinds.add(path.stem.rpartition("-")[2])
        for looked_at, listed, *_ in json.loads(path.read_bytes())["inputs"]:
            inputs[looked_at] = listed or inputs.get(looked_at, False)
    assert not kinds or not recorder.untrackable
    if (
        kinds <= prepared.TIMELESS
    ):  # these belong to no session; whether there is one is asked each time
        inputs[sessionlog.record_of(str(kept.parent), SESSION)] = False
    # What a row says is only believed as long as the stamp of its file is the same, so no answer follows from it.
    return kinds, [path for path in recorder.undeclared(inputs) if not path.endswith(ROWS)]


def _nothing(_: Project) -> None:
    """As it is."""


def _with_a_plan(project: Project) -> None:
    project.plan("001-other", {"One": ["x first", "second"], "Two": ["third"]})


def _linked(project: Project) -> None:
    """The state lies elsewhere in the project, and a link leads there."""
    for name in ("untracked", "workflow", "workspace", ".claude/workflow-state"):
        folder = project.root / name
        if folder.is_dir() and not folder.is_symlink():
            aside = project.root / "elsewhere" / name.replace("/", "-")
            aside.parent.mkdir(exist_ok=True)
            shutil.move(folder, aside)
            folder.symlink_to(aside)


def _configured(project: Project) -> None:
    project.write(".claude/holdfast.toml", 'plans = ["plans/*/PLAN.md", "docs/[a-m]*.md"]\n')
    project.write("plans/one/PLAN.md", "# Plan\nStatus: in progress\n- [ ] one\n")


def _damaged(project: Project) -> None:
    for path in [*project.root.rglob("*state*.json"), *project.root.rglob("active/*.json")]:
        if "holdfast" not in path.parts:
            path.write_text('{"workflow": ')


@pytest.mark.parametrize("change", [_nothing, _with_a_plan, _linked, _configured, _damaged])
@pytest.mark.parametrize("name", FORMATS)
def test_everything_that_was_looked_at_is_declared(
    name: str,
    change: Callable[[Project], None],
    holdfast_project: Project,
    compaction_cycle: Compactions,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Once with a session that was restored before, and once with one that is new."""
    begun(holdfast_project, FORMATS[name])
    change(holdfast_project)
    compaction_cycle(session=SESSION)
    compaction_cycle(session="another")
    kinds, missing = undeclared(holdfast_project, "PreCompact", monkeypatch, trigger="auto")
    assert kinds
    assert missing == []


@pytest.mark.parametrize("event", ["PreCompact", "PreToolUse", "Stop"])
def test_nor_is_anything_missing_where_nothing_is_to_be_done(
    event: str, holdfast_project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is answered in a place, whoever asks."""
    holdfast_project.write("sub/PLAN.txt", "no plan")
    kinds, missing = undeclared(holdfast_project, event, monkeypatch, tool_name="Edit")
    assert kinds == {prepared.IDLE}
    assert missing == []
