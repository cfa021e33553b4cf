"""`holdfast init`: what is understood of the project, and what is still to be set up.

All questions come first, then all that is written: whoever leaves in the middle has changed nothing.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import click

from holdfast.agents.clients import CLAUDE, Scope
from holdfast.cli import terminal
from holdfast.cli.app import (
    App,
    complete_path,
    dump,
    json_option,
    pass_app,
    phase_names,
    say,
    say_aside,
    take_up,
    warn_without_hooks,
)
from holdfast.cli.installer import (
    ALLOWED,
    Registration,
    dry_run_option,
    refuse_what_was_not_asked_for,
    registration_for,
    scope_option,
    tell_what_comes_next,
    tell_what_was_written,
    warn,
    yes_option,
)
from holdfast.cli.looking import explanation, print_explanation, print_line
from holdfast.cli.standing import start_following
from holdfast.cli.terminal import can_ask, put
from holdfast.errors import HoldfastError, IllegalMove, StateUnreadable, StateUnwritable
from holdfast.files.regular import contains
from holdfast.files.store import Store
from holdfast.formats.canonical.explaining import PASSED_OVER
from holdfast.formats.canonical.sources.plan import read_plan
from holdfast.formats.engine.workflow import Workflow
from holdfast.restoring import restore
from holdfast.setup import clientsettings, extras, installing, skill
from holdfast.setup.clientsettings import Source
from holdfast.setup.installing import Edit
from holdfast.setup.plugin import marker
from holdfast.setup.registration import Program
from holdfast.text.plaintext import clean, counted, one_line
from holdfast.workflows.sync import ProjectView

WHAT = ("hooks", "permission", "statusline", "skill", "follow")
State: TypeAlias = Literal["done", "open", "not possible", "wrong"]
_MOST_PLANS = 10  # told in full
_MOST_LINES = 3  # of a plan that were not understood
_MOST_FOLLOWED = 5  # questions about plans


class Offer(NamedTuple):
    """Something that can be set up: by an *edit* of the client's settings, or by *act*."""

    name: str  # one of WHAT
    what: str  # what would be done, or what is there, or why it cannot be done
    path: str  # what it writes; "" for nothing
    state: State = "open"
    edit: Edit | None = None
    act: Callable[[], str] | None = None  # says what was done


@click.command()
@scope_option
@click.option(
    "--only",
    "wanted",
    multiple=True,
    type=click.Choice(WHAT),
    help="Offer only this; may be repeated.",
)
@yes_option
@dry_run_option
@json_option
@click.option("--plan", "starts_plan", is_flag=True, help="Write a starter plan instead.")
@click.option("--name", help="With --plan: the name of the work.")
@click.option("--phases", help='With --plan: the phase names in order: "Design,Build,Test".')
@click.option(
    "--file",
    "path",
    metavar="PATH",
    help="With --plan: the file to write, from the project's root (default: PLAN.md).",
    shell_complete=complete_path,
)
@pass_app
def init(
    app: App,
    named: Scope | None,
    wanted: Sequence[str],
    yes: bool,
    dry_run: bool,
    as_json: bool,
    starts_plan: bool,
    name: str | None,
    phases: str | None,
    path: str | None,
) -> None:
    """Show what is understood of this project, and set up what is missing.

    Asks before each step: the hooks, a permission rule for `holdfast` commands, the status line, the skill
    for agents, and plans to follow. Without a terminal it changes nothing unless --yes is given.
    """
    if starts_plan:
        if wanted or yes or dry_run or as_json or named:
            raise click.UsageError("--plan takes only --name, --phases and --file.")
        _start_plan(app, name, phases, path)
        return
    if name or phases or path:
        raise click.UsageError("--name, --phases and --file need --plan.")
    view = app.look()
    plans = [explanation(view, file) for file in _plans(view)]
    if not as_json:
        _show_project(app, view, plans)
    setup = registration_for(app, CLAUDE, named or _scope_in_use(app))
    offers = [offer for offer in _offers(app, view, setup) if offer.name in (wanted or WHAT)]
    chosen = [offer for offer in offers if offer.state == "open"]
    asks = can_ask() and not (yes or dry_run or as_json)
    if not as_json:
        _show(offer for offer in offers if not asks or offer.state != "open")
    if asks:
        chosen = _asked(chosen)
    elif dry_run or not yes:
        chosen = []
    if chosen and not as_json:
        say()
    results = _set_up(app, setup, chosen, named, quiet=as_json)
    offers = [results.get(offer, offer) for offer in offers]
    if as_json:
        facts = [{field: getattr(offer, field) for field in _SHOWN} for offer in offers]
        changed = any(offer.state == "done" for offer in results.values())
        dump({"root": view.root, "plans": plans, "setup": facts, "changed": changed})
    else:
        _conclude(offers, chosen)
    click.get_current_context().exit(any(offer.state == "wrong" for offer in offers))


