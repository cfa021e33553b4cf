"""`holdfast init`: what is understood of the project, and what is still to be set up.

All questions come first, then all that is written: whoever leaves in the middle has changed nothing.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import click

from holdfast.agents.clients import CLAUDE, Scope
from holdfast.cli import terminal
from holdfast.cli.app import App, dump, json_option, pass_app, say, say_aside, still_current
from holdfast.cli.installer import (
    dry_run_option,
    refuse_what_was_not_asked_for,
    scope_option,
    tell_what_comes_next,
    warn,
    what_was_written,
    yes_option,
)
from holdfast.cli.looking import explanation, print_explanation, print_line
from holdfast.cli.standing import start_following
from holdfast.cli.starterplan import start_plan
from holdfast.cli.terminal import can_ask, put
from holdfast.errors import HoldfastError
from holdfast.formats.canonical.explaining import PASSED_OVER
from holdfast.formats.canonical.files import LOCAL
from holdfast.formats.canonical.sources.plan import NOTHING_TO_FOLLOW
from holdfast.formats.engine.workflow import Workflow
from holdfast.records import hooklog
from holdfast.restoring import restore
from holdfast.setup import clientsettings, installing
from holdfast.setup.offers import NAMES, Offer, Registration, State, offered, registration_for
from holdfast.text.plaintext import clean, counted, one_line
from holdfast.workflows.sync import ProjectView

_MOST_PLANS = 10  # told in full
_MOST_LINES = 3  # of a plan that were not understood
_MOST_FOLLOWED = 5  # questions about plans


@click.command()
@scope_option
@click.option(
    "--only",
    "wanted",
    multiple=True,
    type=click.Choice(NAMES),
    help="Offer only this; may be repeated.",
)
@yes_option
@dry_run_option
@json_option
@click.option("--plan", "starts_plan", is_flag=True, help="Write a starter plan instead.")
@click.option("--name", help="With --plan: the name of the work.")
@click.option("--phases", help='With --plan: the phase names in order: "Design,Build,Test".')
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
) -> None:
    """Show what is understood here, and set up what is missing.

    Asks before each step: the hooks, a permission rule for `holdfast` commands, the status line, the skill
    for agents, and plans to follow. Without a terminal it changes nothing unless --yes is given.
    """
    if starts_plan:
        if wanted or yes or dry_run or as_json or named:
            raise click.UsageError("--plan takes only --name and --phases.")
        start_plan(app, name, phases)
        return
    if name or phases:
        raise click.UsageError("--name and --phases need --plan.")
    view = app.look()
    plans = [explanation(view, file) for file in _plans(view)]
    if not as_json:
        _show_project(app, view, plans)
    setup = registration_for(app.surroundings, CLAUDE, named or _scope_in_use(app))
    found = (*offered(setup), *_to_follow(app, view))
    offers = [offer for offer in found if offer.name in (wanted or NAMES)]
    chosen = [offer for offer in offers if offer.state == "open"]
    asks = can_ask() and not (yes or dry_run or as_json)
    if not as_json:
        _show(offer for offer in offers if not asks or offer.state != "open")
    if asks:
        chosen = _asked(chosen)
    elif dry_run or not yes:
        chosen = []
    if chosen:
        hooklog.note_project(view.place.user_folder, view.root)
        if not as_json:
            say()
    results = _set_up(app, setup, chosen, named, quiet=as_json)
    offers = [results.get(offer, offer) for offer in offers]
    if as_json:
        shown = ("name", "state", "what", "path")
        facts = [{field: getattr(offer, field) for field in shown} for offer in offers]
        changed = any(offer.state == "done" for offer in results.values())
        dump({"root": view.root, "plans": plans, "setup": facts, "changed": changed})
    else:
        is_offered = any(offer.name == "follow" for offer in offers)
        waiting = "" if is_offered or view.choice().chosen else _unprotected(plans)
        _conclude(offers, chosen, waiting, was_asked=asks)
    click.get_current_context().exit(any(offer.state == "wrong" for offer in offers))


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
    is_shown = workflow.source in files or (workflow.declared == "local" and LOCAL in files)
    return workflow.standing == "active" and not is_shown


# What can be set up.


def _scope_in_use(app: App) -> Scope:
    """The settings that register us already, else the user's."""
    found = clientsettings.look(app.surroundings).sources()
    return next((source.scope for source in found if not source.plugin), "user")


def _to_follow(app: App, view: ProjectView) -> Iterator[Offer]:
    record = str(view.place.store.private)
    if len(view.candidates) > _MOST_FOLLOWED:
        what = (
            f"{len(view.candidates)} files look like plans, too many to ask: holdfast follow FILE"
        )
        yield Offer("follow", what, record, "not possible")
        return
    for plan in view.candidates:
        if plan.why == NOTHING_TO_FOLLOW:
            continue
        what = f"follow {one_line(plan.path)} ({one_line(plan.why, 120)})"
        yield Offer("follow", what, record, act=partial(_follow, app, view, plan.path))


def _follow(app: App, view: ProjectView, path: str) -> str:
    view, workflow = start_following(app, view, path)
    return "\n".join([f"Following {one_line(path)}", *still_current(view, workflow)])


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
    edited = [offer for offer in chosen if offer.edit]
    works = [([offer], offer.act) for offer in chosen if offer.act]
    if edited:  # in one go, with one copy of the file
        works.insert(0, (edited, partial(_edit_settings, app, setup, edited, named)))
    results: dict[Offer, Offer] = {}
    for offers, work in works:
        state: State = "done"
        try:
            done = work()
            if not quiet:
                say(done)
        except HoldfastError as error:
            state = "wrong"
            say_aside(f"{error.cause}. {error.hint}".rstrip())
        results |= {offer: offer._replace(state=state) for offer in offers}
    return results


def _edit_settings(
    app: App, setup: Registration, offers: Sequence[Offer], named: Scope | None
) -> str:
    refuse_what_was_not_asked_for(setup.file, setup.scope, named)
    change = installing.edited(setup.file, [offer.edit for offer in offers if offer.edit])
    copy = installing.install(change, app.surroundings.state_dir)
    warn(setup.warnings(change))
    return what_was_written(change, copy)


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


def _unprotected(plans: Sequence[dict[str, Any]]) -> str:
    """Says of the first plan that is not followed yet what to do about that."""
    found = (plan for plan in plans if plan["verdict"] in {"candidate", "unbegun"})
    waiting = next((plan for plan in found if plan["change"]), None)
    return f"{waiting['file']} is not protected yet: {waiting['change']}" if waiting else ""


def _conclude(
    offers: Sequence[Offer], chosen: Sequence[Offer], waiting: str, *, was_asked: bool
) -> None:
    left = [offer for offer in offers if offer.state == "open"]
    if any(offer.state == "wrong" for offer in offers):
        say_aside("repair what is wrong, and run the command again")
    done = {offer.name for offer in offers if offer.state == "done"}
    if "hooks" in done.intersection(offer.name for offer in chosen):
        tell_what_comes_next(CLAUDE)
    if not chosen:
        say()
        put("Nothing was changed." if left or waiting else "Nothing to do: nothing was changed.")
    if left and not (chosen or was_asked):
        put("To do all of it: holdfast init --yes")
        put(f"To do one of them: holdfast init --yes --only {left[0].name}")
    if waiting:
        put(one_line(waiting))
