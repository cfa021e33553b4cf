"""The commands: features are looked at, begun, finalized, reconciled and recovered, and moved by their phases."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from holdfast.cli import terminal
from holdfast.cli.app import (
    App,
    Decorator,
    Move,
    add_moves,
    agreed,
    dump,
    json_option,
    pass_app,
    say,
    workflow_option,
)
from holdfast.cli.gate.group import (
    commit_to_make,
    committing,
    feature_meant,
    gate,
    read_input,
    tell_now,
    text_given,
    writing,
)
from holdfast.cli.terminal import put
from holdfast.errors import IllegalMove
from holdfast.formats.engine.workflow import Place
from holdfast.formats.gated import (
    briefing,
    documents,
    files,
    finalizing,
    moves,
    reconciling,
    recovery,
)
from holdfast.formats.gated.format import FORMAT
from holdfast.formats.gated.machine import Content, contradictions, possible
from holdfast.formats.gated.model import PHASES
from holdfast.formats.gated.moves import PullRequest
from holdfast.formats.gated.recovery import Proposal
from holdfast.formats.gated.reviews import parse_comments
from holdfast.text.plaintext import counted, one_line

_MARKS = {"approved": "✅", "pending": "⏳", "escalated": "⛔"}
_NOTHING_DONE = "Nothing was done. This would be:"
_DRY = click.option("--dry-run", is_flag=True, help="Only say what would be done.")


def _list(heading: str, *lines: str) -> None:
    say(heading)
    for line in lines:
        put(one_line(line, 400), lead="  ", hang=4)


# Look.


@gate.command()
@json_option
@workflow_option
@pass_app
def status(app: App, as_json: bool, name: str | None) -> None:
    """Where the feature stands: its phases, whose turn it is, and what is possible now."""
    view = app.look(FORMAT.name)
    feature = feature_meant(app, view, name, ended=True)
    state = reconciling.readable_state(feature)
    details = feature.status(state.current_phase)
    next_action = briefing.next_action(state, details)
    if as_json:
        statuses = ((phase, feature.status(phase)) for phase in PHASES)
        dump(
            {
                "state": state.to_json(),
                "statuses": {phase: found.to_json() for phase, found in statuses if found},
                "turn": briefing.turn(state),
                "next_action": next_action,
                "possible": possible(state),
                "disagreements": [*contradictions(state), *files.disagreements(feature)],
            }
        )
        return
    put(f"{one_line(state.name)}: {state.status.replace('_', ' ')}", style=terminal.HEADING)
    for phase in PHASES:
        summary = state.phases[phase]
        iteration = f", iteration {summary.iterations}" if summary.iterations else ""
        stands = f"{summary.status.replace('_', ' ')}{iteration}"
        put(f"{_MARKS.get(summary.status, '🔄')} {phase} ({stands})", lead="  ")
    put(next_action, lead="  next: ")
    for fact, value in briefing.context(state, details):
        put(one_line(str(value)), lead=f"  {fact}: ")
    workflow = FORMAT.workflow(view.place, feature)
    for line in (*workflow.cautions, *view.notes):
        put(one_line(line), lead="  note: ", style=terminal.WARNING)


@gate.command()
@json_option
@workflow_option
@pass_app
def validate(app: App, as_json: bool, name: str | None) -> None:
    """Check all six files by the document's rules, and whether they agree. Exit 1 when not."""
    view = app.look(FORMAT.name)
    store, folder = view.place.store, feature_meant(app, view, name, ended=True).folder
    problems = list(FORMAT.problems_of(store, folder))
    if as_json:
        dump({"feature": folder.name, "valid": not problems, "problems": problems})
    elif problems:
        say(f"{store.relative(folder)}: {counted(len(problems), 'problem')}")
        for line in problems:
            say(f"  {one_line(line)}")
    else:
        say(f"{store.relative(folder)}: valid, and the files agree")
    if problems:
        sys.exit(1)


@gate.command()
@click.option("--dry-run", is_flag=True, help="Only say what would be corrected.")
@workflow_option
@committing("Reconcile the state files")
@pass_app
def reconcile(app: App, dry_run: bool, name: str | None, commit: str | None) -> None:
    """Let each status.json say what workflow-state.json says."""
    view = app.look(FORMAT.name) if dry_run else writing(app)
    place, feature = view.place, feature_meant(app, view, name)
    if dry_run:
        reconciling.reconciled(feature, "")  # refused where nothing tells what holds
        for line in files.disagreements(feature) or ("The files agree.",):
            say(one_line(line))
        return
    to_commit = commit_to_make(place, feature.slug, commit)
    changed = FORMAT.reconcile(place, feature.key)
    for line in changed.lines or ("The files agree.",):
        say(one_line(line))
    if changed.lines:
        tell_now(view, changed.entry, "reconciled")
    if to_commit:
        to_commit.make(place, changed.entry)


# Begin.


