"""Branch and commits of a workflow, where somebody asks for them; nothing is ever pushed.

Only the workflow's own paths are committed, whatever else is staged. The hooks of git run as the user
has them. What git would refuse is asked before anything is changed, as far as it can be known.
"""

from __future__ import annotations

from pathlib import Path

from holdfast import git
from holdfast.errors import IllegalMove
from holdfast.plaintext import one_line


def branch_of(slug: str) -> str:
    return f"feature/{slug}"


def message(phase: str, summary: str) -> str:
    """[workflow] 01-requirements: Define user auth requirements."""
    return f"[workflow] {phase}: {one_line(summary, 200)}"


def refuse_unready(root: Path) -> None:
    """Say what stands in the way of a branch or a commit, before anything is changed."""
    if not git.is_installed():
        raise IllegalMove("git is not installed", hint="Leave out --branch and --commit.")
    if git.answer(str(root), "rev-parse", "--git-dir") is None:
        raise IllegalMove(
            f"{root} is in no git repository",
            hint="Leave out --branch and --commit, or begin one: git init",
        )


def refuse_uncommittable(root: Path, *paths: str) -> None:
    """The same for a commit of *paths*."""
    refuse_unready(root)
    if git.answer(str(root), "var", "GIT_COMMITTER_IDENT") is None:
        raise IllegalMove(
            "git does not know whose commits these are",
            hint="Tell it: git config user.name NAME; git config user.email ADDRESS",
        )
    for what in ("merge", "cherry-pick"):
        head = f"{what.replace('-', '_').upper()}_HEAD"
        if git.answer(str(root), "rev-parse", "--verify", "--quiet", head) is not None:
            raise IllegalMove(
                f"a {what} is under way", hint=f"End it first: git commit, or git {what} --abort"
            )
    if git.answer(str(root), "ls-files", "--unmerged"):
        raise IllegalMove("git has files that are not merged", hint="See git status.")
    ignored = [path for path in paths if git.ignores(str(root / path))]
    if ignored:
        raise IllegalMove(
            f"git ignores {', '.join(ignored)}",
            hint="Take that out of .gitignore, or leave out --commit.",
        )


def switch(root: Path, branch: str) -> str:
    """Be on *branch*, which is made where there is none. Returns what was done."""
    refuse_unready(root)
    if git.answer(str(root), "symbolic-ref", "--quiet", "--short", "HEAD") == branch:
        return f"on branch {branch} already"
    if git.answer(str(root), "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}"):
        git.do(str(root), "switch", "--quiet", branch)
        return f"switched to branch {branch}"
    git.do(str(root), "switch", "--quiet", "--create", branch)
    return f"made branch {branch}"


def commit(root: Path, paths: list[str], text: str) -> str:
    """Commit what has changed below *paths*, and nothing else. Returns what was done."""
    folder = str(root)
    to_add = [path for path in paths if (root / path).exists() or git.tracks_below(folder, path)]
    if to_add:
        git.do(folder, "add", "--all", "--", *to_add)
    # git refuses a path that it has never heard of.
    known = [path for path in paths if path in to_add or git.had_below(folder, path)]
    if not known or _is_unchanged(root, known):
        return "nothing to commit"
    git.do(folder, "commit", "--quiet", "--message", text, "--", *known)
    sha = git.answer(folder, "rev-parse", "--short", "HEAD")
    return f"committed {sha}: {text}"


def _is_unchanged(root: Path, paths: list[str]) -> bool:
    return git.answer(str(root), "diff", "--cached", "--quiet", "--", *paths) is not None
