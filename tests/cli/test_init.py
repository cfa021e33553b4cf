"""`holdfast init`: what is understood, what is offered, and what is written after a yes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from found import files_of
from holdfast.setup import extras, skill
from holdfast.testing import Project
from terminal import CTRL_C, CTRL_D, typed

PLAN = """# Shop

Status: going well

## Phase 1: Cart
- [x] Add

## Phase 2: Till
- [ ] Pay
"""
MARKETPLACE = {"holdfast": {"installLocation": "/the/plugin"}}


@pytest.fixture
def shop(holdfast_project: Project) -> Project:
    """A project with a plan that nobody follows."""
    holdfast_project.write("PLAN.md", PLAN)
    return holdfast_project


def facts(project: Project, *options: str, check: bool = True) -> Any:
    return json.loads(project.run("init", "--json", *options, check=check).stdout)


def states(project: Project, *options: str, check: bool = True) -> dict[str, str]:
    found = facts(project, *options, check=check)["setup"]
    return {offer["name"]: offer["state"] for offer in found}


def settings(project: Project) -> Path:
    return project.home / ".claude/settings.json"


def put(project: Project, path: str, content: object) -> Path:
    file = project.home / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return file


ALL_OPEN = dict.fromkeys(("hooks", "permission", "statusline", "skill", "follow"), "open")


def test_it_says_plan_by_plan_what_was_understood(shop: Project) -> None:
    """With the line that would change it; what has ended and what is no plan are named too."""
    shop.write("docs/old-plan.md", "# Old\n\nStatus: Completed\n\n## Phase 1: A\n- [x] b\n")
    shop.write("plans/words.md", "# Words\n\nNo more.\n")
    shown = shop.run("init").stdout
    joined = " ".join(shown.split())
    assert "PLAN.md: it looks like a plan (1 of 2 done)" in shown
    assert "3 Status: going well NOT UNDERSTOOD: say `In Progress`" in joined
    assert "docs/old-plan.md: it says that work has ended" in shown
    assert "plans/words.md: it declares nothing" in shown
    assert shown.index("PLAN.md:") < shown.index("docs/old-plan.md:")


@pytest.mark.parametrize("options", [(), ("--dry-run",), ("--dry-run", "--yes"), ("--json",)])
def test_without_a_terminal_it_says_what_it_would_do_and_writes_nothing(
    options: tuple[str, ...], shop: Project
) -> None:
    before = files_of(shop.root, shop.home)
    shown = shop.run("init", *options).stdout
    assert files_of(shop.root, shop.home) == before
    assert str(settings(shop)) in shown
    assert extras.RULE in shown.replace("\\", "")
    assert states(shop) == ALL_OPEN


def test_yes_does_all_of_it_and_a_second_time_changes_nothing(shop: Project) -> None:
    shown = shop.run("init", "--yes").stdout
    value = json.loads(settings(shop).read_bytes())
    assert "PreCompact" in value["hooks"]
    assert value["permissions"] == {"allow": [extras.RULE]}
    assert value["statusLine"]["command"].endswith("holdfast statusline")
    told = shop.home / ".claude/skills/workflow-state/SKILL.md"
    assert "name: workflow-state" in told.read_text("utf-8")
    assert json.loads(shop.run("status", "--json").stdout)["workflow"]["briefing"]["name"] == "Shop"
    assert "Following PLAN.md" in shown
    before = files_of(shop.root, shop.home)
    again = shop.run("init", "--yes").stdout
    assert "Nothing to do: nothing was changed." in again
    assert files_of(shop.root, shop.home) == before
    assert set(states(shop).values()) == {"done"}


def test_uninstall_restores_what_was_there_before(shop: Project) -> None:
    """Also where it was set up bit by bit."""
    file = put(shop, ".claude/settings.json", '{"model":   "x"}')
    for name in ("statusline", "hooks", "permission"):
        shop.run("init", "--yes", "--only", name)
    assert "Restored" in shop.run("uninstall").stdout
    assert file.read_text("utf-8") == '{"model":   "x"}'


def test_uninstall_takes_the_skill_along_unless_it_was_changed(shop: Project) -> None:
    """Where nothing else was in it, the folder of the client goes too."""
    file = shop.home / ".claude/skills/workflow-state/SKILL.md"
    shop.run("init", "--yes")
    assert f"{file} would be removed" in shop.run("uninstall", "--dry-run").stdout
    assert f"Removed {file}" in shop.run("uninstall").stdout
    assert not (shop.home / ".claude").exists()
    shop.run("init", "--yes")
    file.write_text("mine\n", "utf-8")
    shop.run("uninstall")
    assert file.read_text("utf-8") == "mine\n"


def test_only_what_is_named_is_done(shop: Project) -> None:
    assert facts(shop, "--yes", "--only", "skill")["changed"]
    assert not settings(shop).exists()
    assert states(shop) == {**ALL_OPEN, "skill": "done"}


def test_a_status_line_of_somebody_else_stays(shop: Project) -> None:
    mine = {"type": "command", "command": "mine"}
    put(shop, ".claude/settings.json", {"statusLine": mine})
    assert states(shop)["statusline"] == "not possible"
    shop.run("init", "--yes")
    assert json.loads(settings(shop).read_bytes())["statusLine"] == mine


def test_with_the_plugin_hooks_and_skill_are_not_offered_twice(shop: Project) -> None:
    """The status line starts the plugin by the folder that an update leaves where it is."""
    put(shop, ".claude/settings.json", {"enabledPlugins": {"holdfast@holdfast": True}})
    found = states(shop)
    assert (found["hooks"], found["skill"], found["permission"]) == ("done", "done", "open")
    assert found["statusline"] == "not possible"
    put(shop, ".claude/plugins/known_marketplaces.json", MARKETPLACE)
    shop.run("init", "--yes")
    value = json.loads(settings(shop).read_bytes())
    assert "hooks" not in value
    assert value["statusLine"]["command"] == "/bin/sh /the/plugin/bin/holdfast statusline"
    assert states(shop)["statusline"] == "done"


def test_a_skill_of_another_release_is_kept_beside_the_new_one(shop: Project) -> None:
    file = put(shop, ".claude/skills/workflow-state/SKILL.md", "mine\n")
    assert states(shop)["skill"] == "open"
    shop.run("init", "--yes", "--only", "skill")
    assert "name: workflow-state" in file.read_text("utf-8")
    assert file.with_name("SKILL.md.before").read_text("utf-8") == "mine\n"


def test_a_skill_of_an_older_release_counted_as_changed_by_a_person(shop: Project) -> None:
    """So `uninstall` left it there for ever, and `init` kept a copy of what nobody had written."""
    file = put(shop, ".claude/skills/workflow-state/SKILL.md", skill.marked(b"old\n").decode())
    assert states(shop)["skill"] == "open"
    assert f"Removed {file}" in shop.run("uninstall").stdout
    file = put(shop, ".claude/skills/workflow-state/SKILL.md", skill.marked(b"old\n").decode())
    shop.run("init", "--yes", "--only", "skill")
    assert [path.name for path in file.parent.iterdir()] == ["SKILL.md"]
    shop.run("uninstall", "--purge", "--yes")
    assert not (shop.home / ".claude/skills").exists()


def test_a_skill_that_leads_outside_the_project_is_neither_copied_nor_replaced(
    shop: Project,
) -> None:
    """As it may come with a clone; the user's own folder may have links, to a folder of dotfiles."""
    secret = put(shop, "secret", "mine\n")
    for folder in (shop.root, shop.home):
        file = folder / ".claude/skills/workflow-state/SKILL.md"
        file.parent.mkdir(parents=True)
        file.symlink_to(secret)
    options = ("--yes", "--only", "skill", "--scope")
    done = shop.run("init", *options, "project", check=False)
    assert done.returncode == 1
    assert "leads outside the project" in done.stdout
    assert secret.read_text("utf-8") == "mine\n"
    assert len(list((shop.root / ".claude/skills/workflow-state").iterdir())) == 1
    shop.run("init", *options, "user")
    assert "name: workflow-state" in secret.read_text("utf-8")
    assert secret.with_name("secret.before").read_text("utf-8") == "mine\n"