@gate.command()
@click.argument("slug", required=False)
@click.option("--title", required=True, help="The feature's title.")
@click.option("--description", metavar="TEXT", help="What to build; - for stdin.")
@click.option("--file", metavar="FILE", help="The file with the text; - for stdin.")
@click.option("--branch", is_flag=True, help="Use the branch feature/SLUG; create it if needed.")
@_DRY
@committing("Start the workflow")
@pass_app
def start(
    app: App,
    slug: str | None,
    title: str,
    description: str | None,
    file: str | None,
    branch: bool,
    dry_run: bool,
    commit: str | None,
) -> None:
    """Begin the feature SLUG in its first phase; without SLUG one is made of the title.

    Its documents begin as copies of those in docs/, or as short templates where there is no docs/.
    """
    slug = slug or files.slug_from(title)
    text = _described(title, description, file)
    place = (app.look(FORMAT.name, stay=False) if dry_run else writing(app, stay=False)).place
    reconciling.refuse_taken(place.store, files.folder_for_new(place.store, slug))
    to_commit = commit_to_make(place, slug, commit)
    if branch:
        finalizing.refuse_unready(place.root)
    workspace, lines = files.workspace(slug), list[str]()
    if dry_run:
        lines += [f"be on branch {files.branch_of(slug)}"] if branch else []
        lines += [copy.line for copy in documents.plan_seeds(place.store, slug)]
        lines += [f"new: {workspace}/{name}" for name in (files.DESCRIPTION, *files.NAMES)]
        lines += [f"commit {workspace}: {to_commit.message(PHASES[0])}"] if to_commit else []
        _list(_NOTHING_DONE, *lines)
        return
    lines += [finalizing.switch(place.root, files.branch_of(slug))] if branch else []
    # Looked at again: another branch may hold other workflows, and other docs.
    view = writing(app, stay=False)
    place = view.place
    reconciling.refuse_taken(place.store, files.folder_for_new(place.store, slug))
    lines += [copy.line for copy in documents.seed(place.store, slug)]
    changed = FORMAT.start(place, slug, title=title, description=text)
    tell_now(view, changed.entry, "started", f"kept in {workspace}/", *lines, *changed.lines)
    if to_commit:
        to_commit.make(place, changed.entry)


def _described(title: str, description: str | None, file: str | None) -> str:
    if description is None and file is None:
        return f"# {title}\n\n<!-- What is to be built, for whom, and why. -->\n"
    text = text_given(description, file, "the description")
    headed = re.match(r"#{1,6}\s", text)
    return f"{text}\n" if headed else f"# {title}\n\n{text}\n"


# The end.


@gate.command()
@_DRY
@click.option("--force", is_flag=True, help="Replace what somebody changed in docs/ meanwhile.")
@workflow_option
@committing("Finalize the workflow, publish its docs")
@pass_app
def finalize(app: App, dry_run: bool, force: bool, name: str | None, commit: str | None) -> None:
    """Publish the documents of a completed feature to docs/, and archive its workspace."""
    view = app.look(FORMAT.name) if dry_run else writing(app)
    place = view.place
    # A feature whose finalize was killed goes before others.
    left = [slug for slug in finalizing.interrupted(place) if name in {None, slug}]
    slug = left[0] if left else feature_meant(app, view, name).slug
    copies = finalizing.plan(place, slug)
    to_commit = commit_to_make(place, slug, commit, *finalizing.published(copies))
    if dry_run:
        lines = [copy.line for copy in copies]
        lines.append(f"move {files.workspace(slug)} to .claude/holdfast/archive")
        lines += [f"commit: {to_commit.message(PHASES[-1])}"] if to_commit else []
        _list(_NOTHING_DONE, *lines)
    if not force:
        documents.refuse_conflicts(copies)
    if dry_run:
        return
    done = finalizing.finalize(place, slug, force=force)
    heading = f"Workflow finalized: {one_line(done.title)}. Its workspace is in {done.archived}"
    _list(heading, *(copy.line for copy in done.copies), *done.replaced)
    if to_commit:
        paths = [*finalizing.published(done.copies), files.workspace(slug)]
        say(finalizing.commit(place.root, paths, to_commit.message(PHASES[-1])))


# Recovery.


@gate.command()
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@_DRY
@json_option
@workflow_option
@committing("Recover the state")
@pass_app
def recover(
    app: App, yes: bool, dry_run: bool, as_json: bool, name: str | None, commit: str | None
) -> None:
    """Rebuild damaged or missing state files from the evidence that is left, once you agree.

    What would be written is shown first, field by field with its evidence. With --json nothing is
    written either.
    """
    looks = dry_run or as_json
    view = app.look(FORMAT.name) if looks else writing(app)
    place = view.place
    slug = name or _only_damaged(place)
    proposal = recovery.propose(place, slug) if slug else Proposal()
    if as_json:
        dump({"feature": slug, **proposal.to_json()})
        return
    if slug is None or not proposal.findings:
        say("Nothing is wrong with the state files; there is nothing to recover.")
        return
    _show_proposal(slug, proposal)
    if looks:
        return
    hint = f"If that is right: holdfast gate recover -w {shlex.quote(slug)} --yes"
    if not agreed("Write this?", yes=yes, undone="nothing was written", hint=hint):
        return
    to_commit = commit_to_make(place, slug, commit)
    lines = recovery.recover(place, slug, proposal)
    feature = files.read(place.store, files.folder_of(place.store, slug))
    tell_now(view, feature, "recovered", *lines)
    if to_commit:
        to_commit.make(place, feature)


