"""The end of a completed feature, and its commits, which somebody has to ask for; nothing is ever pushed.

At the end the docs go to docs/, and the workspace goes away. Killed before that has gone, the same command
finishes the job. It publishes first, each document whole; then it writes the status `finalized`, which says that
everything is published; then it moves the workspace to our archive in one step. So nothing unpublished is
lost, and nothing is left that a hook could bring back. The commit comes last; one that is missing then is left
to the user, with git.

Only the workflow's own paths are committed, whatever else is staged. The user's git hooks run. What git
would refuse is checked, as far as possible, before anything is changed.
"""

from __future__ import annotations

import contextlib
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from holdfast.config import project
from holdfast.errors import GitRefused, IllegalMove
from holdfast.files import git
from holdfast.files.store import COMMAND_WAIT
from holdfast.formats.engine.document import iso_time, moment
from holdfast.formats.engine.workflow import Place
from holdfast.formats.gated import files, moves
from holdfast.formats.gated.documents import (
    Copy,
    plan_publishing,
    publish,
    refuse_conflicts,
)
from holdfast.formats.gated.files import Feature, read
from holdfast.formats.gated.format import FORMAT
from holdfast.formats.gated.model import State


class Finalized(NamedTuple):
    title: str
    copies: Sequence[Copy]
    replaced: Sequence[str]  # where what was in conflict is kept, one line each
    archived: str  # where the workspace is now, relative to the root


def plan(place: Place, slug: str) -> tuple[Feature, State, list[Copy]]:
    """The feature, its state and what would be published. Nothing is written.

    Refused if it is neither completed nor finalized by an interrupted command.
    """
    feature = read(place.store, files.folder_of(place.store, slug))
    content = files.reconciled(feature, iso_time(place.now))
    state = content.state
    copies = plan_publishing(place.store, slug, moment(state.created_at))
    if state.status == "finalized":  # everything was published before that was written
        return feature, state, [copy for copy in copies if copy.kind == "same"]
    moves.finalize(content, iso_time(place.now))
    return feature, state, copies


def published(copies: Sequence[Copy]) -> list[str]:
    """The paths in docs/ that hold a document of the feature afterwards."""
    return [copy.target for copy in copies if copy.kind != "passed over"]


def finalize(place: Place, slug: str, *, force: bool = False) -> Finalized:
    """Publish, and put the workspace away."""
    store = place.store
    with FORMAT.locked(place):
        feature, state, copies = plan(place, slug)
        if not force:
            refuse_conflicts(copies)
        replaced = publish(store, copies, place.stamp)
    if state.status != "finalized":
        FORMAT.change(place, feature.key, moves.finalize)
    with store.lock(COMMAND_WAIT):
        archived = store.archive_folder(feature.folder, place.stamp)
        for path in files.state_paths(feature.folder):
            store.forget(path)
        with contextlib.suppress(OSError):  # it may hold others
            feature.folder.parent.rmdir()
    return Finalized(state.name, copies, replaced, store.relative(archived))


def interrupted(place: Place) -> list[str]:
    """The features that are published, and whose workspace is still there."""
    features = FORMAT.look(place).entries
    return [feature.slug for feature in features if feature.state.status == "finalized"]


# Branch and commits.


def refuse_unready(root: Path) -> None:
    """Say what prevents a branch or a commit, before anything is changed."""
    if shutil.which("git") is None:
        raise IllegalMove("git is not installed", hint="Leave out --branch and --commit.")
    if git.answer(str(root), "rev-parse", "--git-dir") is None:
        raise IllegalMove(
            f"{root} is not in a git repository",
            hint="Leave out --branch and --commit, or begin one: git init",
        )


def refuse_uncommittable(root: Path, *paths: str) -> None:
    """Say what prevents a commit of *paths*."""
    refuse_unready(root)
    if git.answer(str(root), "var", "GIT_COMMITTER_IDENT") is None:
        raise IllegalMove(
            "git has no name and address for the commit",
            hint="Set it: git config user.name NAME; git config user.email ADDRESS",
        )
    under_way = ("MERGE_HEAD", "CHERRY_PICK_HEAD")
    if any(git.answer(str(root), "rev-parse", "--verify", "--quiet", head) for head in under_way):
        raise IllegalMove(
            "a merge or cherry-pick is under way", hint="Finish or abort it first; see git status."
        )
    if git.answer(str(root), "ls-files", "--unmerged"):
        raise IllegalMove("git has unmerged files", hint="Merge them first; git status lists them.")
    ignored = [path for path in paths if git.ignores(str(root / path))]
    if ignored:
        raise IllegalMove(
            f"git ignores {', '.join(ignored)}",
            hint="Remove them from .gitignore, or leave out --commit.",
        )


def switch(root: Path, branch: str) -> str:
    """Switch to *branch*, and create it if need be. Returns what was done."""
    if git.answer(str(root), "symbolic-ref", "--quiet", "--short", "HEAD") == branch:
        return f"on branch {branch} already"
    is_there = project.has_branch(str(root), branch)
    git.do(str(root), "switch", "--quiet", *([] if is_there else ["--create"]), branch)
    return f"{'switched to' if is_there else 'made'} branch {branch}"


def commit(root: Path, paths: list[str], text: str) -> str:
    """Commit what has changed below *paths*, and nothing else. Returns what was done."""
    folder = str(root)
    asked = ("status", "--porcelain", "--untracked-files=all", "--")
    # Where git cannot say, the commit will say why.
    changed = [path for path in paths if git.answer(folder, *asked, path) != ""]
    if not changed:
        return "nothing to commit"
    command = ("commit", "--quiet", "--message", text, "--", *changed)
    try:
        for path in changed:
            # A removal that is staged already cannot be added again.
            if (root / path).exists() or git.answer(folder, "ls-files", "--", path):
                git.do(folder, "add", "--all", "--", path)
        git.do(folder, *command)
    except GitRefused as error:
        again = shlex.join(["git", "-C", folder, *command])
        hint = f"The workflow has changed; only the commit is missing: {again}"
        raise IllegalMove(error.cause, hint=hint) from error
    sha = git.answer(folder, "rev-parse", "--short", "HEAD")
    return f"committed {sha}: {text}"
