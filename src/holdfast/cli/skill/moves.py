"""Commands within a run: phases and steps, checkpoints, blocks, tasks, test-driven cycles."""

from __future__ import annotations

import click

from holdfast.cli.app import App, pairs, pass_app
from holdfast.cli.naming import workflow_option
from holdfast.cli.skill.group import move, move_cycle, skill
from holdfast.formats.skill import phases, tasks
from holdfast.formats.skill import tdd as cycles
from holdfast.formats.skill.model import TDD_PHASES

# Phases and their steps.


@skill.group()
def phase() -> None:
    """Go from one phase to the next."""


@phase.command("start")
@click.argument("phase_name", metavar="PHASE", required=False)
@workflow_option
@pass_app
def phase_start(app: App, phase_name: str | None, name: str | None) -> None:
    """Begin the next phase, where none is in progress."""
    move(app, name, "advanced", phases.start_phase, phase_name)


@phase.command("complete")
@click.argument("phase_name", metavar="PHASE", required=False)
@click.option("--commit", metavar="SHA", help="What it was committed with.")
@workflow_option
@pass_app
def phase_complete(app: App, phase_name: str | None, commit: str | None, name: str | None) -> None:
    """The current phase is done; the next one begins."""
    move(app, name, "advanced", phases.complete_phase, phase_name, commit=commit)


@phase.command("step")
@click.argument("step", required=False)
@workflow_option
@pass_app
def phase_step(app: App, step: str | None, name: str | None) -> None:
    """The current step of the phase is done. One that has a checkpoint is done by that."""
    move(app, name, "advanced", phases.complete_step, step)


@skill.command()
@click.argument("checkpoint_name", metavar="NAME")
@click.argument("values", nargs=-1, metavar="K=V...")
@click.option("--passed/--failed", default=None, help="How it ended.")
@workflow_option
@pass_app
def checkpoint(
    app: App,
    checkpoint_name: str,
    values: tuple[str, ...],
    passed: bool | None,
    name: str | None,
) -> None:
    """Record that the verification NAME has run, with what it found.

    lint --passed; test --passed count=42; security_review findings=0; pr_created pr_number=7.
    """
    told = pairs(values)
    if wrong := told.keys() & {"passed", "status", "last_run"}:
        raise click.BadParameter(f"{wrong.pop()!r} is told by --passed or --failed")
    move(app, name, "noted", phases.record_checkpoint, checkpoint_name, passed=passed, values=told)


@skill.command()
@click.argument("reason")
@workflow_option
@pass_app
def block(app: App, reason: str, name: str | None) -> None:
    """Something is in the way. Nothing is changed until `unblock`."""
    move(app, name, "blocked", phases.block, reason)


@skill.command()
@workflow_option
@pass_app
def unblock(app: App, name: str | None) -> None:
    """It is out of the way."""
    move(app, name, "unblocked", phases.unblock)


# Tasks.


@skill.group()
def task() -> None:
    """Work on the tasks of the workflow, by their numbers."""


_NUMBER = click.argument("number", type=click.IntRange(1), required=False)


@task.command("add")
@click.argument("texts", nargs=-1, required=True, metavar="TEXT...")
@workflow_option
@pass_app
def task_add(app: App, texts: tuple[str, ...], name: str | None) -> None:
    """Add tasks at the end."""
    move(app, name, "noted", tasks.add_tasks, texts)


@task.command("start")
@_NUMBER
@click.option("--no-tdd", is_flag=True, help="Without red, green and refactor of its own.")
@workflow_option
@pass_app
def task_start(app: App, number: int | None, no_tdd: bool, name: str | None) -> None:
    """Begin a task, by default the next one, in its red phase."""
    move(app, name, "advanced", tasks.start_task, number, tdd=not no_tdd)


@task.command("phase")
@click.argument("done", type=click.Choice(TDD_PHASES), required=False)
@click.option("--task", "number", type=click.IntRange(1), help="Where several are in progress.")
@workflow_option
@pass_app
def task_phase(app: App, done: str | None, number: int | None, name: str | None) -> None:
    """The task's current one of red, green and refactor is done."""
    move(app, name, "advanced", tasks.complete_task_phase, done, index=number)


@task.command("complete")
@_NUMBER
@click.option("--commit", metavar="SHA", help="What it was committed with.")
@workflow_option
@pass_app
def task_complete(app: App, number: int | None, commit: str | None, name: str | None) -> None:
    """The task is done, by default the one in progress."""
    move(app, name, "advanced", tasks.complete_task, number, commit=commit)


# Test-driven cycles.


@skill.group()
def tdd() -> None:
    """Go through a test-driven cycle: red, green, refactor, commit."""


@tdd.command("test")
@click.argument("file")
@click.option("--name", "test_name", metavar="TEST", help="What the test is called.")
@workflow_option
@pass_app
def tdd_test(app: App, file: str, test_name: str | None, name: str | None) -> None:
    """The test is written, in FILE."""
    move_cycle(app, name, "noted", cycles.write_test, file, test_name)


@tdd.command("fails")
@click.argument("reason")
@workflow_option
@pass_app
def tdd_fails(app: App, reason: str, name: str | None) -> None:
    """The test was seen failing, for this REASON."""
    move_cycle(app, name, "noted", cycles.confirm_failure, reason)


@tdd.command("run")
@click.option("--passed/--failed", default=None, help="How it ended.")
@click.option("--command", metavar="LINE", help="What was run.")
@click.option("--failing", multiple=True, metavar="TEST", help="A test that fails.")
@click.option("--passing", multiple=True, metavar="TEST", help="A test that passes.")
@click.option("--error", metavar="TEXT", help="The error that stands in the way.")
@workflow_option
@pass_app
def tdd_run(
    app: App,
    passed: bool | None,
    command: str | None,
    failing: tuple[str, ...],
    passing: tuple[str, ...],
    error: str | None,
    name: str | None,
) -> None:
    """The tests were run. In green, a run that passes lets the phase end."""
    if passed is None:
        raise click.UsageError("Say how it ended: --passed or --failed.")
    move_cycle(
        app,
        name,
        "noted",
        cycles.record_tests,
        passed=passed,
        command=command,
        failing=failing,
        passing=passing,
        error=error,
    )


@tdd.command("file")
@click.argument("path")
@click.option("--phase", "phase_name", metavar="PHASE", help="By default the current one.")
@click.option("--lines", type=click.IntRange(0), help="How many were added.")
@workflow_option
@pass_app
def tdd_file(
    app: App, path: str, phase_name: str | None, lines: int | None, name: str | None
) -> None:
    """The file at PATH was changed in this phase."""
    move_cycle(app, name, "noted", cycles.note_file, path, phase=phase_name, lines_added=lines)


@tdd.command("done")
@click.option("--commit", metavar="SHA", help="What the cycle was committed with.")
@workflow_option
@pass_app
def tdd_done(app: App, commit: str | None, name: str | None) -> None:
    """The current phase of the cycle is done; the next one begins."""
    move_cycle(app, name, "advanced", phases.complete_phase, commit=commit)


@tdd.command("next")
@workflow_option
@pass_app
def tdd_next(app: App, name: str | None) -> None:
    """The cycle is committed; begin the next one."""
    move_cycle(app, name, "advanced", cycles.next_cycle)