def test_broken_settings_are_told_and_the_rest_is_done(shop: Project) -> None:
    """Exit code 1, and the file is as it was."""
    file = put(shop, ".claude/settings.json", '{"model": 1, // mine\n}')
    done = shop.run("init", "--yes", check=False)
    assert done.returncode == 1
    assert "a comment, which JSON does not have" in done.stdout
    assert file.read_text("utf-8") == '{"model": 1, // mine\n}'
    found = states(shop, check=False)
    assert {found[name] for name in ("hooks", "permission", "statusline")} == {"wrong"}
    assert found["skill"] == "done"


def test_a_folder_that_cannot_be_made_is_told(shop: Project) -> None:
    put(shop, ".claude", "no folder")
    done = shop.run("init", "--yes", check=False)
    assert done.returncode == 1
    assert "could not be written" in done.stderr
    assert "Following PLAN.md" in done.stdout
    assert "Traceback" not in done.stderr


def test_settings_that_git_tracks_need_an_explicit_scope(shop: Project) -> None:
    """As `install` does it."""
    shop.run("install", "--scope", "project")
    shop.git("init", "-q")
    shop.git("add", "-f", ".claude/settings.json")
    done = shop.run("init", "--yes", "--only", "permission", check=False)
    assert done.returncode == 1
    assert "needs an explicit --scope" in done.stderr
    shop.run("init", "--yes", "--only", "permission", "--scope", "project")
    shared = json.loads((shop.root / ".claude/settings.json").read_bytes())
    assert shared["permissions"] == {"allow": [extras.RULE]}
    assert states(shop)["statusline"] == "not possible"


