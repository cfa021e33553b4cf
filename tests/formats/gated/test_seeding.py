"""What a new workflow begins with: copies of the project's docs, or templates; nothing overwritten."""

from __future__ import annotations

import os
import stat

import pytest

from gatedwork import DOCUMENT, FOLDER, SLUG, place, tree
from holdfast.files.store import Store
from holdfast.formats.gated import documents
from holdfast.testing import Project

DOCS = {
    "docs/features.md": b"the features\n",
    "docs/requirements.md": b"the requirements\r\n",
    "docs/architecture.md": b"\xef\xbb\xbfthe architecture",
    "docs/diagrams/one.png": b"\x89PNG\0\xff",
    "docs/diagrams/deep/er/two.svg": b"<svg/>",
    "docs/user-guide.md": b"the guide\n",
    "docs/api-reference.md": b"",
}
WORKSPACE = {
    "docs/features.md": "00-feature/features.md",
    "docs/requirements.md": "01-requirements/requirements.md",
    "docs/architecture.md": "02-architecture/architecture.md",
    "docs/diagrams/one.png": "02-architecture/diagrams/one.png",
    "docs/diagrams/deep/er/two.svg": "02-architecture/diagrams/deep/er/two.svg",
    "docs/user-guide.md": "05-documentation/user-docs.md",
    "docs/api-reference.md": "05-documentation/api-docs.md",
}


@pytest.fixture
def store(holdfast_project: Project) -> Store:
    for path, data in DOCS.items():
        holdfast_project.write(path, data)
    return place(holdfast_project).store


def kinds(store: Store) -> dict[str, str]:
    return {each.target or each.source: each.kind for each in documents.plan_seeds(store, SLUG)}


def test_the_mapping_is_the_documents() -> None:
    """Both tables of the document, row by row."""
    rows = [line.split("|")[1:3] for line in DOCUMENT.splitlines() if line.startswith("| `")]
    told = [tuple(cell.strip().strip("`").replace("*", "") for cell in row) for row in rows]
    files, folders = documents.FILES, (documents.DIAGRAMS,)
    pairs = [(f"docs/{a}", f"workflow/<slug>/{b}") for a, b in files]
    pairs += [(f"docs/{a}/", f"workflow/<slug>/{b}/") for a, b in folders]
    assert set(told) == {*pairs, *((b, a) for a, b in pairs)}


def test_every_document_is_copied_byte_by_byte(holdfast_project: Project, store: Store) -> None:
    copies = documents.seed(store, SLUG)
    assert {each.kind for each in copies} == {"new"}
    there = tree(holdfast_project)
    assert there == {f"{SLUG}/{WORKSPACE[path]}": data for path, data in DOCS.items()}


def test_modes_are_kept(holdfast_project: Project, store: Store) -> None:
    (holdfast_project.root / "docs/diagrams/one.png").chmod(0o755)
    (holdfast_project.root / "docs/features.md").chmod(0o600)
    documents.seed(store, SLUG)
    for name, mode in (
        ("02-architecture/diagrams/one.png", 0o755),
        ("00-feature/features.md", 0o600),
    ):
        found = (holdfast_project.root / FOLDER / name).stat().st_mode
        assert stat.S_IMODE(found) == mode


def test_what_is_in_the_workspace_stays(holdfast_project: Project, store: Store) -> None:
    holdfast_project.write(f"{FOLDER}/01-requirements/requirements.md", "mine\n")
    holdfast_project.write(f"{FOLDER}/00-feature/features.md", DOCS["docs/features.md"])
    told = kinds(store)
    assert told[f"{FOLDER}/01-requirements/requirements.md"] == "kept"
    assert told[f"{FOLDER}/00-feature/features.md"] == "same"
    documents.seed(store, SLUG)
    assert tree(holdfast_project)[f"{SLUG}/01-requirements/requirements.md"] == b"mine\n"


def test_no_link_is_followed_out_of_the_project(holdfast_project: Project, store: Store) -> None:
    """Planted in docs/diagrams: a file, a folder, one that dangles. One within the project is a file."""
    outside = holdfast_project.root.parent / "secret"
    outside.mkdir()
    (outside / "key.txt").write_text("secret", encoding="utf-8")
    diagrams = holdfast_project.root / "docs" / "diagrams"
    (diagrams / "key.txt").symlink_to(outside / "key.txt")
    (diagrams / "folder").symlink_to(outside, target_is_directory=True)
    (diagrams / "gone").symlink_to(diagrams / "nothing")
    (diagrams / "same.png").symlink_to(diagrams / "one.png")
    told = kinds(store)
    assert [path for path, kind in told.items() if kind == "passed over"] == [
        "docs/diagrams/folder",
        "docs/diagrams/gone",
        "docs/diagrams/key.txt",
    ]
    documents.seed(store, SLUG)
    there = tree(holdfast_project)
    assert b"secret" not in b"".join(there.values())
    assert there[f"{SLUG}/02-architecture/diagrams/same.png"] == DOCS["docs/diagrams/one.png"]


def test_docs_that_lead_outside_are_not_read(holdfast_project: Project) -> None:
    outside = holdfast_project.root.parent / "elsewhere"
    (outside / "diagrams").mkdir(parents=True)
    (outside / "features.md").write_text("secret", encoding="utf-8")
    (outside / "diagrams" / "x").write_text("secret", encoding="utf-8")
    (holdfast_project.root / "docs").symlink_to(outside, target_is_directory=True)
    documents.seed(place(holdfast_project).store, SLUG)
    assert tree(holdfast_project) == {}


def test_without_docs_there_are_templates(holdfast_project: Project) -> None:
    """One for each artefact, short, by the names of the mapping."""
    store = place(holdfast_project).store
    assert {each.kind for each in documents.seed(store, SLUG)} == {"template"}
    there = tree(holdfast_project)
    assert set(there) == {f"{SLUG}/{name}" for name in documents.templates()}
    mapped = {within for _, within in documents.FILES}
    assert mapped < set(documents.templates())
    assert {name.split("/")[0] for name in documents.templates()} >= {
        "03-implementation",
        "04-testing",
    }
    assert all(len(text.splitlines()) < 16 for text in documents.templates().values())


def test_the_plan_writes_nothing(holdfast_project: Project, store: Store) -> None:
    documents.plan_seeds(store, SLUG)
    assert not (holdfast_project.root / "workflow").exists()
    assert not (holdfast_project.root / ".claude").exists()


def test_what_was_seeded_from_is_remembered(holdfast_project: Project, store: Store) -> None:
    """What was kept, since an interrupted `start` had made it, is not: it counts as added since."""
    assert documents.noted_digests(store, SLUG) is None
    documents.seed(store, SLUG)
    before = documents.noted_digests(store, SLUG)
    assert before is not None
    assert set(before) == set(DOCS)
    holdfast_project.write("docs/features.md", "changed since\n")
    os.unlink(holdfast_project.root / FOLDER / "01-requirements" / "requirements.md")
    documents.seed(store, SLUG)
    left = {path: text for path, text in before.items() if path != "docs/features.md"}
    assert documents.noted_digests(store, SLUG) == left


def test_templates_are_remembered_as_made_from_nothing(holdfast_project: Project) -> None:
    store = place(holdfast_project).store
    documents.seed(store, SLUG)
    assert documents.noted_digests(store, SLUG) == {}
