"""The group `holdfast gate`: start, move, finalize and recover features.

One command for each transition of the document; see the table in docs/formats/gated.md.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, NamedTuple

import click

from holdfast.cli import shown, terminal
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
    take_up,
    workflow_option,
)
from holdfast.cli.terminal import put
from holdfast.cli.words import IN_RECORD, Word
from holdfast.errors import IllegalMove, NoSuchWorkflow
from holdfast.files.store import LARGEST
from holdfast.formats.engine.workflow import Place, Workflow
from holdfast.formats.gated import (
    documents,
    files,
    finalizing,
    moves,
    recovery,
)
from holdfast.formats.gated.files import Feature
from holdfast.formats.gated.format import FORMAT, refuse_taken
from holdfast.formats.gated.machine import Content
from holdfast.formats.gated.model import PHASES, PhaseName
from holdfast.formats.gated.moves import PullRequest
from holdfast.formats.gated.recovery import Proposal
from holdfast.formats.gated.reviews import parse_comments
from holdfast.text.plaintext import counted, decode, one_line
from holdfast.workflows.sync import ProjectView


@click.group()
def gate() -> None:
    """Take a feature through five reviewed phases, kept in workflow/<slug>/."""


def feature_meant(app: App, view: ProjectView, name: str | None, *, ended: bool = False) -> Feature:
    """The selected feature, even if its state is unreadable; with *ended*, else the last one that ended."""
    try:
        slug = files.slug_of(app.meant(view, name, FORMAT.name).key)
    except NoSuchWorkflow:
        found = FORMAT.look(view.place)
        last = max(found.entries, key=lambda each: each.changed_at, default=None) if ended else None
        slugs = [*(folder.name for folder in files.lost(found)), *([last.slug] if last else [])]
        slug = next((slug for slug in slugs if name in {None, slug}), "")
        if not slug:
            raise
    return files.read(view.place.store, files.folder_of(view.place.store, slug))


def tell_now(view: ProjectView, feature: Feature, verb: str, *details: str) -> None:
    """Make the feature this session's and print its status."""
    take_up(view, FORMAT.workflow(view.place, feature), verb, *details)


# Texts and comments passed to a command.


def text_given(text: str | None, file: str | None, what: str) -> str:
    """The text from an argument, a file or stdin."""
    if (text is None) == (file is None):
        raise click.UsageError(f"Give {what} as text or with --file; - reads stdin.")
    path = text if text == "-" else file
    found = decode(read_input(path)) if path is not None else text or ""
    if not found.strip():
        raise IllegalMove(f"{what} is empty", hint="Give it as text, with --file, or on stdin.")
    return found.strip()


def read_input(path: str) -> bytes:
    """The bytes of a file, or of stdin."""
    try:
        with click.open_file(path, "rb") as stream:
            raw: bytes = stream.read(LARGEST + 1)
    except OSError as error:
        raise IllegalMove(f"{path} cannot be read: {error.strerror or error}") from error
    if len(raw) > LARGEST:
        raise IllegalMove(f"{path} is larger than {LARGEST} bytes")
    return raw


# Commits.


class Commit(NamedTuple):
    """The commit that a command makes at its end."""

    slug: str
    summary: str | None  # with {iteration}; None where no commit is wanted
    phase: PhaseName | None = None  # the current one before the change

    def message(self, phase: PhaseName, iteration: int = 0) -> str:
        """[workflow] 01-requirements: Define user auth requirements."""
        summary = (self.summary or "").format(iteration=iteration)
        return f"[workflow] {phase}: {one_line(summary, 200)}"

    def make(self, place: Place, feature: Feature) -> None:
        """Make the commit of a change that led to *feature*, where one is wanted, and say so."""
        if self.summary is None:
            return
        state = files.readable_state(feature)
        # The commit names the finished phase, or after a regression the earlier one.
        phase = min(self.phase or state.current_phase, state.current_phase)
        text = self.message(phase, state.phases[phase].iterations)
        say(f"  {finalizing.commit(place.root, [files.workspace(self.slug)], text)}")