def test_fifty_plans_are_neither_listed_nor_asked_for_one_by_one(
    holdfast_project: Project,
) -> None:
    for number in range(50):
        holdfast_project.write(f"plans/{number}.md", PLAN.replace("Shop", f"Shop {number}"))
    shown = holdfast_project.run("init", "--yes").stdout
    assert shown.count("it looks like a plan") == 10
    assert "And 40 more files. See: holdfast why FILE" in shown
    assert "50 files look like plans, too many to ask" in shown
    assert holdfast_project.states() == []
    assert len(facts(holdfast_project)["plans"]) == 50


def test_a_plan_that_cannot_be_read_hides_no_other(shop: Project) -> None:
    """A link that leads outside; and what a file's name and text hold does not reach the terminal."""
    (shop.root / "plans").mkdir()
    (shop.root / "plans/link.md").symlink_to("/etc/hostname")
    shop.write("plans/binary.md", b"\x00\xff\x1b[31m")
    shop.write("plans/b\n\x1b[31m.md", PLAN.replace("Cart", "\x1b[31mCart"))
    shown = shop.run("init").stdout
    assert "PLAN.md: it looks like a plan" in shown
    assert "plans/link.md: it declares nothing (leads outside the project)" in shown
    assert "\x1b" not in shown


def test_switched_off_it_says_so(shop: Project) -> None:
    shop.write(".claude/holdfast.toml", "enabled = false\n")
    done = shop.run("init")
    assert "switched off, because enabled = false" in done.stderr
    assert "No plan" not in done.stdout


def test_in_the_home_folder_it_says_so(holdfast_project: Project) -> None:
    shown = holdfast_project.run("init", cwd=holdfast_project.home).stdout
    assert "This is your home folder." in shown
    assert "To begin with a plan: holdfast init --plan" in shown


# On a terminal.


def asked(project: Project, *answers: str) -> tuple[str, int]:
    shown = typed(
        ["init"], [("[Y/n]", answer) for answer in answers], project.root, project.environment()
    )
    return shown.text, shown.code


def test_each_offer_is_a_question(shop: Project) -> None:
    """Yes, no, Enter for yes; after rubbish it asks again. All that is written is written at the end."""
    shown, code = asked(shop, "y\n", "perhaps\n", "n\n", "\n", "n\n", "yes\n")
    assert code == 0
    assert "Register the hooks that save and restore workflows?" in shown
    assert "invalid input" in shown
    assert shown.rindex("[Y/n]") < shown.index("Registered 25 hooks")
    assert states(shop) == {
        **dict.fromkeys(("hooks", "statusline"), "done"),
        **dict.fromkeys(("permission", "skill"), "open"),
    }
    assert json.loads(shop.run("status", "--json").stdout)["workflow"]["briefing"]["name"] == "Shop"


@pytest.mark.parametrize("key", [CTRL_C, CTRL_D])
def test_leaving_in_the_middle_changes_nothing(key: str, shop: Project) -> None:
    """By Ctrl-C, and by the end of the input."""
    before = files_of(shop.root, shop.home)
    shown, code = asked(shop, "y\n", "y\n", key)
    assert code == 1
    assert "Nothing was changed." in shown
    assert "Traceback" not in shown
    assert files_of(shop.root, shop.home) == before


def test_no_to_everything_changes_nothing(shop: Project) -> None:
    before = files_of(shop.root, shop.home)
    shown, code = asked(shop, *["n\n"] * 5)
    assert (code, files_of(shop.root, shop.home)) == (0, before)
    assert "Nothing was changed." in shown


# A starter plan.


def briefing(project: Project) -> Any:
    return json.loads(project.run("status", "--json").stdout)["workflow"]["briefing"]


