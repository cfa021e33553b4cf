"""16 agents at once, each a process: they update, learn, take checkpoints and lock files.

For 8 seconds in the suite; ORCHESTRATE_LOAD_SECONDS=60 in the environment for a whole minute.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from decimal import Decimal

import pytest

from holdfast.files.store import Store
from holdfast.formats.orchestrator import files, model
from holdfast.formats.orchestrator.files import KIND
from holdfast.testing import Project
from orchestrated import example, log, put, state

SECONDS = float(os.environ.get("ORCHESTRATE_LOAD_SECONDS", "8"))
WORKERS = 16
TASKS = 5 + int(SECONDS)  # for each; more than it gets done

WORKER = """
import json, os, random, sys, time
from datetime import UTC, datetime
from pathlib import Path
from holdfast.errors import IllegalMove
from holdfast.formats.engine.workflow import Place
from holdfast.formats.orchestrator import checkpoints, learnings, locks, tasks
from holdfast.formats.orchestrator.format import FORMAT
from holdfast.config.settings import Settings
from holdfast.files.store import Store
root, number, seconds, count = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
store, task = Store(root), str(number)
files = {"src": ["a", "b"], "src/a": ["a"], "src/b": ["b"], "docs": ["docs"]}
done = {"tasks": [], "lessons": [], "checkpoints": []}
def place():
    return Place(store, Settings(), datetime.now(UTC), None, None)
def lock(path):
    while True:
        try:
            return locks.take(store, datetime.now(UTC), [path], "s-1", task)
        except IllegalMove:
            time.sleep(0.1)
sys.stdin.read()
until, turn = time.monotonic() + seconds, 0
while time.monotonic() < until:
    path = random.choice(list(files))
    lock(path)
    for each in files[path]:
        os.mkdir(Path(root) / f"held-{each}")  # fails where somebody else has it
    if turn < count:
        work = f"3.{number * 1000 + turn}"
        FORMAT.change(place(), "", tasks.start_task, work)
        FORMAT.change(place(), "", tasks.complete_task, work, cost="$0.01")
        done["tasks"].append(work)
    lesson = f"{number}.{turn} " + "x" * random.randrange(1, 3000)
    FORMAT.change(place(), "", learnings.learn, "insight", lesson, pattern="", context="")
    done["lessons"].append(lesson)
    if turn % 5 == number % 5:
        done["checkpoints"].append(checkpoints.take(place()).entry.state.checkpoints[-1].state_snapshot)
    for each in files[path]:
        os.rmdir(Path(root) / f"held-{each}")
    locks.release(store, datetime.now(UTC), [path], "s-1", task, force=False)
    turn += 1
print(json.dumps(done))
"""


@pytest.mark.long
def test_16_agents_lose_nothing_and_never_meet(holdfast_project: Project) -> None:
    """No completion and no learning is lost or doubled, no number is used twice, no lock held by two."""
    project = holdfast_project
    data = {**example(), "active_agents": [], "completed_tasks": [], "learnings": []}
    ids = [f"3.{worker * 1000 + turn}" for worker in range(WORKERS) for turn in range(TASKS)]
    data["pending_tasks"] = [{"phase": 2, "task": each, "name": "Work"} for each in ids]
    data["safety_bounds"] = {"max_cost": "$1000", "cost_so_far": "$0"}
    data["orchestrator"] |= {"current_task": f"0/{len(ids)}", "ralph_iteration": 0}
    put(project, data)
    running = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, project.root, str(number), str(SECONDS), str(TASKS)],
            env=project.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for number in range(WORKERS)
    ]
    for process in running:
        assert process.stdin
        process.stdin.close()
        process.stdin = None
    ended = [process.communicate(timeout=SECONDS + 300) for process in running]
    assert [stderr.decode() for _, stderr in ended] == [""] * WORKERS
    did = [json.loads(stdout) for stdout, _ in ended]

    def all_of(what: str) -> list[str]:
        return sorted(each for one in did for each in one[what])

    now = state(project)
    completed = [each["task"] for each in now["completed_tasks"]]
    assert completed
    assert sorted(completed) == all_of("tasks")
    assert sorted([*completed, *(each["task"] for each in now["pending_tasks"])]) == sorted(ids)
    assert model.parse_money(now["safety_bounds"]["cost_so_far"]) == Decimal(len(completed)) / 100
    assert now["active_agents"] == []
    assert log(project) == now["learnings"]
    assert sorted(each["lesson"] for each in log(project)) == all_of("lessons")
    names = [path.name for path in files.snapshots(Store(project.root))]
    assert names == all_of("checkpoints") == [each["state_snapshot"] for each in now["checkpoints"]]
    assert len(list(files.good_snapshots(Store(project.root)))) == len(names) + 1
    for name in names:
        assert KIND.parse((project.root / files.FOLDER / name).read_bytes())
    assert json.loads((project.root / files.LOCKS).read_bytes())["locks"] == []
