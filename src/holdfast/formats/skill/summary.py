"""What a person is shown when a workflow is taken up again, as the document shows it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from holdfast import clock
from holdfast.formats.engine.document import moment
from holdfast.formats.skill import facts
from holdfast.formats.skill.facts import Position
from holdfast.formats.skill.model import EXECUTION, Phase, State, Task
from holdfast.formats.skill.moves import is_blocked, steps_left, test_result
from holdfast.text.plaintext import one_line

LOOKING = "📂 Checking for existing workflow state..."
_RULE = "━" * 47
_MARKS = {"completed": "✅", "in_progress": "🔄", "pending": "⏳", "blocked": "⛔"}
_SHORT = {"security_review": "security", "code_simplifier": "simplify"}


def headline(position: Position) -> str:
    """Where it goes on, in one line: "Resuming task 5/7, currently in GREEN phase"."""
    state, task = position.state, position.task
    if task is None or is_blocked(state):
        return one_line(position.next_action or "Nothing is left to do.")
    phase = position.tdd_phase(task)
    tail = f", currently in {phase.upper()} phase" if phase else ""
    return one_line(f"Resuming task {state.number(task)}/{len(state.tasks)}{tail}")


def overview(position: Position, now: datetime) -> str:
    """The workflow that was found, with all of its progress."""
    state = position.state
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
        f"    {line}" for phase in state.state_machine.phases for line in _phase(position, phase)
    ]
    if EXECUTION not in state.phase_names:
        lines += [f"    {_task(position, task)}" for task in state.tasks]
    return "\n".join(lines)


def _phase(position: Position, phase: Phase) -> Iterator[str]:
    state = position.state
    # A jq line may have set current_phase and not touched the list.
    is_current = phase is state.phase and phase.status == "pending"
    mark = _MARKS["in_progress" if is_current else phase.status]
    if phase.name == EXECUTION and state.tasks and phase.status != "pending":
        yield f"{mark} {_title(phase.name)}:"
        for task in state.tasks:
            yield f"   {_task(position, task)}"
        return
    detail = _detail(state, phase)
    yield f"{mark} {_title(phase.name)}{f' ({one_line(detail)})' if detail else ''}"


def _detail(state: State, phase: Phase) -> str | None:
    if phase.name == "load_feature" and state.tasks:
        count = len(state.tasks)
        return f"{count - len(state.open_tasks)}/{count} tasks complete"
    if phase.name == "create_branch":
        return state.workflow.branch
    if phase.status == "in_progress" and phase.step_names:
        return f"left: {_short(steps_left(state, phase))}"
    return _short(phase.step_names) or phase.progress


def _task(position: Position, task: Task) -> str:
    state = position.state
    line = f"{_MARKS[task.status]} Task {state.number(task)}: {one_line(state.title(task))}"
    if task.status == "completed":
        return f"{line} (committed: {one_line(task.commit_sha)})" if task.commit_sha else line
    phase = position.tdd_phase(task) if task.status == "in_progress" else None
    if phase is None:
        return line
    result = test_result(position.tested)
    tests = f" - tests {result}" if result else ""
    return f"{line} ({one_line(phase).upper()} phase{tests})"


def _title(name: str) -> str:
    """load_feature: Load feature. pr_creation: PR creation. Of a cycle: RED."""
    if name in {"red", "green"}:
        return name.upper()
    words = ["PR" if word == "pr" else word for word in one_line(name).replace("_", " ").split()]
    text = " ".join(words)
    return text[:1].upper() + text[1:]


def _short(steps: Sequence[str]) -> str:
    return ", ".join(_SHORT.get(step, step) for step in steps)


def question(position: Position) -> str:
    """What the person is asked: "Resume from Task 4 (GREEN phase)? [Y/n]"."""
    state, task = position.state, position.task
    where, now = (_title(state.phase.name) if state.phase else "the beginning"), None
    if task is not None:
        where, now = f"Task {state.number(task)}", position.tdd_phase(task)
    return f"Resume from {where}{f' ({one_line(now).upper()} phase)' if now else ''}? [Y/n]"


def resuming(position: Position, now: datetime) -> str:
    """The short block when work goes on, with the last test run."""
    state, task, phase = position.state, position.task, position.tdd_phase(position.task)
    what = one_line(position.title(task) if task else state.name)
    purpose = f" ({facts.PURPOSES[phase]})" if phase in facts.PURPOSES else ""
    at = state.phase.name if state.phase else "1"
    named = f"{phase.upper() if phase else at}{purpose}"
    lines = [_RULE, f"🔄 Resuming: {what}", f"   Phase: {one_line(named)}", _RULE, ""]
    lines += _last_run(position.tested, now)
    onward = position.next_action or "Nothing is left to do."
    lines.append("Continuing implementation..." if phase == "green" else one_line(onward))
    return "\n".join(lines)


def _last_run(state: State, now: datetime) -> list[str]:
    tests = state.test_state
    if not tests.last_run:
        return []
    mark = "✅" if tests.last_result == "passed" else "❌"
    names = [f"  ❌ {one_line(name)}" for name in tests.failing_tests]
    names += [f"  ✅ {one_line(name)}" for name in tests.passing_tests]
    names = names or [f"  {mark} {one_line(tests.last_result or '')}"]
    return [f"Last test run ({_ago(moment(tests.last_run), now, 'min')}):", *names, ""]


def _ago(at: datetime | None, now: datetime, minutes: str = "minutes") -> str:
    return clock.ago(at, now, minutes) if at else "unknown"
