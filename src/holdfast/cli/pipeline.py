"""The group `holdfast pipeline`: start, advance, list and measure workflows.

Also their definitions and sessions. See the table in docs/formats/pipeline.md.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import click
from click.shell_completion import CompletionItem

from holdfast.cli.app import (
    App,
    Move,
    Whole,
    add_moves,
    agreed,
    dump,
    json_option,
    pairs,
    pass_app,
    refuse_options_of_others,
    say,
    take_up,
    workflow_name,
    workflow_option,
)
from holdfast.cli.terminal import fixed, put
from holdfast.cli.words import IN_RECORD, Word
from holdfast.errors import IllegalMove, NoSuchWorkflow
from holdfast.files.store import Store
from holdfast.formats.engine.workflow import Place
from holdfast.formats.pipeline import (
    definitions,
    files,
    operations,
    progress,
    sessions,
)
from holdfast.formats.pipeline.definitions import GENERATION, PLANNING
from holdfast.formats.pipeline.format import FORMAT
from holdfast.formats.pipeline.model import STATUSES
from holdfast.formats.pipeline.moves import GivenStatus
from holdfast.formats.pipeline.sessions import PipelineSession
from holdfast.text.plaintext import counted, one_line
from holdfast.text.room import pad
from holdfast.workflows import sync
from holdfast.workflows.sync import ProjectView

_OPTIONS_OF = {
    GENERATION: {"scene", "blueprint"},
    PLANNING: {"level", "act", "chapter", "scene"},
}
_WAITING_STEP = click.argument("step", type=Whole(1), required=False)
_MODIFICATIONS = click.option(
    "--modify",
    "modifications",
    multiple=True,
    metavar="K=V",
    callback=lambda _, __, given: pairs(given),
    help="A change to make.",
)


@click.group()
def pipeline() -> None:
    """Run generation, planning and custom workflows step by step, in workspace/.

    With --json, each command answers like the matching MCP tool.
    """


def _meant(app: App, view: ProjectView, name: str | None) -> str:
    """The id of the workflow called *name*, else of this session's."""
    if name and not app.selected:
        try:  # also one that ended long ago, which lists leave out
            return files.find(view.place.store, name).name
        except NoSuchWorkflow:
            pass
    try:
        return app.meant(view, name, FORMAT.name).name
    except NoSuchWorkflow as error:
        stopped = {"cancelled", "failed"}
        over = [one.name for one in view.workflows if one.briefing.status in stopped]
        if over and not name:
            hint = f"Resume one that has ended: holdfast pipeline resume {over[0]}"
            raise NoSuchWorkflow(error.cause, hint=hint) from error
        raise


def _tell_now(
    view: ProjectView, workflow_id: str, verb: str, answer: Any, *details: str, as_json: bool
) -> None:
    """Make it this session's and print its status, or the *answer* as JSON."""
    workflow = FORMAT.workflow(view.place, files.find(view.place.store, workflow_id))
    if not as_json:
        take_up(view, workflow, verb, *details)
        return
    sync.take_up(view, workflow)
    dump(answer)


@pipeline.command()
@click.argument("kind", metavar="TYPE")
@click.option(
    "--scene", metavar="ID", help="A generation's scene, such as 0204; a planning's scene number."
)
@click.option("--blueprint", metavar="PATH", help="For generation: the scene's blueprint.")
@click.option("--level", type=click.Choice(definitions.LEVELS), help="For planning: the level.")
@click.option("--act", type=Whole(1), help="For planning: the act.")
@click.option("--chapter", type=Whole(1), help="For planning: the chapter.")
@click.option("--context", "pairs_given", multiple=True, metavar="K=V", help="For a custom type.")
@click.option("--session", metavar="NAME", help='The pipeline session; "global" for none.')
@json_option
@pass_app
def start(app: App, /, kind: str, session: str | None, as_json: bool, **given: Any) -> None:
    """Start a workflow: generation, planning, or one that the project defines.

    generation --scene 0204; planning --level scene --act 1 --chapter 2 --scene 4;
    code-review --context pr=42.
    """
    allowed = _OPTIONS_OF.get(kind, {"pairs_given"})
    refuse_options_of_others(given, allowed, f"type {kind!r}")
    view = app.change_several(FORMAT, stay=False)
    started = operations.start_workflow(
        view.place,
        kind,
        session_name=session or app.surroundings.pipeline_session,
        scene_id=given["scene"],
        blueprint=given["blueprint"],
        level=given["level"],
        context=_numbers(**given) if kind == PLANNING else pairs(given["pairs_given"]),
    )
    workflow_id = started["workflow_id"]
    details = [f"its id: {workflow_id}"]
    if given["blueprint"] and not (view.place.root / given["blueprint"]).is_file():
        details.append(f"there is no file {given['blueprint']}, which is its blueprint")
    _tell_now(view, workflow_id, "started", started, *details, as_json=as_json)


