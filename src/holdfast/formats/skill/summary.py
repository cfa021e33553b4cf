"""What a person is shown when a workflow is taken up again, as the document shows it. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from holdfast import clock
from holdfast.formats.document import moment
from holdfast.formats.skill import facts
from holdfast.formats.skill.facts import Pushed
from holdfast.formats.skill.model import Phase, State, Task
from holdfast.formats.skill.moving import blocked_by, is_blocked
from holdfast.formats.skill.phases import EXECUTION, current_step, steps_left
from holdfast.plaintext import one_line

LOOKING = "📂 Checking for existing workflow state..."
_RULE = "━" * 47
_MARKS = {"completed": "✅", "in_progress": "🔄", "pending": "⏳", "blocked": "⛔"}
_SHORT = {"security_review": "security", "code_simplifier": "simplify"}
_WHOLE = {"pr": "PR", "ci": "CI"}


def headline(state: State, inner: State | None = None, pushed: Pushed | None = None) -> str:
    """Where it goes on, in one line: "Resuming task 5/7, currently in GREEN phase"."""
    if is_blocked(state):
        reason = blocked_by(state)
        return f"Blocked in phase {_phase_name(state)}{f': {one_line(reason)}' if reason else ''}"
    task, phase = state.task, state.phase
    if task is not None and facts.at_tasks(state):
        now = facts.tdd_phase(state, task, inner)
        tail = f", currently in {now.upper()} phase" if now else ""
        return f"Resuming task {state.number(task)}/{len(state.tasks)}{one_line(tail)}"
    if facts.pull_request_due(state):
        return one_line(f"Resuming PR creation: {facts.pull_request(state, pushed)}")
    if phase is not None and facts.is_cycle(state):
        cycle = state.state_machine.cycle_count or 1
        return one_line(f"Resuming cycle {cycle}, currently in {phase.name.upper()} phase")
    if facts.tasks_done(state) and facts.checks_due(state):
        return one_line(f"All tasks complete. Pending: {', '.join(facts.checks_due(state))}")
    step = current_step(state)
    return one_line(f"Resuming phase {_phase_name(state)}{f', step {step}' if step else ''}")


def _phase_name(state: State) -> str:
    return one_line(state.phase.name) if state.phase else "1"


def overview(state: State, now: datetime, inner: State | None = None) -> str:
    """The workflow that was found, with all of its progress."""
    header, subject = state.workflow, state.subject or state.name
    label = "Task" if subject == state.context.task_description else "Feature"
    lines = [
        "Found active workflow:",
        f"  ID: {one_line(header.id or '')}",
        f"  {label}: {one_line(subject)}",
        f"  Started: {_ago(moment(header.created_at), now)}",
        f"  Last activity: {_ago(state.last_activity, now)}",
        "",
        "  Progress:",
    ]
    lines += [
        f"    {line}"
        for phase in state.state_machine.phases
        for line in _phase(state, phase, inner)
    ]
    if not any(phase.name == EXECUTION for phase in state.state_machine.phases):
        lines += [f"    {_task(state, task, inner)}" for task in state.tasks]
    return "\n".join(lines)


def _phase(state: State, phase: Phase, inner: State | None) -> Iterator[str]:
    mark = _MARKS["in_progress" if _is_current(state, phase) else phase.status]
    if phase.name == EXECUTION and state.tasks and phase.status != "pending":
        yield f"{mark} {_title(phase.name)}:"
        for task in state.tasks:
            yield f"   {_task(state, task, inner)}"
        return
    detail = _detail(state, phase)
    yield f"{mark} {_title(phase.name)}{f' ({one_line(detail)})' if detail else ''}"


def _is_current(state: State, phase: Phase) -> bool:
    """Also where a jq line has set current_phase and not touched the list."""
    return phase is state.phase and phase.status == "pending"


def _detail(state: State, phase: Phase) -> str | None:
    if phase.name == "load_feature" and state.tasks:
        done = sum(task.status == "completed" for task in state.tasks)
        return f"{done}/{len(state.tasks)} tasks complete"
    if phase.name == "create_branch":
        return state.workflow.branch
    if phase.status == "in_progress" and phase.step_names:
        return f"left: {', '.join(_short(step) for step in steps_left(state, phase))}"
    if phase.step_names:
        return ", ".join(_short(step) for step in phase.step_names)
    if phase.status == "blocked":
        return blocked_by(state)
    if phase.name == "red":
        return phase.failure_reason or phase.test_name or phase.test_file
    if phase.name == "green":
        return phase.last_error or phase.implementation_file
    return phase.progress


def _task(state: State, task: Task, inner: State | None) -> str:
    line = f"{_MARKS[task.status]} Task {state.number(task)}: {one_line(state.title(task))}"
    if task.status == "completed":
        return f"{line} (committed: {one_line(task.commit_sha)})" if task.commit_sha else line
    phase = facts.tdd_phase(state, task, inner) if task.status == "in_progress" else None
    if phase is None:
        return line
    fails = facts.failing(facts.tests_of(state, inner))
    result = "" if fails is None else f" - tests {'failing' if fails else 'passing'}"
    return f"{line} ({one_line(phase).upper()} phase{result})"


def _title(name: str) -> str:
    """load_feature: Load feature. pr_creation: PR creation. Of a cycle: RED."""
    if name in {"red", "green"}:
        return name.upper()
    words = [_WHOLE.get(word, word) for word in one_line(name).replace("_", " ").split()]
    first = words[0] if words else ""
    return " ".join([first[:1].upper() + first[1:], *words[1:]])


def _short(step: str) -> str:
    return _SHORT.get(step, step)


def question(state: State, inner: State | None = None) -> str:
    """What the person is asked: "Resume from Task 4 (GREEN phase)? [Y/n]"."""
    task = state.task
    if task is not None and facts.at_tasks(state):
        where, now = f"Task {state.number(task)}", facts.tdd_phase(state, task, inner)
    else:
        phase = state.phase
        where, now = (_title(phase.name) if phase else "the beginning"), None
    return f"Resume from {where}{f' ({one_line(now).upper()} phase)' if now else ''}? [Y/n]"


def resuming(
    state: State, now: datetime, inner: State | None = None, pushed: Pushed | None = None
) -> str:
    """The short block when work goes on, with the last test run."""
    task = state.task if facts.at_tasks(state) else None
    if task is not None:
        what = f"Task {state.number(task)}/{len(state.tasks)} - {one_line(state.title(task))}"
    else:
        what = one_line(state.name)
    phase = facts.tdd_phase(state, task, inner)
    doing = facts.purpose(phase) if phase else ""
    named = f"{phase.upper()}{f' ({doing})' if doing else ''}" if phase else _phase_name(state)
    lines = [_RULE, f"🔄 Resuming: {what}", f"   Phase: {one_line(named)}", _RULE, ""]
    lines += _last_run(facts.tests_of(state, inner), now)
    return "\n".join([*lines, _onward(state, phase, inner, pushed)])


def _last_run(state: State, now: datetime) -> list[str]:
    tests = state.test_state
    if tests is None or not tests.last_run:
        return []
    names = [f"  ❌ {one_line(name)}" for name in tests.failing_tests]
    names += [f"  ✅ {one_line(name)}" for name in tests.passing_tests]
    fallback = (
        f"  {'✅' if tests.last_result == 'passed' else '❌'} {one_line(tests.last_result or '')}"
    )
    return [
        f"Last test run ({_ago(moment(tests.last_run), now, 'min')}):",
        *(names or [fallback]),
        "",
    ]


def _onward(state: State, phase: str | None, inner: State | None, pushed: Pushed | None) -> str:
    if phase == "green":
        return "Continuing implementation..."
    if phase == "red":
        return "Continuing with the failing test..."
    if phase == "refactor":
        return "Continuing the refactoring..."
    return one_line(facts.next_action(state, inner, pushed) or "Nothing is left to do.")


def _ago(at: datetime | None, now: datetime, minutes: str = "minutes") -> str:
    return clock.ago(at, now, minutes) if at else "unknown"
