"""Commands for one transition each, and for the end of a feature."""

from __future__ import annotations

from functools import partial

import click

from holdfast.cli.app import App, pass_app, say
from holdfast.cli.gate import commits
from holdfast.cli.gate.given import (
    by_option,
    comments_in,
    comments_option,
    file_option,
    pr_option,
    said,
    text_argument,
    text_of,
)
from holdfast.cli.gate.group import details, gate, meant, move, writing
from holdfast.cli.naming import workflow_option
from holdfast.formats.gated import files, lifecycle, machine, user_review
from holdfast.formats.gated.lifecycle import Review, Step
from holdfast.formats.gated.machine import PullRequest
from holdfast.formats.gated.model import PHASES, PhaseName
from holdfast.plaintext import one_line

# The creator and the reviewer.


@gate.command()
@commits.commits("Submit for review (iteration {iteration})")
@workflow_option
@pass_app
def submit(app: App, name: str | None) -> None:
    """The creator has completed the artefact; the reviewer's turn."""
    move(app, name, "submitted", machine.submit)


@gate.command()
@text_argument
@file_option
@commits.commits("Request a revision (iteration {iteration})")
@workflow_option
@pass_app
def revise(app: App, text: str | None, file: str | None, name: str | None) -> None:
    """The reviewer requests a revision; TEXT is the review. At the maximum it escalates."""
    review = text_of(text, file, "the review")
    step = partial(machine.revise, feedback=review)
    move(app, name, "reviewed", step, Review(machine.NEEDS_REVISION, review))


@gate.command("approve-internal")
@text_argument
@file_option
@pr_option
@commits.commits("Pass the internal review (iteration {iteration})")
@workflow_option
@pass_app
def approve_internal(
    app: App, text: str | None, file: str | None, pr: str | None, name: str | None
) -> None:
    """The reviewer approves; TEXT is the review. A person reviews next, on the pull request."""
    review = text_of(text, file, "the review")
    step = partial(machine.approve_internal, pull_request=_pull_request(pr))
    move(app, name, "reviewed", step, Review(machine.APPROVED, review))


def _pull_request(text: str | None) -> PullRequest | None:
    return PullRequest.of(text) if text is not None else None


# A person's review.


@gate.command()
@comments_option
@commits.commits("Approve")
@workflow_option
@pass_app
def approve(app: App, comments: str | None, name: str | None) -> None:
    """A person approves the phase; the next one begins. With --comments only if none is new."""
    move(app, name, "advanced", partial(user_review.approve, comments=comments_in(comments)))


@gate.command("request-changes")
@text_argument
@file_option
@comments_option
@commits.commits("Request changes")
@workflow_option
@pass_app
def request_changes(
    app: App, text: str | None, file: str | None, comments: str | None, name: str | None
) -> None:
    """A person wants the phase changed: TEXT, or those of the --comments that are new."""
    step = partial(user_review.request_changes, said=said(text, file, comments))
    move(app, name, "reviewed", step)


@gate.command()
@click.argument("phase", type=click.Choice(PHASES))
@text_argument
@file_option
@comments_option
@commits.commits("Take up again after comments")
@workflow_option
@pass_app
def regress(
    app: App,
    phase: PhaseName,
    text: str | None,
    file: str | None,
    comments: str | None,
    name: str | None,
) -> None:
    """A person wants the earlier PHASE changed; what followed it is done again."""
    step = partial(user_review.regress, phase=phase, said=said(text, file, comments))
    move(app, name, "taken back", step)


# A person's decision.


@gate.command()
@text_argument
@file_option
@commits.commits("Escalate")
@workflow_option
@pass_app
def escalate(app: App, text: str | None, file: str | None, name: str | None) -> None:
    """Ask for a person; TEXT is the reason."""
    move(
        app, name, "escalated", partial(machine.escalate, reason=text_of(text, file, "the reason"))
    )


@gate.command()
@text_argument
@file_option
@by_option
@commits.commits("Give guidance")
@workflow_option
@pass_app
def guide(app: App, text: str | None, file: str | None, by: str | None, name: str | None) -> None:
    """A person says how to go on with what is escalated."""
    step = partial(machine.guide, guidance=text_of(text, file, "the guidance"), by=by)
    move(app, name, "guided", step)


@gate.command()
@by_option
@commits.commits("Override the escalation")
@workflow_option
@pass_app
def override(app: App, by: str | None, name: str | None) -> None:
    """A person takes what is escalated as it is; the next phase begins."""
    move(app, name, "advanced", partial(machine.override, by=by))


# The end.


@gate.command()
@pr_option
@commits.commits("Complete the workflow")
@workflow_option
@pass_app
def complete(app: App, pr: str | None, name: str | None) -> None:
    """All phases are approved, and the pull request is there."""
    step = partial(machine.complete, pull_request=_pull_request(pr))
    _end(app, name, "completed. Its docs are published by: holdfast gate finalize", step)


@gate.command()
@commits.commits("Cancel the workflow")
@workflow_option
@pass_app
def cancel(app: App, name: str | None) -> None:
    """Give the feature up, so that it does not come back. Its files stay."""
    _end(app, name, "cancelled. Its files stay where they are", machine.cancel)


def _end(app: App, name: str | None, how: str, step: Step) -> None:
    synced = writing(app)
    workflow = meant(app, synced, name)
    commit = commits.wanted(synced.place, files.slug_of(workflow.key))
    changed = lifecycle.change(synced.place, workflow.key, step)
    say(f"Workflow {workflow.name!r} is {how}")
    for line in details(changed):
        say(f"  {one_line(line)}")
    commits.make(synced.place, commit, changed.run)
