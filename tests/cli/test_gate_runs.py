"""Whole features by command: begun, committed, finalized, recovered; and what is refused, and why."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import frontmatter
import pytest

from gatedwork import APPROVE_PHASE, FOLDER, NAMES, SLUG, killed_at_rename, place, read, tree, walk
from holdfast.cli.gate import gate as group
from holdfast.testing import Project
from terminal import typed

COMMANDS = Path(__file__).parents[2] / "commands"


@pytest.fixture
def project(holdfast_project: Project) -> Project:
    """A repository with docs, whose owner git knows."""
    holdfast_project.git("init", "-q", "-b", "main")
    holdfast_project.git("config", "user.name", "test")
    holdfast_project.git("config", "user.email", "test@localhost")
    holdfast_project.write("docs/requirements.md", "the requirements\n")
    holdfast_project.write("src/main.py", "begin\n")
    holdfast_project.git("add", ".")
    holdfast_project.git("commit", "-q", "-m", "begin")
    return holdfast_project


def gate(project: Project, *arguments: str) -> str:
    done = project.run("gate", *arguments, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def refused(project: Project, *arguments: str, code: int = 1) -> str:
    done = project.run("gate", *arguments, check=False)
    assert done.returncode == code, done.stdout
    return done.stderr


def start(project: Project, *options: str) -> str:
    return gate(project, "start", SLUG, "--title", "User Auth", *options)


def subjects(project: Project) -> list[str]:
    return project.git("log", "--format=%s").splitlines()


def complete(project: Project) -> None:
    walk(place(project), *APPROVE_PHASE * 5, "complete")


# Start.


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ([], "# User Auth\n\n<!-- What is to be built, for whom, and why. -->\n"),
        (["--description", "Log in."], "# User Auth\n\nLog in.\n"),
        (["--description", "# Its own heading\n\nLog in."], "# Its own heading\n\nLog in.\n"),
        (["--file", "given.md"], "# From a file\n"),
    ],
)
def test_the_description(given: list[str], written: str, project: Project) -> None:
    project.write("given.md", "# From a file\n")
    start(project, *given)
    assert tree(project)[f"{SLUG}/00-feature/description.md"].decode() == written


def test_a_slug_is_made_of_the_title(project: Project) -> None:
    gate(project, "start", "--title", "Größe & Maß: Ünïts 2")
    assert (project.root / "workflow/groe-ma-units-2/workflow-state.json").exists()


@pytest.mark.parametrize("slug", ["../x", "a/b", ".hidden", "Upper", "a" * 65, "-x", "x y", "."])
def test_a_slug_is_checked(slug: str, project: Project) -> None:
    assert "is not a valid slug" in refused(project, "start", "--title", "T", "--", slug)
    assert not (project.root / "workflow").exists()


def test_a_title_without_letters_makes_no_slug(project: Project) -> None:
    assert "is not a valid slug" in refused(project, "start", "--title", "你好")


def test_one_that_is_there_is_not_begun_again(project: Project) -> None:
    start(project)
    before = tree(project)
    told = refused(project, "start", SLUG, "--title", "Another")
    assert "has already started" in told
    assert tree(project) == before


def test_a_dry_run_says_exactly_what_is_done(project: Project) -> None:
    """And does nothing: no file, no branch, no commit."""
    options = ("--branch", "--commit")
    told = start(project, *options, "--dry-run")
    assert project.git("status", "--porcelain") == ""
    assert project.git("branch", "--show-current").strip() == "main"
    assert "be on branch feature/user-auth" in told
    start(project, *options)
    written = {f"workflow/{path}" for path in tree(project)}
    joined = re.sub(r"\n {6}", " ", told)
    assert {*re.findall(r"(?:new: |-> )(workflow/\S+)", joined)} == written
    assert f"commit {FOLDER}: {subjects(project)[0]}" in joined


def test_branch_and_commit(project: Project) -> None:
    """Only the workflow's files, whatever else is staged or changed."""
    project.write("src/main.py", "changed\n")
    project.write("staged.txt", "staged\n")
    project.git("add", "staged.txt")
    told = start(project, "--branch", "--commit")
    assert "made branch feature/user-auth" in told
    assert read(project)["branch"] == "feature/user-auth"
    assert subjects(project)[0] == "[workflow] 01-requirements: Start the workflow"
    named = project.git("show", "--name-only", "--format=").split()
    assert all(name.startswith(f"{FOLDER}/") for name in named)
    assert (
        project.git("status", "--porcelain").splitlines()
        == ["A  staged.txt", " M src/main.py"][::-1]
    )


def test_a_branch_that_is_there_is_switched_to(project: Project) -> None:
    project.git("branch", "feature/user-auth")
    assert "switched to branch feature/user-auth" in start(project, "--branch")