def _only_damaged(place: Place) -> str | None:
    """The slug of the feature that is damaged, if any is."""
    found = recovery.damaged(place)
    if len(found) > 1:
        raise IllegalMove(
            f"several features are damaged: {', '.join(found)}",
            hint=f"One at a time: holdfast gate recover -w {shlex.quote(found[0])}",
        )
    return found[0] if found else None


def _show_proposal(slug: str, proposal: Proposal) -> None:
    say(f"{files.workspace(slug)} can be rebuilt. This would be written:")
    width = max(len(finding.field) for finding in proposal.findings)
    for finding in proposal.findings:
        put(f"{one_line(finding.value, 120)}", lead=f"  {finding.field:<{width}}  ")
        put(f"from: {one_line(finding.evidence, 200)}", lead="      ", style=terminal.FAINT)
    for line in proposal.contradictions:
        put(one_line(line, 400), lead="  does not agree: ", style=terminal.WARNING)


# Commands that make one move.


def _text(what: str, *, or_comments: bool = False) -> Decorator:
    """The TEXT of a move, given as such, in a file or on stdin; it is *what* a refusal calls it."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @click.argument("text", required=False)
        @click.option("--file", metavar="FILE", help="The file with the text; - for stdin.")
        @wraps(function)
        def command(*context: Any, text: str | None, file: str | None, **given: Any) -> Any:
            if not or_comments or given["comments"] is None:
                given["text"] = text_given(text, file, what)
            elif text is not None or file is not None:
                raise click.UsageError("Give a text or --comments, not both.")
            return function(*context, **given)

        return command

    return decorate


def _comments(function: Callable[..., Any]) -> Callable[..., Any]:
    @click.option(
        "--comments",
        metavar="FILE",
        help="What `gh api repos/OWNER/REPO/pulls/N/comments` printed; - for stdin.",
    )
    @wraps(function)
    def command(*context: Any, comments: str | None, **given: Any) -> Any:
        read = None if comments is None else parse_comments(read_input(comments))
        return function(*context, comments=read, **given)

    return command


_PR = click.option(
    "--pr",
    metavar="URL|NUMBER",
    callback=lambda _, __, text: None if text is None else PullRequest.parse(text),
    help="The pull request.",
)
_REVIEW = _text("the review")
_WISH = _text("what is to be changed", or_comments=True)
_BY = click.option("--by", metavar="WHO", help="Who decided.")
_COMPLETED = "completed. Its docs are published by: holdfast gate finalize"
_CANCELLED = "cancelled. Its files stay where they are"


def _run(app: App, name: str | None, move: Move, given: dict[str, Any]) -> None:
    summary = given.pop("commit")
    view = writing(app)
    feature = feature_meant(app, view, name)
    commit = commit_to_make(view.place, feature.slug, summary)

    def step(content: Content, at: str) -> Content:
        after: Content = move.step(content, at, **given)
        if move.step is moves.submit:
            documents.refuse_unwritten(view.place.store, feature.folder, after.phase)
        return after

    changed = FORMAT.change(view.place, feature.key, step)
    if changed.entry.state.over:
        say(f"Workflow {changed.entry.name!r} is {move.verb}")
        for line in changed.lines:
            say(f"  {one_line(line)}")
    else:
        tell_now(view, changed.entry, move.verb, *changed.lines)
    if commit:
        commit.make(view.place, changed.entry)


def _move(
    words: str, step: Callable[..., Any], verb: str, summary: str, *parameters: Decorator
) -> Move:
    """A command that commits with that *summary*, if asked to."""
    return Move(words, step, verb, *parameters, committing(summary))


MOVES = (
    _move("submit", moves.submit, "submitted", "Submit for review (iteration {iteration})"),
    _move(
        "revise", moves.revise, "reviewed", "Request a revision (iteration {iteration})", _REVIEW
    ),
    _move(
        "approve-internal",
        moves.approve_internal,
        "reviewed",
        "Pass the internal review (iteration {iteration})",
        _REVIEW,
        _PR,
    ),
    _move("approve", moves.approve, "advanced", "Approve", _comments),
    _move(
        "request-changes", moves.request_changes, "reviewed", "Request changes", _WISH, _comments
    ),
    _move(
        "regress",
        moves.regress,
        "taken back",
        "Take up again after comments",
        click.argument("phase", type=click.Choice(PHASES)),
        _WISH,
        _comments,
    ),
    _move("escalate", moves.escalate, "escalated", "Escalate", _text("the reason")),
    _move("guide", moves.guide, "guided", "Give guidance", _text("the guidance"), _BY),
    _move("override", moves.override, "advanced", "Override the escalation", _BY),
    _move("complete", moves.complete, _COMPLETED, "Complete the workflow", _PR),
    _move("cancel", moves.cancel, _CANCELLED, "Cancel the workflow"),
)
add_moves(gate, MOVES, _run)