_SHOWN = ("name", "state", "what", "path")


# What is understood.


def _plans(view: ProjectView) -> list[str]:
    """The markdown that was looked at: what is active first, then what may be, then the rest."""
    looked = [path for path, _ in view.looked if path.endswith(".md")]
    active = {known.source for known in view.workflows if known.standing == "active"}
    first = [path for path in looked if path in active]
    return list(dict.fromkeys([*first, *(plan.path for plan in view.candidates), *looked]))


def _show_project(app: App, view: ProjectView, plans: Sequence[dict[str, Any]]) -> None:
    put("", lead="Project: ", whole=view.root)
    home = app.surroundings.home
    if home and os.path.realpath(home) == view.root:
        put("This is your home folder. To see what is understood of a project, run it there.")
    for found in plans[:_MOST_PLANS]:
        say()
        print_explanation(found)
        if found["verdict"] != "over":
            _show_what_was_not_understood(found)
    if more := plans[_MOST_PLANS:]:
        say()
        put(f"And {counted(len(more), 'more file')}. See: holdfast why FILE")
    if not plans and not view.place.off:
        say()
        put("No plan and no CLAUDE.local.md. To begin with a plan: holdfast init --plan")
    files = {found["file"] for found in plans}
    others = [workflow for workflow in view.workflows if _is_other(workflow, files)]
    for workflow in others[:_MOST_PLANS]:
        put(one_line(restore.in_brief(workflow)), lead="Also: ")
    if len(others) > _MOST_PLANS:
        put(f"And {counted(len(others) - _MOST_PLANS, 'more workflow')}. See: holdfast list")


def _show_what_was_not_understood(found: dict[str, Any]) -> None:
    lines = [line for line in found["lines"] if line["change"] not in {"", PASSED_OVER}]
    for line in lines[:_MOST_LINES]:
        print_line(line)
    if len(lines) > _MOST_LINES:
        command = shlex.join(["holdfast", "why", found["file"]])
        put(f"  and {counted(len(lines) - _MOST_LINES, 'more line')}: {command}")


def _is_other(workflow: Workflow, files: set[str]) -> bool:
    return workflow.standing == "active" and workflow.source not in files


# What can be set up.


def _scope_in_use(app: App) -> Scope:
    """The settings that register us already, else the user's."""
    found = clientsettings.look(app.surroundings).sources()
    return next((source.scope for source in found if not source.plugin), "user")


def _offers(app: App, view: ProjectView, setup: Registration) -> Iterator[Offer]:
    plugin = next((source for source in setup.scopes.sources() if source.plugin), None)
    has_plugin = plugin is not None or marker.is_ours(sys.prefix)
    yield _hooks(setup, has_plugin=has_plugin)
    yield _permission(setup)
    yield _status_line(setup, plugin, has_plugin=has_plugin)
    yield _skill(setup, has_plugin=has_plugin)
    record = str(view.place.store.private)
    if len(view.candidates) > _MOST_FOLLOWED:
        what = (
            f"{len(view.candidates)} files look like plans, too many to ask: holdfast follow FILE"
        )
        yield Offer("follow", what, record, "not possible")
        return
    for plan in view.candidates:
        what = f"follow {one_line(plan.path)} ({one_line(plan.why, 120)})"
        yield Offer("follow", what, record, act=partial(_follow, app, view, plan.path))


def _hooks(setup: Registration, *, has_plugin: bool) -> Offer:
    file = setup.file
    offer = Offer("hooks", "the plugin registers them", file.path, "done")
    if has_plugin:
        return offer
    if file.problem:
        return offer._replace(what=file.problem, state="wrong")
    if setup.change().is_none:
        return offer._replace(what=f"{counted(len(file.hooks), 'hook')} registered")
    count = counted(len(setup.change().result.hooks), "hook")
    what = f"bring {count} up to date" if file.hooks else f"register {count}"
    edit = partial(installing.with_ours, wanted=setup.wanted)
    return offer._replace(what=what, state="open", edit=edit)


