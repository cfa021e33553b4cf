"""Commands within a workflow: what comes next, how its steps go on, and what a person decides."""

from __future__ import annotations

from typing import Any

import click

from holdfast.cli.app import App, dump, json_option, pairs, pass_app
from holdfast.cli.naming import workflow_option
from holdfast.cli.pipeline.group import answer, meant, pipeline
from holdfast.cli.terminal import put
from holdfast.errors import IllegalMove
from holdfast.formats.base import Place
from holdfast.formats.pipeline import engine, files
from holdfast.formats.pipeline.machine import title
from holdfast.plaintext import one_line

_NUMBER = click.argument("step", type=click.IntRange(1))
_MODIFICATIONS = click.option(
    "--modify", "modifications", multiple=True, metavar="K=V", help="What is to be different."
)


@pipeline.command("next")
@json_option
@workflow_option
@pass_app
def next_step(app: App, as_json: bool, name: str | None) -> None:
    """Which step comes next, what is in its way, and who can do something about it."""
    synced = app.look()
    workflow_id = meant(app, synced, name)
    told = engine.get_next_step(synced.place, workflow_id)
    if as_json:
        dump(told)
        return
    put(one_line(workflow_id))
    _row("now", told["current_step"], told["current_step_name"], told["current_status"])
    if told["blocking_reason"]:
        put(one_line(told["blocking_reason"]), lead="  blocked  ")
    if told["required_action"]:
        put(one_line(told["required_action"]), lead="  to do    ")
    if told["next_step"]:
        may = "may begin" if told["can_proceed"] else "has to wait"
        _row("next", told["next_step"], told["next_step_name"], may)


def _row(label: str, number: int, name: str | None, stands: str | None) -> None:
    stands = (stands or "unknown").replace("_", " ")
    put(f"{number} {one_line(name or '')}, {stands}", lead=f"  {label:<9}")


@pipeline.command()
@_NUMBER
@json_option
@workflow_option
@click.pass_context
def check(ctx: click.Context, step: int, as_json: bool, name: str | None) -> None:
    """Whether STEP may begin. Exit code 1 when it may not."""
    app: App = ctx.obj
    synced = app.look()
    told = engine.validate_prerequisites(synced.place, meant(app, synced, name), step)
    if as_json:
        dump(told)
    elif told["can_start_step"]:
        put(f"{step} may begin.")
    else:
        put(f"{step} may not begin.")
        for issue in told["blocking_issues"]:
            put(one_line(issue), lead="  ")
    if not told["can_start_step"]:
        ctx.exit(1)


@pipeline.command()
@_NUMBER
@click.option("--status", metavar="STATUS", help="in_progress, completed or failed.")
@click.option("--artifact", "artifacts", multiple=True, metavar="NAME=PATH", help="What it made.")
@click.option("--error", metavar="TEXT", help="Why it failed.")
@json_option
@workflow_option
@pass_app
def update(
    app: App,
    step: int,
    status: str | None,
    artifacts: tuple[str, ...],
    error: str | None,
    as_json: bool,
    name: str | None,
) -> None:
    """STEP is begun, its work is completed or has failed, or it has made something.

    One that a person has to approve waits when its work is completed.
    """
    made = _texts(artifacts)

    def operation(place: Place, workflow_id: str) -> dict[str, Any]:
        return engine.update_workflow_state(
            place, workflow_id, step, status=status, artifacts=made, error=error
        )

    answer(app, name, "advanced", operation, as_json=as_json)


def _texts(values: tuple[str, ...]) -> dict[str, str]:
    """What is given as K=V, each value as it was typed: a scene 0204 is no number."""
    pairs(values)
    return {key.strip(): text for key, _, text in (value.partition("=") for value in values)}


@pipeline.command()
@click.argument("step", type=click.IntRange(1), required=False)
@click.option("--variant", metavar="NAME", help="Which one, where the step offers variants.")
@_MODIFICATIONS
@json_option
@workflow_option
@pass_app
def approve(
    app: App,
    step: int | None,
    variant: str | None,
    modifications: tuple[str, ...],
    as_json: bool,
    name: str | None,
) -> None:
    """A person approves the work of STEP, by default of the one that waits for it."""

    def operation(place: Place, workflow_id: str) -> dict[str, Any]:
        return engine.approve_step(
            place,
            workflow_id,
            step or _waiting(place, workflow_id),
            modifications=pairs(modifications),
            selected_variant=variant,
        )

    answer(app, name, "approved", operation, as_json=as_json)


@pipeline.command()
@click.argument("step", type=click.IntRange(1), required=False)
@_MODIFICATIONS
@json_option
@workflow_option
@pass_app
def reject(
    app: App, step: int | None, modifications: tuple[str, ...], as_json: bool, name: str | None
) -> None:
    """A person sends the work of STEP back, by default of the one that waits for approval."""

    def operation(place: Place, workflow_id: str) -> dict[str, Any]:
        return engine.approve_step(
            place,
            workflow_id,
            step or _waiting(place, workflow_id),
            approved=False,
            modifications=pairs(modifications),
        )

    answer(app, name, "sent back", operation, as_json=as_json)


def _waiting(place: Place, workflow_id: str) -> int:
    """The step that waits for an approval, where there is just one."""
    state = files.find(place.store, workflow_id).state
    waiting = [each for each in state.steps if each.status == "waiting_approval"]
    if len(waiting) > 1:
        names = ", ".join(title(state, each) for each in waiting)
        raise IllegalMove(f"several wait for an approval: {names}", hint="Say which one.")
    return waiting[0].number if waiting else state.current
