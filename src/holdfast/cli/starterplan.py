"""`holdfast init --plan`: a first plan from a few answers, which is read back as it was meant."""

from __future__ import annotations

import os
from collections.abc import Sequence

import click

from holdfast.cli.app import App, phase_names, say, still_current, take_up, warn_without_hooks
from holdfast.cli.standing import start_following
from holdfast.cli.terminal import can_ask
from holdfast.errors import IllegalMove
from holdfast.files.regular import contains
from holdfast.files.store import changing
from holdfast.formats.canonical.files import slug
from holdfast.formats.canonical.sources.plan import read_plan


def start_plan(app: App, name: str | None, phases: str | None) -> None:
    """Write the plan as PLAN.md, or below plans/ where there is one, and begin with it."""
    if can_ask():
        name = name or click.prompt("The name of the work")
        phases = phases or click.prompt("Its phases in order", default="Design,Build,Test")
    if not name or not phases:
        raise click.UsageError("Without a terminal, --plan needs --name and --phases.")
    store = app.change(save_due=False).place.store
    called, names = name.strip(), phase_names(phases)
    has_plan = os.path.lexists(store.root / "PLAN.md")
    path = f"plans/{slug(called)}.md" if has_plan else "PLAN.md"
    file = store.root / path
    if not contains(str(store.root), os.path.realpath(file.parent)):
        raise IllegalMove(f"{file.parent} leads outside the project")
    text = _plan_text(called, names)
    said = read_plan(text.encode(), path=path, mtime=0).declaration
    read = (said.workflow, [phase.name for phase in said.phases]) if said else (None, [])
    if read != (called, names):
        raise IllegalMove(
            f"the plan would be read as {read[0]!r} with the phases {', '.join(read[1]) or '-'}",
            hint="Nothing was written. Use plain words, without marks and numbers.",
        )
    with changing(file):
        file.parent.mkdir(exist_ok=True)
        with file.open("xb") as stream:  # never over what somebody else wrote
            stream.write(text.encode())
    say(f"Wrote {file}")
    view = app.change()
    workflow = next((known for known in view.workflows if known.source == path), None)
    if workflow is None:  # a setting has plans lie elsewhere
        view, workflow = start_following(app, view, path)
    take_up(view, workflow, "started")
    for line in still_current(app.look(stay=False), workflow):
        say(line)
    warn_without_hooks(app.surroundings)


def _plan_text(name: str, phases: Sequence[str]) -> str:
    lines = [f"# {name}", "", "Status: In Progress"]
    for number, phase in enumerate(phases, 1):
        lines += ["", f"## Phase {number}: {phase}", f"- [ ] Write down the steps of {phase}"]
    return "\n".join(lines) + "\n"
