"""What only Holdfast makes ignores itself, so that neither git nor the client's screen shows it."""

from __future__ import annotations

import pytest

from holdfast.testing import Project

STATES = "untracked/workflow-state/.gitignore"


@pytest.fixture
def repository(holdfast_project: Project) -> Project:
    holdfast_project.git("init", "-q", "-b", "main")
    holdfast_project.git("commit", "-q", "--allow-empty", "-m", "begin")
    return holdfast_project


def _ignores(project: Project) -> list[str]:
    found = (project.root / "untracked").rglob(".gitignore")
    return sorted(path.relative_to(project.root).as_posix() for path in found)


def test_git_status_shows_only_the_persons_files(repository: Project) -> None:
    """It listed `?? untracked/`, and the client printed a diff of each state."""
    repository.declare("Payments")
    repository.run("phase", "next", session="s-1")
    assert repository.git("status", "--porcelain") == "?? CLAUDE.local.md\n"
    assert _ignores(repository) == [STATES]
    repository.run("complete", session="s-1")
    assert repository.git("status", "--porcelain") == "?? CLAUDE.local.md\n"


def test_a_folder_of_the_persons_own_is_not_hidden(repository: Project) -> None:
    """Only what we make in it is."""
    repository.write("untracked/notes.txt", "mine\n")
    repository.run("start", "Payments")
    assert _ignores(repository) == [STATES]
    assert repository.git("status", "--porcelain") == "?? untracked/\n"
    assert repository.git("status", "--porcelain", "-uall") == "?? untracked/notes.txt\n"


@pytest.mark.parametrize("rule", ["untracked/\n", "untracked/workflow-state\n"])
def test_what_git_ignores_already_needs_no_file(rule: str, repository: Project) -> None:
    repository.write(".gitignore", rule)
    repository.run("start", "Payments")
    assert _ignores(repository) == []


def test_states_that_git_tracks_stay_as_they_are(repository: Project) -> None:
    """A team that keeps its states in git has decided."""
    repository.write("untracked/workflow-state/README.md", "kept by all\n")
    repository.git("add", ".")
    repository.run("start", "Payments")
    assert _ignores(repository) == []


def test_without_git_it_is_hidden_from_one_that_comes_later(holdfast_project: Project) -> None:
    holdfast_project.run("start", "Payments")
    holdfast_project.git("init", "-q")
    assert holdfast_project.git("status", "--porcelain") == ""
