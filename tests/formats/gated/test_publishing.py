"""What goes back to docs/, and that nothing is lost: not what others changed there, and not by a kill."""

from __future__ import annotations

import os
import shutil
import stat
from datetime import datetime
from pathlib import Path

import pytest

from gatedwork import (
    APPROVE_PHASE,
    FOLDER,
    KEY,
    SLUG,
    do,
    killed_at_rename,
    place,
    read,
    tree,
    walk,
)
from holdfast import clock
from holdfast.errors import IllegalMove
from holdfast.formats.engine.workflow import Place
from holdfast.formats.gated import documents, files, finalizing
from holdfast.formats.gated.format import FORMAT
from holdfast.records import ledger
from holdfast.testing import Compactions, Project

DOCS = {
    "docs/features.md": b"the features\n",
    "docs/architecture.md": b"the architecture\n",
    "docs/diagrams/one.png": b"\x89PNG\0\xff",
    "docs/diagrams/deep/two.svg": b"<svg/>",
}


def completed(project: Project, docs: dict[str, bytes] = DOCS) -> Place:
    """A feature with all phases approved, whose creators have changed and added documents."""
    for path, data in docs.items():
        project.write(path, data)
    here = place(project)
    documents.seed(here.store, SLUG)
    FORMAT.start(here, SLUG, title="User Auth", description="# User Auth\n")
    walk(here, *APPROVE_PHASE * 5, "complete")
    project.write(f"{FOLDER}/02-architecture/architecture.md", "a better architecture\r\n")
    project.write(f"{FOLDER}/02-architecture/diagrams/new/three.bin", bytes(range(256)))
    project.write(f"{FOLDER}/05-documentation/user-docs.md", "the guide\n")
    return here


PUBLISHED = {
    **DOCS,
    "docs/architecture.md": b"a better architecture\r\n",
    "docs/diagrams/new/three.bin": bytes(range(256)),
    "docs/user-guide.md": b"the guide\n",
}


def docs(project: Project) -> dict[str, bytes]:
    return {
        path.relative_to(project.root).as_posix(): path.read_bytes()
        for path in (project.root / "docs").rglob("*")
        if path.is_file()
    }


def archived(project: Project) -> Path:
    (found,) = (project.root / ".claude/holdfast/archive").glob(f"*-{SLUG}")
    return found


def kinds(here: Place) -> dict[str, tuple[str, str]]:
    return {each.target: (each.kind, each.why) for each in finalizing.plan(here, SLUG)[2]}


def test_all_is_published_and_the_workspace_goes(holdfast_project: Project) -> None:
    """Byte by byte, binary and nested; what was never a document of docs/ is in the archive."""
    here = completed(holdfast_project)
    before = tree(holdfast_project)
    done = finalizing.finalize(here, SLUG)
    assert docs(holdfast_project) == PUBLISHED
    assert not (holdfast_project.root / "workflow").exists()
    kept = archived(holdfast_project)
    assert done.archived == kept.relative_to(holdfast_project.root).as_posix()
    there = {
        f"{SLUG}/{path.relative_to(kept).as_posix()}": path.read_bytes()
        for path in kept.rglob("*")
        if path.is_file()
    }
    assert there.keys() == before.keys()
    assert b'"status": "finalized"' in there[f"{SLUG}/workflow-state.json"]


def test_the_plan_says_what_will_be_done_and_does_nothing(holdfast_project: Project) -> None:
    here = completed(holdfast_project)
    told = kinds(here)
    assert told == {
        "docs/features.md": ("same", ""),
        "docs/architecture.md": ("changed", ""),
        "docs/user-guide.md": ("new", ""),
        "docs/diagrams/deep/two.svg": ("same", ""),
        "docs/diagrams/new/three.bin": ("new", ""),
        "docs/diagrams/one.png": ("same", ""),
    }
    assert docs(holdfast_project) == DOCS
    assert (holdfast_project.root / FOLDER).is_dir()


def test_modes_are_published(holdfast_project: Project) -> None:
    here = completed(holdfast_project)
    (holdfast_project.root / FOLDER / "02-architecture/diagrams/one.png").chmod(0o755)
    assert kinds(here)["docs/diagrams/one.png"] == ("changed", "")
    finalizing.finalize(here, SLUG)
    mode = (holdfast_project.root / "docs/diagrams/one.png").stat().st_mode
    assert stat.S_IMODE(mode) == 0o755