def _permission(setup: Registration) -> Offer:
    file = setup.file
    offer = Offer("permission", ALLOWED, file.path, edit=extras.allow)
    if setup.scopes.allows_us:
        what = "agents may run `holdfast` commands without asking"
        return offer._replace(what=what, state="done")
    problem = file.problem or extras.unfit_for_rule(file.value)
    return offer._replace(what=problem, state="wrong") if problem else offer


def _status_line(setup: Registration, plugin: Source | None, *, has_plugin: bool) -> Offer:
    file, scopes = setup.file, setup.scopes
    offer = Offer("statusline", "show the workflow in the status line", file.path)
    lines = [extras.status_line(known.value) for known in scopes.files.values()]
    program: Program | None = setup.program
    if has_plugin:
        market = plugin.plugin.partition("@")[2] if plugin else ""
        folder = clientsettings.marketplace(scopes.folder, market)
        # The copy that the client runs has the version in its path; what it was copied from stays.
        program = Program("/bin/sh", (os.path.join(folder, "bin", "holdfast"),)) if folder else None
    if any(map(extras.is_ours, lines)):
        return offer._replace(what="it shows the workflow", state="done")
    if any(line is not None for line in lines):
        why = "you have another one; call `holdfast statusline` from its script"
    elif file.problem:
        return offer._replace(what=file.problem, state="wrong")
    elif setup.scope == "project":
        why = "it is yours alone, so it is not for a project's settings: use --scope user"
    elif program is None:
        why = "the folder of the plugin's marketplace is not known"
    else:
        return offer._replace(edit=partial(extras.show, program=program))
    return offer._replace(what=why, state="not possible")


def _skill(setup: Registration, *, has_plugin: bool) -> Offer:
    path = skill.path_for(setup.scopes, setup.scope)
    offer = Offer("skill", "the plugin brings it", path, "done")
    if has_plugin:
        return offer._replace(path="")
    if setup.scope == "project" and not contains(setup.scopes.root, os.path.realpath(path)):
        # A clone may bring such a link, to have what it leads to replaced or copied.
        return offer._replace(what="it leads outside the project", state="wrong")
    try:
        now = skill.read(path)
    except StateUnreadable as error:
        return offer._replace(what=error.reason, state="wrong")
    if now == skill.text():
        return offer._replace(what="it tells agents the commands")
    what = "add the skill that tells agents the commands"
    if now is not None:
        what = "replace the skill that tells agents the commands, which is not of this release"
    return offer._replace(what=what, state="open", act=partial(_write_skill, path))


# The questions and the work.


def _asked(offers: Sequence[Offer]) -> list[Offer]:
    """Those to which the person says yes."""
    try:
        return [offer for offer in offers if click.confirm(_question(offer), default=True)]
    except click.Abort:
        say("\nNothing was changed.")
        raise


def _set_up(
    app: App, setup: Registration, chosen: Sequence[Offer], named: Scope | None, *, quiet: bool
) -> dict[Offer, Offer]:
    """Carry out *chosen*; each as it is then. What fails is told, and the rest is done all the same."""
    tell = (lambda _: None) if quiet else say
    results: dict[Offer, Offer] = {}

    def note(offers: Sequence[Offer], work: Callable[[], str]) -> None:
        state: State = "done"
        try:
            if done := work():
                tell(done)
        except HoldfastError as error:
            state = "wrong"
            say_aside(f"{error.cause}. {error.hint or ''}".rstrip())
        results.update((offer, offer._replace(state=state)) for offer in offers)

    edited = [offer for offer in chosen if offer.edit]
    if edited:
        note(edited, partial(_edit_settings, app, setup, edited, named, quiet=quiet))
    for offer in chosen:
        if offer.act:
            note([offer], offer.act)
    return results


def _edit_settings(
    app: App, setup: Registration, offers: Sequence[Offer], named: Scope | None, *, quiet: bool
) -> str:
    file = setup.file
    refuse_what_was_not_asked_for(file, setup.scope, named)
    change = installing.edited(file, [offer.edit for offer in offers if offer.edit])
    copy = installing.install(change, app.surroundings.state_dir)
    if not quiet:
        tell_what_was_written(change, copy)
        warn(setup.warnings(change))
    return ""


def _write_skill(path: str) -> str:
    aside = skill.write(path)
    return f"Wrote {path}" + (f"; what was there is now {aside}" if aside else "")


def _follow(app: App, view: ProjectView, path: str) -> str:
    start_following(app, view, path)
    return f"Following {one_line(path)}"