def test_a_starter_plan_is_read_back_as_it_was_meant(holdfast_project: Project) -> None:
    """In any script."""
    options = ("--name", "Zahlung per Karte", "--phases", "Entwurf,Bau & Test,Überprüfung")
    shown = holdfast_project.run("init", "--plan", *options).stdout
    assert f"Wrote {holdfast_project.root / 'PLAN.md'}" in shown
    found = briefing(holdfast_project)
    assert (found["name"], found["phase"], found["phases"]) == ("Zahlung per Karte", 1, 3)
    assert (found["phase_name"], found["status"]) == ("Entwurf", "in_progress")
    assert found["next_action"] == "Write down the steps of Entwurf"
    holdfast_project.run("phase", "next", "--tick")
    assert briefing(holdfast_project)["phase_name"] == "Bau & Test"


@pytest.mark.parametrize("setting", ["", 'plans = ["docs/*.md"]\n'])
def test_where_plan_md_is_there_a_starter_plan_lies_below_plans(
    setting: str, shop: Project
) -> None:
    """Also where a setting has plans lie elsewhere."""
    before = (shop.root / "PLAN.md").read_bytes()
    shop.write(".claude/holdfast.toml", setting)
    shown = shop.run("init", "--plan", "--name", "Pay by card", "--phases", "A;B").stdout
    assert f"Wrote {shop.root}/plans/pay-by-card.md" in shown
    assert (briefing(shop)["name"], briefing(shop)["phases"]) == ("Pay by card", 2)
    assert (shop.root / "PLAN.md").read_bytes() == before


def test_it_asks_for_what_a_starter_plan_needs(holdfast_project: Project) -> None:
    answers = [("work:", "\n"), ("work:", "Pay\n"), ("order", "A, B\n")]
    shown = typed(
        ["init", "--plan"], answers, holdfast_project.root, holdfast_project.environment()
    )
    assert shown.code == 0
    assert f"Wrote {holdfast_project.root}/PLAN.md" in shown.text
    found = briefing(holdfast_project)
    assert (found["name"], found["phases"], found["phase_name"]) == ("Pay", 2, "A")


@pytest.mark.parametrize(
    "command",
    [
        ("start", "X", "--phases", "A,B"),
        ("init", "--plan", "--name", "X", "--phases", "A,B"),
        ("simulate",),
    ],
    ids=" ".join,
)
def test_a_start_without_hooks_says_that_a_compaction_saves_nothing(
    command: tuple[str, ...], holdfast_project: Project
) -> None:
    """In one line on stderr; not in a session, not as JSON, and not once an agent has the hooks."""
    warning = "holdfast: no hooks are registered, so a compaction saves and restores nothing"

    def warnings(folder: str, session: str | None, *options: str) -> int:
        where = holdfast_project.root / folder
        where.mkdir()
        done = holdfast_project.run(*command, *options, session=session, cwd=where, check=False)
        return done.stderr.count(warning)

    assert (warnings("alone", None), warnings("in a session", "session-1")) == (1, 0)
    if command == ("simulate",):
        assert warnings("as JSON", None, "--json") == 0
    holdfast_project.run("install", "--agent", "codex")
    assert warnings("with hooks", None) == 0


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        (("--name", "Old", "--phases", "A,B"), "could not be written: File exists"),
        (("--name", "X", "--phases", "A,(B)"), "would be read as"),
        (("--name", "X\n\n## Phase 9: Y", "--phases", "A"), "would be read as"),
        (("--name", "Template", "--phases", "[name],B"), "would be read as"),
        (("--name", "X", "--phases", " , "), "would be read as"),
        (("--name", "X"), "needs --name and --phases"),
        (("--name", "X", "--phases", "A", "--yes"), "takes only"),
    ],
)
def test_a_starter_plan_that_is_refused_writes_nothing(
    options: tuple[str, ...], cause: str, shop: Project
) -> None:
    shop.write("plans/old.md", "# Old\n")
    before = files_of(shop.root)
    done = shop.run("init", "--plan", *options, check=False)
    assert done.returncode in {1, 2}
    assert cause in done.stderr
    after = {
        path: content for path, content in files_of(shop.root).items() if ".claude" not in str(path)
    }
    assert after == before


def test_a_starter_plan_is_not_written_outside_the_project(shop: Project) -> None:
    """A clone may bring a link."""
    (shop.root / "plans").symlink_to(shop.home)
    options = ("--name", "X", "--phases", "A,B")
    done = shop.run("init", "--plan", *options, check=False)
    assert "leads outside the project" in done.stderr
    assert not (shop.home / "x.md").exists()