def test_only_a_completed_feature_is_finalized(holdfast_project: Project) -> None:
    here = place(holdfast_project)
    FORMAT.start(here, SLUG, title="User Auth", description="# User Auth\n")
    for _ in range(2):
        with pytest.raises(IllegalMove):
            finalizing.finalize(here, SLUG)
        assert (holdfast_project.root / FOLDER / "workflow-state.json").exists()
        if read(holdfast_project)["status"] == "in_progress":
            do(here, "cancel")


def test_templates_that_nobody_filled_are_not_published(holdfast_project: Project) -> None:
    """Otherwise a first workflow would leave empty headings in docs/."""
    here = completed(holdfast_project, {})
    told = kinds(here)
    assert told["docs/requirements.md"] == ("passed over", "still the template")
    assert told["docs/user-guide.md"] == ("new", "")
    finalizing.finalize(here, SLUG)
    assert set(docs(holdfast_project)) == {
        "docs/architecture.md",
        "docs/user-guide.md",
        "docs/diagrams/new/three.bin",
    }
    assert (
        documents.templates()["01-requirements/requirements.md"]
        not in docs(holdfast_project).values()
    )


CHANGES = {
    "docs/features.md": "it was changed since the workflow began",
    "docs/user-guide.md": "it was added since the workflow began",
    "docs/architecture.md": "it was changed since the workflow began",
}


@pytest.mark.parametrize("path", CHANGES)
def test_what_others_changed_since_is_a_conflict(path: str, holdfast_project: Project) -> None:
    """It is named, and nothing at all is published."""
    here = completed(holdfast_project)
    holdfast_project.write(path, "somebody else was here\n")
    before = docs(holdfast_project)
    with pytest.raises(IllegalMove, match=f"{path}: {CHANGES[path]}") as refused:
        finalizing.finalize(here, SLUG)
    assert "--force" in refused.value.hint
    assert docs(holdfast_project) == before
    assert read(holdfast_project)["status"] == "completed"


def test_a_document_that_was_removed_meanwhile_is_a_conflict(holdfast_project: Project) -> None:
    here = completed(holdfast_project)
    (holdfast_project.root / "docs/features.md").unlink()
    assert kinds(here)["docs/features.md"] == (
        "conflict",
        "it was removed since the workflow began",
    )


def test_a_conflict_is_solved_in_the_workspace(holdfast_project: Project) -> None:
    """Whoever has brought both together has the same in both."""
    here = completed(holdfast_project)
    holdfast_project.write("docs/features.md", "both\n")
    holdfast_project.write(f"{FOLDER}/00-feature/features.md", "both\n")
    assert kinds(here)["docs/features.md"] == ("same", "")


def test_force_replaces_keeps_and_says_so(holdfast_project: Project) -> None:
    here = completed(holdfast_project)
    holdfast_project.write("docs/features.md", "somebody else was here\n")
    done = finalizing.finalize(here, SLUG, force=True)
    assert docs(holdfast_project) == PUBLISHED
    (line,) = done.replaced
    assert line.startswith("replaced docs/features.md; what was there is in ")
    kept = holdfast_project.root / line.rsplit(" ", 1)[1]
    assert kept.read_bytes() == b"somebody else was here\n"


def test_a_central_document_that_is_a_link_is_not_written_through(
    holdfast_project: Project,
) -> None:
    here = completed(holdfast_project)
    target = holdfast_project.write("GUIDE.md", "not to be touched\n")
    (holdfast_project.root / "docs/user-guide.md").symlink_to(target)
    assert kinds(here)["docs/user-guide.md"][0] == "conflict"
    finalizing.finalize(here, SLUG, force=True)
    assert target.read_bytes() == b"not to be touched\n"
    assert not (holdfast_project.root / "docs/user-guide.md").is_symlink()


