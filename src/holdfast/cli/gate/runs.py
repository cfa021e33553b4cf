"""Commands for whole features: begun, finalized, recovered."""

from __future__ import annotations

import contextlib
import re
import shlex
from collections.abc import Sequence

import click

from holdfast.cli import terminal
from holdfast.cli.app import App, agreed, dump, json_option, pass_app, say
from holdfast.cli.gate import commits
from holdfast.cli.gate.given import file_option, text_of
from holdfast.cli.gate.group import details, gate, meant, tell_now, writing
from holdfast.cli.naming import workflow_option
from holdfast.cli.terminal import put
from holdfast.errors import IllegalMove, NoSuchWorkflow
from holdfast.formats.base import Place
from holdfast.formats.gated import (
    committing,
    files,
    finalizing,
    lifecycle,
    mapping,
    publishing,
    recovering,
    seeding,
    templates,
)
from holdfast.formats.gated.copying import Copy
from holdfast.formats.gated.model import PHASES
from holdfast.formats.gated.proposal import Proposal
from holdfast.plaintext import one_line
from holdfast.sync import Synced

_DRY = click.option("--dry-run", is_flag=True, help="Only say what would be done.")

# Begin.


@gate.command()
@click.argument("slug", required=False)
@click.option("--title", required=True, help="Of the feature, for people.")
@click.option("--description", metavar="TEXT", help="What is to be built; - for stdin.")
@file_option
@click.option("--branch", is_flag=True, help="Be on the branch feature/SLUG, made if need be.")
@commits.commits("Start the workflow")
@_DRY
@pass_app
def start(
    app: App,
    slug: str | None,
    title: str,
    description: str | None,
    file: str | None,
    branch: bool,
    dry_run: bool,
) -> None:
    """Begin the feature SLUG in its first phase; without SLUG one is made of the title.

    Its documents begin as copies of those in docs/, or as short templates where there is no docs/.
    """
    slug = slug or files.slug_from(title)
    text = _described(title, description, file)
    place = (app.look(stay=False) if dry_run else writing(app, stay=False)).place
    lifecycle.refuse_taken(place.store, files.folder_of(place.store, slug))
    commit = commits.wanted(place, slug)
    if branch:
        committing.refuse_unready(place.root)
    if dry_run:
        _show_start(place, slug, branch, commit)
        return
    lines = [committing.switch(place.root, committing.branch_of(slug))] if branch else []
    # Looked at again: another branch may hold other workflows, and other docs.
    synced = writing(app, stay=False)
    place = synced.place
    lifecycle.refuse_taken(place.store, files.folder_of(place.store, slug))
    lines += [each.line for each in seeding.seed(place.store, slug)]
    changed = lifecycle.start(place, slug, title=title, description=text, branch=place.branch)
    lines = [f"kept in {mapping.workspace(slug)}/", *lines, *details(changed)]
    tell_now(synced, changed.run.key, "started", *lines)
    commits.make(place, commit, changed.run)


def _described(title: str, description: str | None, file: str | None) -> str:
    if description is None and file is None:
        return templates.description(title)
    text = text_of(description, file, "the description")
    headed = re.match(r"#{1,6}\s", text)
    return f"{text}\n" if headed else f"# {title}\n\n{text}\n"


def _show_start(place: Place, slug: str, branch: bool, commit: commits.Commit | None) -> None:
    workspace = mapping.workspace(slug)
    written = [files.DESCRIPTION, files.STATE, *(f"{phase}/{files.STATUS}" for phase in PHASES)]
    lines = [f"be on branch {committing.branch_of(slug)}"] if branch else []
    lines += [each.copy.line for each in seeding.plan(place.store, slug)]
    lines += [f"new: {workspace}/{each}" for each in written]
    lines += [f"commit {workspace}: {commit.message(PHASES[0])}"] if commit else []
    _show("Nothing was done. This would be:", lines)


def _show(heading: str, lines: Sequence[str]) -> None:
    say(heading)
    _list(lines)


def _list(lines: Sequence[str]) -> None:
    for line in lines:
        put(one_line(line, 400), lead="  ", hang=4)


# The end.