def test_git_says_what_stands_against_a_branch(project: Project) -> None:
    """Its own words; and nothing of the workflow is written."""
    project.git("switch", "-q", "-c", "feature/user-auth")
    project.write("src/main.py", "on the branch\n")
    project.git("commit", "-q", "-a", "-m", "other")
    project.git("switch", "-q", "main")
    project.write("src/main.py", "not committed\n")
    told = refused(project, "start", SLUG, "--title", "T", "--branch")
    assert "git switch refused" in told
    assert "src/main.py" in told
    assert not (project.root / "workflow").exists()


# Commits.


def test_every_writing_command_commits_when_asked(project: Project) -> None:
    start(project, "--commit")
    gate(project, "submit", "--commit")
    gate(project, "revise", "More.", "--commit")
    gate(project, "submit", "--commit", "-m", "Define  user\nauth requirements")
    gate(project, "approve-internal", "Good.", "--pr", "7", "--commit")
    gate(project, "approve", "--commit")
    gate(project, "regress", NAMES[0], "Say more.", "--commit")
    gate(project, "escalate", "Stuck.", "--commit")
    gate(project, "guide", "So.", "--commit")
    gate(project, "cancel", "--commit")
    assert subjects(project)[::-1][1:] == [
        "[workflow] 01-requirements: Start the workflow",
        "[workflow] 01-requirements: Submit for review (iteration 1)",
        "[workflow] 01-requirements: Request a revision (iteration 2)",
        "[workflow] 01-requirements: Define user auth requirements",
        "[workflow] 01-requirements: Pass the internal review (iteration 2)",
        "[workflow] 01-requirements: Approve",
        "[workflow] 01-requirements: Take up again after comments",
        "[workflow] 01-requirements: Escalate",
        "[workflow] 01-requirements: Give guidance",
        "[workflow] 01-requirements: Cancel the workflow",
    ]
    assert project.git("status", "--porcelain") == ""


def test_without_the_flag_git_is_left_alone(project: Project) -> None:
    before = subjects(project)
    start(project)
    complete(project)
    gate(project, "finalize")
    assert subjects(project) == before
    assert "-m needs --commit" in refused(project, "start", "x", "--title", "T", "-m", "M", code=2)


def test_what_git_would_refuse_is_asked_before_anything_changes(project: Project) -> None:
    project.write(".gitignore", "workflow/\n")
    assert "git ignores workflow/user-auth" in refused(
        project, "start", SLUG, "--title", "T", "--commit"
    )
    project.write(".gitignore", "")
    project.git("config", "--unset", "user.email")
    project.git("config", "user.useConfigOnly", "true")
    assert "no name and address" in refused(project, "start", SLUG, "--title", "T", "--commit")
    assert not (project.root / "workflow").exists()


def test_outside_a_repository(holdfast_project: Project) -> None:
    for option in ("--branch", "--commit"):
        told = refused(holdfast_project, "start", SLUG, "--title", "T", option)
        assert "is not in a git repository" in told
    assert not (holdfast_project.root / "workflow").exists()


def test_without_git(holdfast_project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(holdfast_project.home))
    told = refused(holdfast_project, "start", SLUG, "--title", "T", "--commit")
    assert "git is not installed" in told
    assert not (holdfast_project.root / "workflow").exists()


def test_the_hooks_of_git_run(project: Project) -> None:
    """One that refuses is told in its words; the workflow itself has changed."""
    hook = project.write(".git/hooks/pre-commit", "#!/bin/sh\necho not today >&2\nexit 1\n")
    hook.chmod(0o755)
    told = refused(project, "start", SLUG, "--title", "T", "--commit")
    assert "git commit refused: not today" in told
    assert "only the commit is missing" in told
    assert read(project)["current_phase"] == NAMES[0]


# Finalize.


def test_finalize_publishes_commits_and_is_over(project: Project) -> None:
    start(project, "--commit")
    complete(project)
    project.write(f"{FOLDER}/01-requirements/requirements.md", "better\n")
    told = gate(project, "finalize", "--dry-run", "--commit")
    assert (project.root / FOLDER).is_dir()
    assert "changed: workflow/user-auth/01-requirements/requirements.md" in told
    told = gate(project, "finalize", "--commit")
    assert "Workflow finalized: User Auth." in told
    assert subjects(project)[0].startswith("[workflow] 05-documentation: Finalize the workflow")
    assert project.git("status", "--porcelain") == ""
    assert project.git("ls-files", "workflow") == ""
    assert project.git("show", "HEAD:docs/requirements.md") == "better\n"
    assert "no gated workflow is active" in refused(project, "finalize")
    assert "User Auth" not in project.run("list").stdout


def test_a_conflict_is_named_by_the_dry_run_and_refused(project: Project) -> None:
    start(project)
    complete(project)
    project.write("docs/requirements.md", "somebody else\n")
    for options in (["--dry-run"], [], ["--commit"]):
        told = refused(project, "finalize", *options)
        assert "docs/requirements.md: it was changed since the workflow began" in told
    assert read(project)["status"] == "completed"
    gate(project, "finalize", "--force")
    assert (project.root / "docs/requirements.md").read_bytes() == b"the requirements\n"