def _numbers(act: int | None, chapter: int | None, scene: str | None, **_: Any) -> dict[str, int]:
    if scene is not None and not (scene.isascii() and scene.isdecimal()):
        raise click.BadParameter(f"{scene!r} is not a number", param_hint="--scene")
    numbers = {"act": act, "chapter": chapter, "scene": int(scene) if scene else None}
    return {key: number for key, number in numbers.items() if number is not None}


# Commands that make one move.


def _next(place: Place, workflow_id: str) -> Any:
    """Begin the next step, or try again after one that failed."""
    state = files.find(place.store, workflow_id).state
    current, following, blocked = progress.next_of(state)
    if current and state.retry_of(current):
        return operations.update_workflow_state(place, workflow_id, current.number, "failed")
    if blocked or following is None:
        reason = blocked.reason if blocked else "there is no next step"
        hint = f"{blocked.action}." if blocked and blocked.action else ""
        raise IllegalMove(reason, hint=hint)
    return operations.update_workflow_state(place, workflow_id, following.number, "in_progress")


def _done(place: Place, workflow_id: str, artifacts: dict[str, str]) -> Any:
    """Complete the current step. If it needs a person's approval, it waits for that."""
    number = files.find(place.store, workflow_id).state.current
    return operations.update_workflow_state(place, workflow_id, number, "completed", artifacts)


def _approve(place: Place, workflow_id: str, **given: Any) -> Any:
    """Record a person's approval of STEP (default: the step that waits for it)."""
    return operations.approve_step(place, workflow_id, approved=True, **given)


def _reject(place: Place, workflow_id: str, **given: Any) -> Any:
    """Send STEP back on a person's request (default: the step that waits for approval)."""
    return operations.approve_step(place, workflow_id, approved=False, **given)


def _run(app: App, name: str | None, move: Move, given: dict[str, Any]) -> None:
    as_json = given.pop("as_json")
    view = app.change_several(FORMAT)
    workflow_id = _meant(app, view, name)
    answer = move.step(view.place, workflow_id, **given)
    _tell_now(view, workflow_id, move.verb, answer, *answer.get("notes", ()), as_json=as_json)