@gate.command()
@_DRY
@click.option("--force", is_flag=True, help="Replace what somebody changed in docs/ meanwhile.")
@commits.commits("Finalize the workflow, publish its docs")
@workflow_option
@pass_app
def finalize(app: App, dry_run: bool, force: bool, name: str | None) -> None:
    """Publish the docs of a completed feature to docs/, and put its workspace into the archive."""
    synced = app.look() if dry_run else writing(app)
    place = synced.place
    if not dry_run and commits.is_wanted():
        made = _commit_only(place)
        if made and not _is_another(app, synced, name):
            return
    slug = _to_finalize(app, synced, name)
    copies = finalizing.plan(place, slug)
    commit = commits.wanted(place, slug, tuple(each.target for each in copies if each.is_held))
    if dry_run:
        _show_finalize(slug, copies, commit)
    if not force:
        publishing.refuse_conflicts(copies)
    if dry_run:
        return
    if commit:
        finalizing.note_uncommitted(place, slug, copies, commit.message(PHASES[-1]))
    done = finalizing.finalize(place, slug, force=force)
    say(f"Workflow finalized: {one_line(done.title)}. Its workspace is in {done.archived}")
    _list([each.line for each in done.copies] + list(done.replaced))
    if commit:
        _commit_only(place)


def _to_finalize(app: App, synced: Synced, name: str | None) -> str:
    """The feature that is meant; one that a command was killed over goes before others."""
    left = [each for each in finalizing.interrupted(synced.place) if name in {None, each}]
    return left[0] if left else files.slug_of(meant(app, synced, name).key)


def _is_another(app: App, synced: Synced, name: str | None) -> bool:
    """Whether *name* means a feature that is still there, beside the one that has been finalized."""
    with contextlib.suppress(NoSuchWorkflow):
        return name is not None and bool(meant(app, synced, name))
    return False


def _commit_only(place: Place) -> bool:
    """Make the commit of what is finalized, if one is due: also one that was interrupted."""
    due = finalizing.uncommitted(place)
    if due is None or files.folder_there(place.store, due.slug).exists():
        return False
    say(finalizing.commit(place, due))
    return True


def _show_finalize(slug: str, copies: Sequence[Copy], commit: commits.Commit | None) -> None:
    lines = [each.line for each in copies]
    lines.append(f"move {mapping.workspace(slug)} to .claude/holdfast/archive")
    lines += [f"commit: {commit.message(PHASES[-1])}"] if commit else []
    _show("Nothing was done. This would be:", lines)


# Recovery.


@gate.command()
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@commits.commits("Recover the state")
@_DRY
@json_option
@workflow_option
@pass_app
def recover(app: App, yes: bool, dry_run: bool, as_json: bool, name: str | None) -> None:
    """Rebuild state files that are damaged or missing from all that is left, once you agree to it.

    What would be written is shown first, field by field with its evidence. With --json nothing is
    written either.
    """
    looks = dry_run or as_json
    synced = app.look() if looks else writing(app)
    place = synced.place
    slug = _damaged(place, name)
    proposal = recovering.propose(place, slug) if slug else Proposal()
    if as_json:
        dump(_told(slug, proposal))
        return
    if slug is None or not proposal.findings:
        say("Nothing is wrong with the state files; nothing is to be recovered.")
        return
    _show_proposal(slug, proposal)
    if looks:
        return
    hint = f"If that is right: holdfast gate recover -w {shlex.quote(slug)} --yes"
    if not agreed("Write this?", yes=yes, undone="nothing was written", hint=hint):
        return
    commit = commits.wanted(place, slug)
    lines = recovering.recover(place, slug, proposal)
    tell_now(synced, files.key_of(slug), "recovered", *lines)
    commits.make(place, commit, files.read(place.store, files.folder_there(place.store, slug)))


def _damaged(place: Place, name: str | None) -> str | None:
    """The slug of the feature that is to be recovered; None where none is damaged."""
    if name:
        folder = files.folder_there(place.store, name)
        if not folder.is_dir():
            raise IllegalMove(
                f"there is no {place.store.relative(folder)}", hint="Name it by its folder."
            )
        return name
    found = [each.slug for each in recovering.damaged(place)]
    if len(found) > 1:
        raise IllegalMove(
            f"several features are damaged: {', '.join(found)}",
            hint=f"One at a time: holdfast gate recover -w {shlex.quote(found[0])}",
        )
    return found[0] if found else None


def _show_proposal(slug: str, proposal: Proposal) -> None:
    say(f"{mapping.workspace(slug)} can be rebuilt. This would be written:")
    width = max(len(each.field) for each in proposal.findings)
    for each in proposal.findings:
        put(f"{one_line(each.value, 120)}", lead=f"  {each.field:<{width}}  ")
        put(f"from: {one_line(each.evidence, 200)}", lead="      ", style=terminal.FAINT)
    for line in proposal.contradictions:
        put(one_line(line, 400), lead="  does not agree: ", style=terminal.WARNING)


def _told(slug: str | None, proposal: Proposal) -> dict[str, object]:
    return {
        "feature": slug,
        "findings": [each._asdict() for each in proposal.findings],
        "contradictions": proposal.contradictions,
        "state": proposal.state.to_json() if proposal.state else None,
        "statuses": {phase: each.to_json() for phase, each in proposal.statuses.items()},
    }
