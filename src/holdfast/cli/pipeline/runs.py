"""Commands for whole workflows: begun, resumed, cancelled, listed, measured; and their definitions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from holdfast.cli.app import App, dump, json_option, pairs, pass_app, say
from holdfast.cli.naming import name_argument, workflow_option
from holdfast.cli.pipeline.group import answer, change, meant, pipeline, tell_now
from holdfast.cli.terminal import fixed, line, put
from holdfast.columns import pad
from holdfast.formats.base import Place
from holdfast.formats.pipeline import definitions, engine, lifecycle, logs
from holdfast.formats.pipeline.model import GENERATION, PLANNING
from holdfast.plaintext import one_line

_OPTIONS_OF = {
    GENERATION: {"scene", "blueprint"},
    PLANNING: {"level", "act", "chapter", "scene"},
}


@pipeline.command()
@click.argument("kind", metavar="TYPE")
@click.option(
    "--scene", metavar="ID", help="Of a generation, such as 0204; of a planning, its number."
)
@click.option("--blueprint", metavar="PATH", help="Of the scene that is generated.")
@click.option("--level", type=click.Choice(definitions.LEVELS), help="Of a planning.")
@click.option("--act", type=click.IntRange(1), help="Of a planning.")
@click.option("--chapter", type=click.IntRange(1), help="Of a planning.")
@click.option("--context", "pairs_given", multiple=True, metavar="K=V", help="Of a defined one.")
@click.option("--session", metavar="NAME", help='The session that it runs in; "global" for none.')
@json_option
@pass_app
def start(
    app: App,
    /,
    kind: str,
    session: str | None,
    pairs_given: tuple[str, ...],
    as_json: bool,
    **given: Any,
) -> None:
    """Begin a workflow: generation, planning, or one that is defined in the project.

    generation --scene 0204; planning --level scene --act 1 --chapter 2 --scene 4;
    code-review --context pr=42.
    """
    _refuse_options_of_others(kind, given | {"pairs_given": pairs_given})
    synced = change(app, save=False, stay=False)
    started = engine.start_workflow(
        synced.place,
        kind,
        session_name=session,
        environment_session=app.surroundings.pipeline_session,
        scene_id=given["scene"],
        blueprint=given["blueprint"],
        level=given["level"],
        context=_numbers(given) if kind == PLANNING else pairs(pairs_given),
    )
    workflow_id = started["workflow_id"]
    tell_now(synced, workflow_id, "started", started if as_json else None, f"its id: {workflow_id}")


def _refuse_options_of_others(kind: str, given: dict[str, Any]) -> None:
    allowed = _OPTIONS_OF.get(kind, {"pairs_given"})
    wrong = [option for option, value in given.items() if value and option not in allowed]
    if wrong:
        options = click.get_current_context().command.params
        written = next(each.opts[-1] for each in options if each.name == wrong[0])
        raise click.UsageError(f"{written} is not for the type {kind!r}.")


def _numbers(given: dict[str, Any]) -> dict[str, int]:
    scene = given["scene"]
    if scene is not None and not (scene.isascii() and scene.isdecimal()):
        raise click.BadParameter(f"{scene!r} is no number", param_hint="--scene")
    numbers = {"act": given["act"], "chapter": given["chapter"], "scene": scene and int(scene)}
    return {key: number for key, number in numbers.items() if number is not None}


@pipeline.command()
@name_argument()
@click.option("--from", "from_step", type=click.IntRange(1), help="Do it anew from this step on.")
@json_option
@pass_app
def resume(app: App, name: str | None, from_step: int | None, as_json: bool) -> None:
    """Go on with a workflow that failed, was cancelled or was left.

    Without --from, it goes on where it stopped. With it, that step and all that wait for it are done
    anew.
    """

    def resumed(place: Place, workflow_id: str) -> dict[str, Any]:
        return engine.resume_workflow(place, workflow_id, from_step=from_step)

    answer(app, name, "resumed", resumed, as_json=as_json)


@pipeline.command()
@name_argument()
@click.option("--reason", help="Why.")
@json_option
@pass_app
def cancel(app: App, name: str | None, reason: str | None, as_json: bool) -> None:
    """Give a workflow up. Its artefacts stay, so that it can be resumed."""
    synced = change(app)
    workflow_id = meant(app, synced, name)
    if as_json:
        dump(engine.cancel_workflow(synced.place, workflow_id, reason=reason))
        return
    cancelled = lifecycle.cancel(synced.place, workflow_id, reason)
    say(f"Workflow cancelled: {workflow_id}")
    for path in cancelled.cleaned:
        say(f"  removed, since it was empty: {one_line(path)}")


# Looking.


@pipeline.command("list")
@click.option("--status", help="Only those with this status.")
@click.option("--type", "kind", metavar="TYPE", help="Only those of this type.")
@click.option("--session", metavar="NAME", help="Only those of this session.")
@json_option
@pass_app
def list_all(
    app: App, status: str | None, kind: str | None, session: str | None, as_json: bool
) -> None:
    """All workflows, oldest first."""
    synced = app.look()
    listed = engine.list_workflows(
        synced.place, status=status, workflow_type=kind, session_name=session
    )
    if as_json:
        dump(listed)
        return
    if not listed["total"]:
        put("See: holdfast pipeline start --help", whole=f"No such workflows in {synced.root}.")
    for each in listed["workflows"]:
        name = pad(one_line(each["workflow_id"], 60), 45)
        stands = each["status"].replace("_", " ")
        fixed(f"{name} {each['current_step']:>3} {each['progress_percentage']:>4}%  {stands}")


@pipeline.command()
@json_option
@workflow_option
@pass_app
def metrics(app: App, as_json: bool, name: str | None) -> None:
    """How long its steps took, how often they were tried, how many agents were called."""
    synced = app.look()
    told = engine.workflow_metrics(synced.place, meant(app, synced, name))
    if as_json:
        dump(told)
        return
    measured = dict(told["workflow_metrics"])
    say(one_line(measured.pop("workflow_id")))
    for each in measured.pop("step_times"):
        say(f"  step {each['step']}: {each['duration_seconds']} s")
    for name_of, value in measured.items():
        say(f"  {name_of.replace('_', ' ')}: {value}")


@pipeline.command()
@json_option
@workflow_option
@pass_app
def log(app: App, as_json: bool, name: str | None) -> None:
    """What was done to it, and by whom, oldest first."""
    synced = app.look()
    entries = logs.read(synced.place.store, meant(app, synced, name))
    if as_json:
        dump(entries)
        return
    for entry in entries:
        facts = {key: value for key, value in entry.items() if key not in {"time", "event"}}
        told = ", ".join(f"{key} {value}" for key, value in facts.items())
        line(one_line(f"{entry.get('time')} {entry.get('event')}: {told}"))


# Definitions.


@pipeline.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@click.option("--check", "only_check", is_flag=True, help="Only say whether it is right.")
@click.option("--replace", is_flag=True, help="In place of a definition of the same name.")
@pass_app
def define(app: App, file: Path, only_check: bool, replace: bool) -> None:
    """Check the definition of a workflow in FILE (TOML or JSON), and put it into its place.

    What is under way keeps the definition that it was begun with.
    """
    definition = definitions.read(file)
    steps = f"{len(definition.all)} {definition.word}s"
    if only_check:
        say(f"{definition.name} is right: {steps}.")
        return
    place = change(app, save=False, stay=False).place
    path = lifecycle.define(place, file, definition, replace=replace)
    say(f"Workflow defined: {definition.name}, {steps}. It lies in {place.store.relative(path)}")
    say(f"  Begin one: holdfast pipeline start {definition.name}")