def _paths(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    pairs(given)  # validates them; values stay as typed, as 0204 is not a number
    split = (text.partition("=") for text in given)
    return {name.strip(): path for name, _, path in split}


_ARTIFACTS = click.option(
    "--artifact",
    "artifacts",
    multiple=True,
    metavar="NAME=PATH",
    callback=_paths,
    help="An artefact.",
)

MOVES = (
    Move("next", _next, "advanced", json_option),
    Move("done", _done, "advanced", _ARTIFACTS, json_option),
    Move(
        "update",
        operations.update_workflow_state,
        "advanced",
        click.argument("step", type=Whole(1)),
        click.option("--status", type=click.Choice(get_args(GivenStatus)), help="Its status now."),
        _ARTIFACTS,
        click.option("--error", metavar="TEXT", help="The reason that it failed."),
        json_option,
    ),
    Move(
        "approve",
        _approve,
        "approved",
        _WAITING_STEP,
        click.option(
            "--variant", "selected_variant", metavar="NAME", help="The selected variant, if any."
        ),
        _MODIFICATIONS,
        json_option,
    ),
    Move("reject", _reject, "sent back", _WAITING_STEP, _MODIFICATIONS, json_option),
    Move(
        "resume",
        operations.resume_workflow,
        "resumed",
        click.option("--from", "from_step", type=Whole(1), help="Repeat from this step."),
        json_option,
        which=workflow_name(),
    ),
    Move(
        "cancel",
        operations.cancel_workflow,
        "cancelled",
        click.option("--reason", help="Why."),
        json_option,
        which=workflow_name(),
    ),
)
add_moves(pipeline, MOVES, _run)


@pipeline.command("list")
@click.option("--status", type=click.Choice(STATUSES), help="Show only workflows with this status.")
@click.option("--type", "workflow_type", metavar="TYPE", help="Show only workflows of this type.")
@click.option("--session", "session_name", metavar="NAME", help="Show only this session's.")
@json_option
@pass_app
def list_all(app: App, /, as_json: bool, **wanted: Any) -> None:
    """List all workflows, oldest first."""
    place = app.place(FORMAT.name)
    listed = operations.list_workflows(place, **wanted)
    if as_json:
        dump(listed)
        return
    if not listed["total"]:
        put("Start one: holdfast pipeline start", whole=f"No such workflows in {place.root}.")
    for row in listed["workflows"]:
        name = pad(one_line(row["workflow_id"], 60), 45)
        stands = row["status"].replace("_", " ")
        fixed(f"{name} {row['current_step']:>3} {row['progress_percentage']:>4}%  {stands}")


@pipeline.command()
@workflow_option
@pass_app
def metrics(app: App, name: str | None) -> None:
    """Print step times, attempts and agent calls, as JSON."""
    view = app.look(FORMAT.name)
    file = files.find(view.place.store, _meant(app, view, name))
    dump(progress.metrics(file.state))


@pipeline.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@click.option("--check", "only_check", is_flag=True, help="Only check whether it is valid.")
@click.option("--replace", is_flag=True, help="Replace the definition of the same name.")
@pass_app
def define(app: App, file: Path, only_check: bool, replace: bool) -> None:
    """Check and install the workflow definition in FILE (TOML or JSON).

    Workflows in progress keep the definition they started with.
    """
    definition = definitions.read(file)
    steps = f"{len(definition.all)} {definition.word}s"
    if only_check:
        say(f"{definition.name} is valid: {steps}.")
        return
    place = app.change_several(FORMAT, stay=False).place
    path = operations.define(place, file, definition, replace=replace)
    say(f"Workflow defined: {definition.name}, {steps}. It is in {place.store.relative(path)}")
    say(f"  Start one: holdfast pipeline start {definition.name}")


# Sessions.


@pipeline.group()
def session() -> None:
    """Keep workflows in a separate session until they are committed or cancelled.

    A new workflow goes into the session named by --session, else by HOLDFAST_SESSION, else into the
    only open one. Without any of these, or with "global", it is global.
    """


def _complete_session(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem]:
    """The sessions of the project in the current folder."""
    names = files.session_names(Store("."))
    return [CompletionItem(name) for name in names if name.startswith(begun)]


_SESSION = click.argument("name", shell_complete=_complete_session)


@session.command("create")
@click.argument("name")
@pass_app
def create_session(app: App, name: str) -> None:
    """Create a session with no workflows."""
    sessions.create(app.change_several(FORMAT, stay=False).place, name)
    say(f"Session created: {name}. It is in {files.Location(name).base}")


@session.command("commit")
@_SESSION
@pass_app
def commit_session(app: App, name: str) -> None:
    """Make a session's workflows and their artefacts global.

    The global copies then take precedence; the session keeps its own until it is cancelled. Nothing
    is overwritten: if a file is in the way, nothing is committed.
    """
    workflows, artefacts = sessions.commit(app.change_several(FORMAT).place, name)
    made = f"{counted(len(workflows), 'workflow')} with {counted(len(artefacts), 'artefact')}"
    say(f"Session committed: {name}, {made}")
    for file in workflows:
        say(f"  {files.GLOBAL.state(file.name)}")


@session.command("cancel")
@_SESSION
@click.option("--dry-run", is_flag=True, help="Show what would be removed.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@pass_app
def cancel_session(app: App, name: str, dry_run: bool, yes: bool) -> None:
    """Permanently remove a session's workflows, artefacts and logs.

    Committed workflows keep their global copies.
    """
    place = app.place(FORMAT.name) if dry_run else app.change_several(FORMAT).place
    if dry_run or not yes:
        for path in sessions.would_cancel(place, name):
            say(f"  would be removed: {one_line(path)}")
    hint = f"To confirm: holdfast pipeline session cancel {name} --yes"
    question = "Remove it for good?"
    if dry_run or not agreed(question, yes=yes, undone="nothing was removed", hint=hint):
        return
    removed = sessions.cancel(place, name)
    say(f"Session cancelled: {name}")
    for path in removed:
        say(f"  removed: {one_line(path)}")


@session.command("list")
@json_option
@pass_app
def list_sessions(app: App, as_json: bool) -> None:
    """List the sessions; * marks the one that a new workflow goes into."""
    place = app.place(FORMAT.name)
    found = sessions.every(place)
    if as_json:
        dump(
            [
                {
                    "name": one.name,
                    "open": one.is_open,
                    "committed": one.committed,
                    "workflows": [file.name for file in one.workflows],
                }
                for one in found
            ]
        )
        return
    if not found:
        put(
            "Create one: holdfast pipeline session create NAME",
            whole=f"No sessions in {place.root}.",
        )
        return
    active = sessions.active(place, app.surroundings.pipeline_session)
    for one in found:
        mark = "*" if one.name == active else " "
        workflows = counted(len(one.workflows), "workflow")
        fixed(f"{mark} {pad(one_line(one.name, 60), 32)} {workflows}, {_stands(one)}")


def _stands(found: PipelineSession) -> str:
    if not found.committed:
        return "open"
    return f"{found.committed} committed" if found.is_open else "committed"


WORDS = {
    "next": Word("`pipeline next`: begins the next step", "next"),
    "done": Word(
        "`pipeline done`: completes the current step, with `--artifact NAME=PATH`", "done"
    ),
    "note": IN_RECORD,
    "block": Word(
        "a step only fails: holdfast pipeline update STEP --status failed --error REASON"
    ),
    "unblock": Word("`pipeline resume`, of one that failed or was cancelled", "resume"),
    "approve": Word("`pipeline approve`", "approve"),
    "reject": Word("`pipeline reject`, with `--modify NAME=TEXT`", "reject"),
}