def test_a_commit_that_a_hook_refused_is_made_by_the_git_command_that_is_told(
    project: Project,
) -> None:
    start(project, "--commit")
    complete(project)
    hook = project.write(".git/hooks/pre-commit", "#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    told = refused(project, "finalize", "--commit")
    assert "git commit refused" in told
    assert not (project.root / FOLDER).exists()
    hook.unlink()
    subprocess.run(shlex.split(told.partition("only the commit is missing: ")[2]), check=True)
    assert subjects(project)[0].startswith("[workflow] 05-documentation: Finalize the workflow")
    assert project.git("status", "--porcelain") == ""


# Recover.


def test_recover_shows_and_writes_only_after_a_yes(project: Project) -> None:
    start(project)
    gate(project, "submit")
    damaged = project.write(f"{FOLDER}/workflow-state.json", "{ broken")
    done = project.run("gate", "recover", check=False)
    assert done.returncode == 1
    assert "phases.01-requirements" in done.stdout
    assert "in_review, iteration 1" in done.stdout
    assert "nothing was written" in done.stderr
    assert f"holdfast gate recover -w {SLUG} --yes" in done.stderr
    assert gate(project, "recover", "--dry-run") == done.stdout
    assert damaged.read_bytes() == b"{ broken"
    gate(project, "recover", "--yes")
    assert read(project)["phases"]["01-requirements"]["status"] == "in_review"
    gate(project, "validate")
    assert "are sound" in gate(project, "recover")


def test_what_was_interrupted_is_finished_before_it_is_judged(project: Project) -> None:
    """Else a file that a killed command was about to write would be rebuilt from guesses."""
    start(project)
    walk(place(project), "submit", "approve-internal #7")
    note = project.root / ".claude/holdfast/unfinished/gated.json"
    number = 0
    while not note.exists():
        number += 1
        assert killed_at_rename(project, number, "gate", "approve") == -9
    (project.root / FOLDER / NAMES[1] / "status.json").unlink()
    done = project.run("gate", "recover", "--yes")
    assert "interrupted command was completed" in done.stderr
    assert read(project)["current_phase"] == NAMES[1]
    gate(project, "validate")


@pytest.mark.parametrize("answer", ["y", "n", ""])
def test_on_a_terminal_somebody_is_asked(answer: str, project: Project) -> None:
    """Nothing but a yes is one."""
    start(project)
    damaged = project.write(f"{FOLDER}/workflow-state.json", "{ broken")
    answers = [("[y/N]", f"{answer}\n")]
    shown = typed(["gate", "recover"], answers, project.root, project.environment())
    assert shown.code == 0
    assert ("Nothing was changed" in shown.text) == (answer != "y")
    assert "Write this?" in shown.text
    assert (damaged.read_bytes() == b"{ broken") == (answer != "y")


def test_several_that_are_damaged_are_named(project: Project) -> None:
    for slug in ("one", "two"):
        gate(project, "start", slug, "--title", slug)
        project.write(f"workflow/{slug}/workflow-state.json", "{ broken")
    assert "several features are damaged: one, two" in refused(project, "recover", "--yes")
    gate(project, "recover", "--yes", "-w", "two")
    assert read(project, slug="two")["feature_title"] == "two"
    for name in ("../one", "three"):
        refused(project, "recover", "--yes", "-w", name)


def test_what_files_say_reaches_no_terminal_as_it_is(project: Project) -> None:
    start(project)
    project.write(f"{FOLDER}/workflow-state.json", "{ broken")
    project.write(f"{FOLDER}/00-feature/description.md", "# Evil \x1b[2J\u202e title\n")
    for path in (project.root / ".claude/holdfast/copies").iterdir():
        path.unlink()
    told = gate(project, "recover", "--dry-run")
    assert "\x1b" not in told
    assert "\u202e" not in told
    assert "Evil" in told


# The slash commands.


def test_the_slash_commands_are_those_that_the_document_names() -> None:
    """Short, with what a person sees before they use them, and with commands that there are."""
    of_gate = sorted(COMMANDS.glob("workflow-*.md"))
    assert {path.stem for path in of_gate} == {
        "workflow-start",
        "workflow-finalize",
        "workflow-cancel",
    }
    known = {f"gate {name}" for name in group.commands}
    for path in of_gate:
        text = frontmatter.load(str(path))
        assert text["description"]
        assert text["argument-hint"]
        assert "$ARGUMENTS" in text.content
        named = set(re.findall(r"`holdfast (gate [\w-]+)", text.content))
        assert named
        assert named <= known
        assert len(text.content.splitlines()) < 20