def committing(summary: str) -> Decorator:
    """Add --commit and -m; the command gets its commit's summary, or None."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @click.option(
            "--commit", is_flag=True, help="Commit only the workflow's files; nothing is pushed."
        )
        @click.option("-m", "--message", metavar="TEXT", help="The commit's summary.")
        @wraps(function)
        def command(*context: Any, commit: bool, message: str | None, **given: Any) -> Any:
            if message is not None and not commit:
                raise click.UsageError("-m needs --commit.")
            own = message.replace("{", "{{").replace("}", "}}") if message else summary
            return function(*context, commit=own if commit else None, **given)

        return command

    return decorate


def commit_to_make(place: Place, slug: str, summary: str | None, *other_paths: str) -> Commit:
    """The commit with that *summary*, if any, that a command ends with; refused if git could not make it."""
    if summary is None:
        return Commit(slug, None)
    finalizing.refuse_uncommittable(place.root, files.workspace(slug), *other_paths)
    state = files.usable(files.read(place.store, files.folder_of(place.store, slug)).main)
    return Commit(slug, summary, state.current_phase if state else None)


_NOTHING_DONE = "Nothing was done. The command would:"
_DRY = click.option("--dry-run", is_flag=True, help="Show what would be done.")


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
    """Show where the feature stands."""
    view = app.look(FORMAT.name)
    feature = feature_meant(app, view, name, ended=True)
    files.readable_state(feature)
    shown.status(view, FORMAT.workflow(view.place, feature), as_json=as_json)


@gate.command()
@json_option
@workflow_option
@pass_app
def validate(app: App, as_json: bool, name: str | None) -> None:
    """Check that all six files are valid and agree. Exit code 1 if not."""
    view = app.look(FORMAT.name)
    store, folder = view.place.store, feature_meant(app, view, name, ended=True).folder
    problems = FORMAT.problems_of(store, folder)
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


# Begin.


@gate.command()
@click.argument("slug", required=False)
@click.option("--title", required=True, help="The feature's title.")
@click.option("--description", metavar="TEXT", help="What to build; - reads stdin.")
@click.option("--file", metavar="FILE", help="Read the text from this file; - reads stdin.")
@click.option("--branch", is_flag=True, help="Switch to branch feature/SLUG; create it if needed.")
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
    """Start the feature SLUG in its first phase. The default SLUG comes from the title.

    Its documents start as copies of those in docs/, or as short templates if there is no docs/.
    """
    slug = slug or files.slug_from(title)
    text = _described(title, description, file)
    place = (
        app.look(FORMAT.name, stay=False) if dry_run else app.change_several(FORMAT, stay=False)
    ).place
    refuse_taken(place.store, files.folder_for_new(place.store, slug))
    to_commit = commit_to_make(place, slug, commit)
    if branch:
        finalizing.refuse_unready(place.root)
    workspace, lines = files.workspace(slug), list[str]()
    if dry_run:
        lines += [f"be on branch {files.branch_of(slug)}"] if branch else []
        lines += [copy.line for copy in documents.plan_seeds(place.store, slug)]
        lines += [f"new: {workspace}/{name}" for name in (files.DESCRIPTION, *files.NAMES)]
        lines += [f"commit {workspace}: {to_commit.message(PHASES[0])}"] if commit else []
        _list(_NOTHING_DONE, *lines)
        return
    lines += [finalizing.switch(place.root, files.branch_of(slug))] if branch else []
    # Look again: another branch may have other workflows and docs.
    view = app.change_several(FORMAT, stay=False)
    place = view.place
    refuse_taken(place.store, files.folder_for_new(place.store, slug))
    lines += [copy.line for copy in documents.seed(place.store, slug)]
    changed = FORMAT.start(place, slug, title=title, description=text)
    tell_now(view, changed.entry, "started", f"kept in {workspace}/", *lines, *changed.lines)
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
@click.option("--force", is_flag=True, help="Overwrite what has changed in docs/ since the start.")
@workflow_option
@committing("Finalize the workflow, publish its docs")
@pass_app
def finalize(app: App, dry_run: bool, force: bool, name: str | None, commit: str | None) -> None:
    """Publish the documents of a completed feature to docs/, and archive its workspace."""
    view = app.look(FORMAT.name) if dry_run else app.change_several(FORMAT)
    place = view.place
    # Finish an interrupted finalize first.
    left = [slug for slug in finalizing.interrupted(place) if name in {None, slug}]
    slug = left[0] if left else feature_meant(app, view, name).slug
    _, _, copies = finalizing.plan(place, slug)
    to_commit = commit_to_make(place, slug, commit, *finalizing.published(copies))
    if dry_run:
        lines = [copy.line for copy in copies]
        lines.append(f"move {files.workspace(slug)} to .claude/holdfast/archive")
        lines += [f"commit: {to_commit.message(PHASES[-1])}"] if commit else []
        _list(_NOTHING_DONE, *lines)
    if not force:
        documents.refuse_conflicts(copies)
    if dry_run:
        return
    done = finalizing.finalize(place, slug, force=force)
    heading = f"Workflow finalized: {one_line(done.title)}. Its workspace is in {done.archived}"
    _list(heading, *(copy.line for copy in done.copies), *done.replaced)
    if commit:
        paths = [*finalizing.published(done.copies), files.workspace(slug)]
        say(finalizing.commit(place.root, paths, to_commit.message(PHASES[-1])))


# Recovery.


@gate.command()
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@_DRY
@workflow_option
@committing("Recover the state")
@pass_app
def recover(app: App, yes: bool, dry_run: bool, name: str | None, commit: str | None) -> None:
    """Rebuild damaged or missing state files from the remaining evidence, once you agree.

    It first shows each field that it would write, with its evidence.
    """
    view = app.look(FORMAT.name) if dry_run else app.change_several(FORMAT)
    place = view.place
    slug = name or _only_damaged(place)
    proposal = recovery.propose(place, slug) if slug else Proposal()
    if slug is None or not proposal.findings:
        say("The state files are sound; there is nothing to recover.")
        return
    _show_proposal(slug, proposal)
    if dry_run:
        return
    hint = f"To confirm: holdfast gate recover -w {shlex.quote(slug)} --yes"
    if not agreed("Write this?", yes=yes, undone="nothing was written", hint=hint):
        return
    to_commit = commit_to_make(place, slug, commit)
    lines = recovery.recover(place, slug, proposal)
    feature = files.read(place.store, files.folder_of(place.store, slug))
    tell_now(view, feature, "recovered", *lines)
    to_commit.make(place, feature)


def _only_damaged(place: Place) -> str | None:
    """The slug of the feature that is damaged, if any is."""
    found = recovery.damaged(place)
    if len(found) > 1:
        raise IllegalMove(
            f"several features are damaged: {', '.join(found)}",
            hint=f"Recover one at a time: holdfast gate recover -w {shlex.quote(found[0])}",
        )
    return found[0] if found else None


def _show_proposal(slug: str, proposal: Proposal) -> None:
    say(f"{files.workspace(slug)} can be rebuilt. This would be written:")
    width = max(len(finding.field) for finding in proposal.findings)
    for finding in proposal.findings:
        put(f"{one_line(finding.value, 120)}", lead=f"  {finding.field:<{width}}  ")
        put(f"from: {one_line(finding.evidence, 200)}", lead="      ", style=terminal.FAINT)
    for line in proposal.contradictions:
        put(one_line(line, 400), lead="  contradiction: ", style=terminal.WARNING)


# Commands that make one move.


_COMMENTS = click.option(
    "--comments",
    metavar="FILE",
    help="The output of `gh api repos/OWNER/REPO/pulls/N/comments`; - reads stdin.",
)
# What errors call the TEXT of each move.
_TEXT = (
    click.argument("text", required=False),
    click.option("--file", metavar="FILE", help="Read the text from this file; - reads stdin."),
)
_CALLED = {
    "revise": "the review",
    "approve-internal": "the review",
    "request-changes": "what is to be changed",
    "regress": "what is to be changed",
    "escalate": "the reason",
    "guide": "the guidance",
}


def _read_texts(move: Move, given: dict[str, Any]) -> None:
    """Read TEXT, --file and --comments into *given*; comments may replace a text."""
    comments = given.get("comments")
    if move.words in _CALLED:
        text, file = given.pop("text"), given.pop("file")
        if comments is None:
            given["text"] = text_given(text, file, _CALLED[move.words])
        elif text is not None or file is not None:
            raise click.UsageError("Give a text or --comments, not both.")
    if comments is not None:
        given["comments"] = parse_comments(read_input(comments))


_PR = click.option(
    "--pr",
    metavar="URL|NUMBER",
    callback=lambda _, __, text: None if text is None else PullRequest.parse(text),
    help="The pull request.",
)
_BY = click.option("--by", metavar="WHO", help="Who decided.")
_COMPLETED = "completed. To publish its docs: holdfast gate finalize"
_CANCELLED = "cancelled. Its files were kept"


def _reconcile(content: Content, _: str) -> Content:
    """Bring each status.json in line with workflow-state.json, also one that cannot be read."""
    return content


def _run(app: App, name: str | None, move: Move, given: dict[str, Any]) -> None:
    summary = given.pop("commit")
    _read_texts(move, given)
    view = app.change_several(FORMAT)
    feature = feature_meant(app, view, name)
    commit = commit_to_make(view.place, feature.slug, summary)

    def step(content: Content, at: str) -> Content:
        after: Content = move.step(content, at, **given)
        if move.step is moves.submit:
            documents.refuse_unwritten(view.place.store, feature.folder, after.phase)
        return after

    if move.step is _reconcile:  # which every move does first, if all files can be read
        changed = FORMAT.reconcile(view.place, feature.key)
    else:
        changed = FORMAT.change(view.place, feature.key, step)
    if changed.entry.state.over:
        say(f"Workflow {changed.entry.name!r} is {move.verb}")
        for line in changed.lines:
            say(f"  {one_line(line)}")
    else:
        tell_now(view, changed.entry, move.verb, *changed.lines)
    commit.make(view.place, changed.entry)


def _move(
    words: str, step: Callable[..., Any], verb: str, summary: str, *parameters: Decorator
) -> Move:
    """A command that commits with that *summary*, if asked to."""
    return Move(words, step, verb, *parameters, committing(summary))


MOVES = (
    _move("submit", moves.submit, "submitted", "Submit for review (iteration {iteration})"),
    _move("revise", moves.revise, "reviewed", "Request a revision (iteration {iteration})", *_TEXT),
    _move(
        "approve-internal",
        moves.approve_internal,
        "reviewed",
        "Pass the internal review (iteration {iteration})",
        *_TEXT,
        _PR,
    ),
    _move("approve", moves.approve, "advanced", "Approve", _COMMENTS),
    _move(
        "request-changes", moves.request_changes, "reviewed", "Request changes", *_TEXT, _COMMENTS
    ),
    _move(
        "regress",
        moves.regress,
        "taken back",
        "Take up again after comments",
        click.argument("phase", type=click.Choice(PHASES)),
        *_TEXT,
        _COMMENTS,
    ),
    _move("escalate", moves.escalate, "escalated", "Escalate", *_TEXT),
    _move("guide", moves.guide, "guided", "Give guidance", *_TEXT, _BY),
    _move("override", moves.override, "advanced", "Override the escalation", _BY),
    _move("reconcile", _reconcile, "reconciled", "Reconcile the state files"),
    _move("complete", moves.complete, _COMPLETED, "Complete the workflow", _PR),
    _move("cancel", moves.cancel, _CANCELLED, "Cancel the workflow"),
)
add_moves(gate, MOVES, _run)


def _feature(place: Place, workflow: Workflow) -> Feature:
    return files.read(place.store, files.folder_of(place.store, files.slug_of(workflow.key)))


def _next(place: Place, workflow: Workflow) -> Sequence[str]:
    state = files.readable_state(_feature(place, workflow))
    if state.phase_status in {"user_review", "escalated"} and not state.over:
        raise IllegalMove(
            f"{state.name!r} waits for a person",
            hint="They say `holdfast approve`, or `holdfast reject TEXT`.",
        )
    if state.status == "completed":
        raise IllegalMove(
            f"{state.name!r} is completed; a person publishes its documents",
            hint="They say `holdfast gate finalize`.",
        )
    if state.all_approved:
        return ["complete"]
    return ["revise", "approve-internal"] if state.phase_status == "in_review" else ["submit"]


def _is_escalated(place: Place, workflow: Workflow) -> bool:
    return files.readable_state(_feature(place, workflow)).phase_status == "escalated"


WORDS = {
    "next": Word(
        "`submit` or `complete`; after a submission the choice of `revise` and `approve-internal`",
        _next,
    ),
    "done": Word("`gate submit`", "submit"),
    "note": IN_RECORD,
    "block": Word("`gate escalate REASON`", "escalate"),
    "unblock": Word("`gate guide TEXT`", "guide"),
    "approve": Word(
        "`gate approve`; of an escalated phase `gate override`",
        lambda *here: ["override" if _is_escalated(*here) else "approve"],
    ),
    "reject": Word(
        "`gate request-changes TEXT`; of an escalated phase `gate guide TEXT`",
        lambda *here: ["guide" if _is_escalated(*here) else "request-changes"],
    ),
}