# What is shown of it.

_SIGNS: dict[State, tuple[str, terminal.Style]] = {
    "done": ("ok", terminal.GOOD),
    "open": ("to do", terminal.WARNING),
    "not possible": ("no", terminal.FAINT),
    "wrong": ("WRONG", terminal.BAD),
}
_LABEL = 21  # columns before what is said of an offer


def _show(offers: Iterable[Offer]) -> None:
    say()
    path = ""
    for offer in offers:
        sign, style = _SIGNS[offer.state]
        if offer.path not in {path, ""}:
            path = offer.path
            say(f"{path}:")  # on one line, for copying
        put(offer.what, lead=f"  {sign:<6} {offer.name}".ljust(_LABEL), style=style)


def _question(offer: Offer) -> str:
    return clean(f"{offer.what[0].upper()}{offer.what[1:]}?\n  {offer.path}")


def _conclude(offers: Sequence[Offer], chosen: Sequence[Offer]) -> None:
    left = [offer for offer in offers if offer.state == "open"]
    if any(offer.state == "wrong" for offer in offers):
        say_aside("repair what is wrong, and run the command again")
    done = {offer.name for offer in offers if offer.state == "done"}
    if "hooks" in done.intersection(offer.name for offer in chosen):
        tell_what_comes_next(CLAUDE)
    if chosen:
        return
    say()
    if not left:
        put("Nothing to do: nothing was changed.")
        return
    put("Nothing was changed. To do all of it: holdfast init --yes")
    put(f"To do one of them: holdfast init --yes --only {left[0].name}")


# A starter plan.


def _start_plan(app: App, name: str | None, phases: str | None, path: str | None) -> None:
    store = app.place().store
    if can_ask():
        has_plan = os.path.lexists(store.root / _PLAN)
        if has_plan and not path:
            say(f"{store.root / _PLAN} is there already, so this plan needs another file.")
        name = name or click.prompt("The name of the work")
        phases = phases or click.prompt("Its phases in order", default="Design,Build,Test")
        path = path or click.prompt(
            "The file, from the project's root",
            default=None if has_plan else _PLAN,
            value_proc=partial(_answered_file, store),
        )
    if not name or not phases:
        raise click.UsageError("Without a terminal, --plan needs --name and --phases.")
    view = app.change(save_due=False)
    called, names = name.strip(), phase_names(phases)
    file = store.root / (path or _PLAN)
    relative = _place_for_plan(store, file)
    text = _plan_text(called, names)
    said = read_plan(text.encode(), path=relative, mtime=0).declaration
    read = (said.workflow, [phase.name for phase in said.phases]) if said else (None, [])
    if read != (called, names):
        raise IllegalMove(
            f"the plan would be read as {read[0]!r} with the phases {', '.join(read[1]) or '-'}",
            hint="Nothing was written. Use plain words, without marks and numbers.",
        )
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("xb") as stream:  # never over what somebody else wrote
            stream.write(text.encode())
    except OSError as error:
        raise StateUnwritable(file, error.strerror or str(error)) from error
    say(f"Wrote {file}")
    view = app.change()
    workflow = next((known for known in view.workflows if known.source == relative), None)
    if workflow is None:  # it lies where nobody looks for plans
        view, workflow = start_following(app, view, relative)
    take_up(view, workflow, "started")
    warn_without_hooks(app.surroundings)


_PLAN = "PLAN.md"


def _answered_file(store: Store, answer: str) -> str:
    """*answer*, if a plan can be written there; click asks again after an error of usage."""
    try:
        _place_for_plan(store, store.root / answer)
    except IllegalMove as error:
        raise click.UsageError(error.cause) from error
    return answer


def _place_for_plan(store: Store, file: Path) -> str:
    """*file* relative to the project's root."""
    real = file.parent.resolve() / file.name
    if not real.is_relative_to(store.root) or real.suffix.lower() != ".md":
        raise IllegalMove(f"{file} is no markdown file in the project {store.root}")
    if os.path.lexists(real):
        raise IllegalMove(f"{file} is there already", hint="Nothing was written.")
    return store.relative(real)


def _plan_text(name: str, phases: Sequence[str]) -> str:
    lines = [f"# {name}", "", "Status: In Progress"]
    for number, phase in enumerate(phases, 1):
        lines += ["", f"## Phase {number}: {phase}", f"- [ ] Write down the steps of {phase}"]
    return "\n".join(lines) + "\n"