def test_links_in_the_workspace_publish_nothing_from_outside(
    holdfast_project: Project, tmp_path: Path
) -> None:
    here = completed(holdfast_project)
    secret = tmp_path / "outside.txt"
    secret.write_text("secret", encoding="utf-8")
    (holdfast_project.root / FOLDER / "02-architecture/diagrams/x.txt").symlink_to(secret)
    finalizing.finalize(here, SLUG)
    assert docs(holdfast_project) == PUBLISHED
    assert secret.read_text(encoding="utf-8") == "secret"


def test_docs_that_lead_outside_are_not_written(holdfast_project: Project, tmp_path: Path) -> None:
    here = completed(holdfast_project)
    shutil.rmtree(holdfast_project.root / "docs")
    (tmp_path / "elsewhere").mkdir()
    (holdfast_project.root / "docs").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    with pytest.raises(IllegalMove, match="leads outside the project"):
        finalizing.finalize(here, SLUG, force=True)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_without_our_note_the_time_decides(holdfast_project: Project) -> None:
    """A workflow that somebody began by hand."""
    here = completed(holdfast_project)
    ledger.update_notes(here.store, KEY, 1.0, lambda _: {})  # as if nobody had noted any
    begun = clock.parse(read(holdfast_project)["created_at"])
    assert begun

    def told(when: datetime, begun: datetime | None) -> str:
        path = holdfast_project.root / "docs/architecture.md"
        os.utime(path, (when.timestamp(), when.timestamp()))
        plan = documents.plan_publishing(here.store, SLUG, begun)
        return next(each.kind for each in plan if each.target == "docs/architecture.md")

    holdfast_project.clock.advance(days=1)
    assert told(begun, begun) == "changed"
    assert told(holdfast_project.clock.now(), begun) == "conflict"
    assert told(begun, None) == "conflict"


def test_nothing_brings_it_back(holdfast_project: Project, compaction_cycle: Compactions) -> None:
    """No copy of ours, no session that was on it."""
    here = completed(holdfast_project)
    compaction_cycle()
    finalizing.finalize(here, SLUG)
    cycle = compaction_cycle()
    assert (cycle.guidance, cycle.message) == ("", "")
    assert not (holdfast_project.root / "workflow").exists()
    assert here.store.copied_at("workflow") == {}


def test_the_archive_may_lie_on_another_file_system(
    holdfast_project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then it is copied and removed, the state last."""
    here = completed(holdfast_project)
    real = os.replace

    def across(source: str | Path, target: str | Path) -> None:
        if Path(source).is_dir():
            raise OSError(18, "Invalid cross-device link")
        real(source, target)

    monkeypatch.setattr(os, "replace", across)
    finalizing.finalize(here, SLUG)
    assert (archived(holdfast_project) / files.DESCRIPTION).read_bytes() == b"# User Auth\n"
    assert not (holdfast_project.root / "workflow").exists()


@pytest.mark.long
@pytest.mark.parametrize("options", [[], ["--commit"]], ids=["", "with a commit"])
def test_killed_at_any_moment_the_same_command_brings_it_to_its_end(
    options: list[str], holdfast_project: Project
) -> None:
    """Before every rename that it makes: of documents, notes, states, and of the workspace."""
    project = holdfast_project
    completed(project)
    project.git("init", "-q", "-b", "main")
    project.git("config", "user.name", "test")
    project.git("config", "user.email", "test@localhost")
    project.git("add", ".")
    project.git("commit", "-q", "-m", "before")
    pristine = project.root.parent / "pristine"
    shutil.copytree(project.root, pristine, symlinks=True)
    number, ended = 0, -9
    while ended == -9:
        number += 1
        shutil.rmtree(project.root)
        shutil.copytree(pristine, project.root, symlinks=True)
        ended = killed_at_rename(project, number, "gate", "finalize", *options)
        was_there = (project.root / "workflow").exists()
        again = project.run("gate", "finalize", *options, check=False)
        assert docs(project) == PUBLISHED, (number, again.stderr)
        assert not (project.root / "workflow").exists(), (number, again.stderr)
        archived(project)
        if options and (was_there or not ended):  # else the commit is left to somebody with git
            assert project.git("status", "--porcelain") == "", (number, again.stderr)
            assert project.git("log", "--format=%s").startswith("[workflow] 05-documentation: ")
    assert ended == 0
    assert number > 6
