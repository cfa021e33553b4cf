"""Where a run stands and what comes next, for its status and its briefing; and whether git agrees."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from datetime import datetime

from holdfast import clock
from holdfast.config import project
from holdfast.errors import StateUnreadable
from holdfast.files import git
from holdfast.files.regular import contains
from holdfast.files.store import Store
from holdfast.formats.engine.workflow import Briefing, Place, Standing, unless_numbered
from holdfast.formats.orchestrator import files, limits, plan, tasks
from holdfast.formats.orchestrator.files import StateFile
from holdfast.formats.orchestrator.model import LEARNINGS, PendingTask, State
from holdfast.records import ledger
from holdfast.text.plaintext import counted, one_line

LAST_LEARNINGS = 3  # of each type
PHASES = "phases"  # in the notes of the run: their names in the plan that was approved

_GROUP = "holdfast orchestrate"
_KEPT_WITH = {
    "executing": ("task-start", "iterate", "task-done", "check", "learn", "checkpoint", "phase"),
    "reviewing": ("iterate", "check", "learn"),
}  # a person decides on the plan, and where it is paused or stopped
_SHA = re.compile(r"[0-9a-fA-F]{7,64}")


def make(place: Place, file: StateFile, standing: Standing) -> Briefing:
    state, run = file.state, file.state.orchestrator
    status = _status(state, place.now)
    left = [pending.task for pending in state.pending_in(state.phase)]
    is_executing = run.status == "executing"
    next_action = _next_action(place, state)
    known = status if status in {"paused", "stopped"} else run.status
    at_task = known == "executing" and state.current is not None
    return Briefing(
        name=state.name,
        kind="orchestrator",
        phase=run.current_phase + 1,
        phases=max(run.total_phases, 1),
        phase_name=unless_numbered(
            phase_name(place, state, run.current_phase), run.current_phase + 1
        ),
        status=status,
        next_action=next_action,
        gate=f"tasks {', '.join(left)} completed" if left and is_executing else None,
        reading=tuple(_reading(place.store, run.task_doc)),
        reminders=learnings(state),
        context=tuple(_context(state, place)) if standing != "finished" else (),
        state_path=place.store.relative(file.path),
        comes_next="" if at_task or not next_action else f"{next_action}.",
        kept_with=tuple(f"{_GROUP} {command}" for command in _KEPT_WITH.get(known, ())),
        ended_with=f"{_GROUP} complete",
    )


def _status(state: State, now: datetime) -> str:
    if not state.over and limits.pause(state):
        return "paused"
    return "stopped" if limits.reached(state, now) else state.status


def _next_action(place: Place, state: State) -> str | None:
    if state.over:
        return None
    reached = limits.reached(state, place.now)
    stop = str(limits.LimitReached(reached)) if reached else ""
    if pause := limits.pause(state):
        paused = f"Paused since {': '.join(pause)}. {stop}".strip()
        return f"{paused} Waiting for a person, who may resume the run"
    if stop:
        return f"{stop} Waiting for a person, who may extend the limit, pause the run, or end it"
    if state.orchestrator.status == "planning":
        return (
            "Plan the phases and tasks in the task document, and have the plan approved by a person"
        )
    if state.orchestrator.status == "reviewing":
        return "Outer Ralph loop: review the whole, make the pull request, then complete the run"
    return _next_step(place, state)


def _next_step(place: Place, state: State) -> str:
    run, current = state.orchestrator, state.current
    if current is not None:
        here = state.tasks_in(state.phase)
        by_id = f"{here.index(current.task) + 1}/{len(here)}"
        task = f"{run.current_task if run.progress[1] else by_id}: {current.title}"
        if not state.is_begun(current.task):
            return f"Begin task {task}"
        most = state.safety_bounds.max_iterations_per_task
        limit = "" if most is None else f" of {most}"
        # An agent has counted on where only its own entry was updated.
        iteration = max(state.iteration, limits.iterations(state)[current.task])
        statuses = {agent.status for agent in state.workers_on(current.task)}
        blocked = "; its agent is blocked: see what it waits for" if statuses == {"blocked"} else ""
        return f"Task {task}, iteration {iteration}{limit}{blocked}"
    is_last = state.phase + 1 >= run.total_phases
    left = [task.task for task in state.left if is_last or task.phase < state.phase]
    if left:
        return f"Tasks of other phases are left: {', '.join(left)}; have the plan approved again"
    if not is_last:
        phase = f"phase {state.phase + 1} of {run.total_phases}"
        following = phase_name(place, state, state.phase + 1)
        return f"All tasks of {phase} are completed: begin the next phase, {following}"
    return "All phases are complete: review the whole in the outer Ralph loop"


def phase_name(place: Place, state: State, phase: int) -> str:
    """What the task document calls *phase*, as far as it may be read, or was when the plan was approved.

    Else what its milestone calls it, or its number.
    """
    task_doc = state.orchestrator.task_doc
    if plan.may_be_read(place, task_doc):
        with contextlib.suppress(StateUnreadable, plan.Unclear, IndexError):
            return plan.read_document(place.root / task_doc, place.store.inputs).phases[phase]
    noted = ledger.notes_of(place.store, files.key_of(state)).get(PHASES)
    names = noted[phase : phase + 1] if isinstance(noted, list) else []
    names = [*map(str, names), *(done.name for done in state.milestones if done.phase == phase)]
    return names[0] if names else f"Phase {phase + 1}"


def unread(place: Place, state: State) -> str:
    """That the agent has to read the task document by itself, in one line; empty where it is sent."""
    task_doc = state.orchestrator.task_doc
    real = plan.real_path(place.store, task_doc)
    if not real or contains(str(place.root), real) or plan.may_be_read(place, task_doc):
        return ""
    is_named = phase_name(place, state, state.phase) != f"Phase {state.phase + 1}"
    names = "" if is_named else " and the names of its phases are not known"
    return (
        f"the task document {task_doc} lies outside the project, so it is not sent{names}: read it from disk. "
        "A person who wants it sent names its folder as reading_roots in the own holdfast.toml."
    )


def _reading(store: Store, task_doc: str) -> Iterator[str]:
    """The task document; where it may not be opened, the restore says so."""
    real = plan.real_path(store, task_doc)
    if real:
        inside = os.path.isabs(task_doc) and contains(str(store.root), real)
        yield f"@{os.path.relpath(real, store.root) if inside else task_doc}"


def _context(state: State, place: Place) -> Iterator[tuple[str, str]]:
    done = len(state.completed_tasks)
    following = _following(state)
    facts = [
        ("phase in the state file", f"{state.phase}, counted from 0"),
        *((use.what.lower(), use.text) for use in limits.uses(state, place.now)),
        ("tasks completed", f"{done} of {done + len(state.left)}"),
        *_agents(state, place),
        ("completed without meeting", _unmet(state)),
        ("next task", following.title if following else ""),
        ("warnings", "; ".join(limits.open_warnings(state))),
        ("last checkpoint", _last_checkpoint(state)),
        ("supervisor", _supervision(state)),
    ]
    yield from ((name, fact) for name, fact in facts if fact)


def _following(state: State) -> PendingTask | None:
    """The first task that nobody works on, behind the current one."""
    current, busy = state.current, {agent.task for agent in state.workers}
    waiting = (task for task in state.left if task.task not in busy and task != current)
    return min(waiting, key=lambda task: task.phase, default=None)


def _unmet(state: State) -> str:
    """The criteria that somebody went past."""
    tasks = ((done.task, done.success_criteria_met) for done in state.completed_tasks)
    return ", ".join(
        f"{name} (task {task})" for task, all_ in tasks for name in all_ if not all_[name]
    )


def _agents(state: State, place: Place) -> Iterator[tuple[str, str]]:
    for agent, heard in tasks.last_heard(place.store, state):
        since = f" since {agent.started}" if agent.started else ""
        line = one_line(f"{agent.type} on task {agent.task}{since}, iteration {agent.iteration}")
        line += f", {agent.status.replace('_', ' ')}" if agent.status != "in_progress" else ""
        if heard and tasks.is_silent(heard, place.now):
            # It may have crashed; whoever finds that out may send another one.
            label = "silent, to be looked for before it is dispatched again"
            yield label, f"{line} (last sign of life {clock.ago(heard, place.now)})"
        else:
            yield "running, not to be dispatched again", line


def _last_checkpoint(state: State) -> str:
    if not state.checkpoints:
        return ""
    last = state.checkpoints[-1]
    commit = f"git {last.git_sha}" if last.git_sha else "without git"
    task = f", task {last.task}" if last.task else ""
    return f"{last.state_snapshot} at {last.timestamp}{task}, {commit}"


def _supervision(state: State) -> str:
    supervisor = state.supervisor
    if not supervisor.enabled:
        return "not enabled"
    counts = (
        (supervisor.checks_performed, "check"),
        (supervisor.conflicts_detected, "conflict"),
        (supervisor.auto_fixes_applied, "automatic repair"),
        (supervisor.re_plans_triggered, "re-plan"),
    )
    line = ", ".join(counted(*count) for count in counts if count[0]) or "no checks yet"
    for last in supervisor.interventions[-1:]:
        line += f"; last: {last.action} of task {last.task}: {last.resolution}"
    return line


def learnings(state: State) -> tuple[str, ...]:
    """The last ones of each type, the newest first."""
    lines = []
    for kind in LEARNINGS:
        of_kind = [learning for learning in state.learnings if learning.type == kind]
        for learning in reversed(of_kind[-LAST_LEARNINGS:]):
            pattern = f" → {learning.pattern}" if learning.pattern else ""
            lines.append(f"{kind.capitalize()} (task {learning.task}): {learning.lesson}{pattern}")
    return tuple(lines)


# State and git.


def head(store: Store) -> str | None:
    """The commit that is checked out; git is asked, at the cost of a process, where no file names it."""
    known = project.commit(str(store.root), store.inputs)
    if not known:
        store.inputs.cannot_track()
        known = git.answer(str(store.root), "rev-parse", "--verify", "--quiet", "HEAD")
    return known


def _says(store: Store, sha: str, *question: str) -> bool:
    """Whether git says yes to a *question* about *sha*, which may come from anywhere."""
    store.inputs.cannot_track()
    return bool(_SHA.fullmatch(sha)) and git.answer(str(store.root), *question) is not None


def parted(store: Store, state: State) -> str:
    """That HEAD is neither the last checkpoint's commit nor follows it, in one line; else empty."""
    last = next((entry for entry in reversed(state.checkpoints) if entry.git_sha), None)
    sha, here = (last.git_sha, head(store)) if last else (None, None)
    if last is None or sha is None or here is None or here == sha:
        return ""
    if _says(store, sha, "merge-base", "--is-ancestor", sha, "HEAD"):
        return ""
    where = f"commit {one_line(sha, 64)} of {one_line(last.state_snapshot, 80)}"
    return (
        f"State and git have diverged: HEAD is {here[:12]}, which does not follow {where}. "
        f"{_way_to(store, sha)}"
    )


def way_back(store: Store, sha: str | None) -> str:
    """How to take the files back as well to the commit *sha* of a snapshot."""
    if not sha or head(store) in {None, sha}:
        return ""
    return f"the files are as they were. {_way_to(store, sha)}"


def _way_to(store: Store, sha: str) -> str:
    """The document's command. It is only ever shown."""
    if not _says(store, sha, "cat-file", "-e", f"{sha}^{{commit}}"):
        return f"Commit {one_line(sha, 64)} is not known here."
    return (
        "To go back to it, which discards what was done since, also what is not committed: "
        f"git reset --hard {sha}"
    )
