"""What Holdfast relies on in the real client, one test for each fact.

Nothing of Holdfast runs here. Where a test fails with a new version, the client has changed, and
what relies on the fact has to change too.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from realclient import runs
from realclient.recording import Record, Recording
from realclient.requests import additional_instructions, asking, first_after, summaries, words
from realclient.standin import SUMMARY
from realclient.terminal import WIDTH

pytestmark = pytest.mark.needs("npm")

AROUND_A_COMPACTION = ("PreCompact", "SubagentStop", "SessionStart", "PostCompact")


@pytest.fixture(scope="module")
def conversation(record: Record) -> Recording:
    return record(runs.conversation)


@pytest.fixture(scope="module")
def summariser_hooks(record: Record) -> Recording:
    return record(runs.summariser_hooks)


@pytest.fixture(scope="module")
def watching(record: Record) -> Recording:
    return record(runs.watching)


@pytest.fixture(scope="module")
def automatic(record: Record) -> Recording:
    return record(runs.automatic)


@pytest.fixture(scope="module")
def agents_in_flight(record: Record) -> Recording:
    return record(runs.agents_in_flight)


@pytest.fixture(scope="module")
def subagent_compaction(record: Record) -> Recording:
    return record(runs.subagent_compaction)


@pytest.fixture(scope="module")
def interactive(record: Record) -> Recording:
    return record(runs.interactive)


@pytest.fixture(scope="module")
def plugin(record: Record) -> Recording:
    return record(runs.plugin)


# Before the compaction


def test_plain_text_of_precompact_reaches_the_summariser_after_the_persons_own(
    conversation: Recording,
) -> None:
    first, second = summaries(conversation.requests)
    both = "Keep the names.\n\nKeep the phase of the workflow.\n"
    assert additional_instructions(first).startswith(both)
    assert additional_instructions(second).startswith("Keep the phase of the workflow.\n")


def test_what_precompact_prints_is_shown_to_the_person_and_later_to_the_model(
    conversation: Recording,
) -> None:
    shown = "completed successfully: Keep the phase of the workflow."
    assert shown in words(conversation.printed)
    assert shown in first_after(conversation.requests).text


def test_precompact_fires_though_the_compaction_then_fails(conversation: Recording) -> None:
    assert "Not enough messages to compact." in words(conversation.printed)
    compactions = conversation.seen("SessionStart", "probe", source="compact")
    assert len(compactions) == len(conversation.seen("PostCompact", "probe")) == 2
    assert len(conversation.seen("PreCompact", "probe", trigger="manual")) == 3


def test_custom_instructions_is_null_without_an_argument(conversation: Recording) -> None:
    given = [
        each.payload["custom_instructions"] for each in conversation.seen("PreCompact", "probe")
    ]
    assert given == [None, "Keep the names.", None]


def test_additional_context_on_precompact_is_an_error_that_the_person_sees(
    summariser_hooks: Recording,
) -> None:
    assert "Hook JSON output validation failed" in words(summariser_hooks.printed)
    [summary] = summaries(summariser_hooks.requests)
    assert "context as JSON" not in additional_instructions(summary)


@pytest.mark.parametrize("raw", ["{}", '{"systemMessage": "a message as JSON"}'])
def test_other_json_on_precompact_is_passed_on_as_raw_text(
    summariser_hooks: Recording, raw: str
) -> None:
    [summary] = summaries(summariser_hooks.requests)
    assert raw in additional_instructions(summary).splitlines()


def test_exit_1_of_precompact_shows_stderr_and_the_compaction_goes_on(
    summariser_hooks: Recording,
) -> None:
    shown = words(summariser_hooks.printed)
    assert "failed: the save failed" in shown
    assert "what a failing hook printed" not in shown
    [summary] = summaries(summariser_hooks.requests)
    assert "what a failing hook printed" not in summary.text
    assert summariser_hooks.seen("PostCompact")


def test_exit_2_of_precompact_blocks_the_compaction(summariser_hooks: Recording) -> None:
    assert "Compaction blocked by PreCompact hook" in words(summariser_hooks.notes["blocked"])
    assert len(summariser_hooks.seen("PreCompact", "probe")) == 2
    assert len(summaries(summariser_hooks.requests)) == 1


# The order of events, and what they carry


def test_order_of_the_events_of_a_compaction(conversation: Recording) -> None:
    fails, *succeed = conversation.order(*AROUND_A_COMPACTION, "UserPromptSubmit")[1:]
    assert fails == "PreCompact"
    first = succeed.index("PreCompact")
    before, summarised, *after, prompted = succeed[first : first + 5]
    assert [before, summarised, prompted] == ["PreCompact", "SubagentStop", "UserPromptSubmit"]
    assert sorted(after) == ["PostCompact", "SessionStart"]  # which comes first is left open


def test_postcompact_carries_the_summary(conversation: Recording) -> None:
    carried = [
        each.payload["compact_summary"] for each in conversation.seen("PostCompact", "probe")
    ]
    assert carried == [SUMMARY, SUMMARY]


def test_the_summariser_ends_as_a_subagent_without_a_type(conversation: Recording) -> None:
    ended = [each.payload["agent_type"] for each in conversation.seen("SubagentStop", "probe")]
    assert ended == ["general-purpose", "", ""]


def test_memory_files_are_loaded_again_after_a_compaction(conversation: Recording) -> None:
    loaded = conversation.seen("InstructionsLoaded", "probe", load_reason="compact")
    names = {Path(each.payload["file_path"]).name for each in loaded}
    assert "CLAUDE.local.md" in names


# After the compaction


@pytest.mark.parametrize("compaction", [1, 2])
def test_additional_context_reaches_the_first_request_after_a_compaction(
    conversation: Recording, compaction: int
) -> None:
    request = first_after(conversation.requests, compaction)
    assert ["the first", "the second"][compaction - 1] in request.text
    assert "SessionStart hook additional context: " in request.text
    assert request.text.count("the guidance, see @secret.txt") == 1


def test_a_path_with_an_at_in_a_hooks_output_is_not_expanded(conversation: Recording) -> None:
    assert "@secret.txt" in first_after(conversation.requests).text
    expanded = "what only an expanded path would show"
    assert not [each.number for each in conversation.requests if expanded in each.text]


@pytest.mark.parametrize("compaction", [1, 2])
def test_the_cap_is_for_each_hook_so_ten_long_parts_arrive_whole(
    conversation: Recording, compaction: int
) -> None:
    text = first_after(conversation.requests, compaction).text
    assert [number for number in range(runs.PARTS) if runs.part(number) not in text] == []


def test_ten_thousand_characters_arrive_and_one_more_is_replaced_by_a_preview(
    conversation: Recording,
) -> None:
    text = first_after(conversation.requests).text
    assert runs.part(10_000, 10_000) in text
    assert "[part 10001 begins]" in text
    assert "[part 10001 ends]" not in text
    assert "Full output saved to: " in text


def test_hooks_with_other_arguments_run_each_and_identical_ones_once(
    conversation: Recording,
) -> None:
    ran = {
        name: len(conversation.seen("SessionStart", name, source="compact"))
        for name in ("part-0", "part-9", "twin")
    }
    assert ran == {"part-0": 2, "part-9": 2, "twin": 2}  # two compactions; the twin is there twice


def test_a_system_message_does_not_reach_the_model(conversation: Recording) -> None:
    assert "for the person" in words(conversation.printed)
    assert not [each.number for each in conversation.requests if "for the person" in each.text]


def test_a_path_in_claude_local_md_is_expanded_and_read_afresh_after_a_compaction(
    conversation: Recording,
) -> None:
    opening = asking(conversation.requests, "use the tools")
    assert "The first edition." in opening.text
    assert "the notes behind the notes" in opening.text
    later = first_after(conversation.requests, 2)
    assert "The second edition." in later.text
    assert "The first edition." not in later.text


# Automatic compaction


def test_guidance_is_in_the_very_request_that_answers_the_prompt(automatic: Recording) -> None:
    request = first_after(automatic.requests, 1)
    assert "the prompt between two turns" in request.text
    assert [number for number in range(runs.PARTS) if runs.part(number) not in request.text] == []


def test_guidance_is_in_the_very_request_that_goes_on_with_a_tool_loop(
    automatic: Recording,
) -> None:
    request = first_after(automatic.requests, 2)
    assert "the loop ends" in request.text
    assert [number for number in range(runs.PARTS) if runs.part(number) not in request.text] == []


def test_automatic_compactions_pass_on_what_precompact_prints(automatic: Recording) -> None:
    asked = summaries(automatic.requests)
    assert len(asked) == 2
    for summary in asked:
        assert additional_instructions(summary).startswith("Keep the phase of the workflow.\n")


def test_precompact_fires_once_more_than_the_client_compacts(automatic: Recording) -> None:
    assert len(automatic.seen("PreCompact", "probe", trigger="auto")) == 3
    assert len(automatic.seen("SessionStart", "probe", source="compact")) == 2
    assert len(automatic.seen("PostCompact", "probe", trigger="auto")) == 2
    assert len(summaries(automatic.requests)) == 2


def test_task_created_carries_id_and_subject(automatic: Recording) -> None:
    [created] = automatic.seen("TaskCreated", "probe")
    assert created.payload["task_id"] == "1"
    assert created.payload["task_subject"] == "the subject"


# Tools


def test_a_denial_stops_the_call_and_tells_the_model_though_permissions_are_skipped(
    conversation: Recording,
) -> None:
    told = [each.tool_results for each in conversation.requests]
    assert [results for results in told if any("Read the plan first." in one for one in results)]
    assert conversation.seen("PreToolUse", "probe", tool_name="Write")
    assert conversation.notes["read-me"] == "what the file says"


def test_additional_context_of_pretooluse_reaches_the_model_beside_the_result(
    conversation: Recording,
) -> None:
    request = asking(conversation.requests, "a reminder before reading")
    assert any("what the file says" in result for result in request.tool_results)


def test_posttooluse_of_read_carries_the_path_and_the_response(conversation: Recording) -> None:
    [read] = conversation.seen("PostToolUse", "probe", tool_name="Read")
    assert read.payload["tool_input"]["file_path"].endswith("/read-me.txt")
    assert read.payload["tool_response"]["file"]["content"] == "what the file says"


def test_a_shell_command_that_fails_fires_posttoolusefailure_instead_of_posttooluse(
    conversation: Recording,
) -> None:
    [failed] = conversation.seen("PostToolUseFailure", "probe", tool_name="Bash")
    assert failed.payload["error"].startswith("Exit code 3\n")
    lines = [
        each.payload["tool_input"]["command"]
        for each in conversation.seen("PostToolUse", "probe", tool_name="Bash")
    ]
    assert len(lines) == 2
    assert failed.payload["tool_input"]["command"] not in lines


@pytest.mark.parametrize("event", [name for name in runs.BACKGROUND if name.startswith(("P", "S"))])
def test_async_hooks_fire(conversation: Recording, event: str) -> None:
    assert conversation.seen(event, "background")


def test_async_hooks_fire_for_task_created(automatic: Recording) -> None:
    assert automatic.seen("TaskCreated", "background", task_subject="the subject")


# Sessions


def test_the_session_id_stays_the_same_across_compactions_and_continue(
    conversation: Recording,
) -> None:
    fork = conversation.seen("UserPromptSubmit", "probe")[-1]
    kept = [each for each in conversation.every if each.at < fork.at and each.name == "probe"]
    started = [each for each in kept if each.event == "SessionStart"][:4]
    assert [each.payload["source"] for each in started] == [
        "startup",
        "compact",
        "compact",
        "resume",
    ]
    assert {each.payload["session_id"] for each in started} == {conversation.notes["session"]}


def test_context_reaches_the_first_request_of_a_continued_session(conversation: Recording) -> None:
    request = asking(conversation.requests, "the prompt of the continued session")
    assert "the guidance of a resumed session" in request.text


def test_a_fork_gets_an_id_of_its_own(conversation: Recording, version: str) -> None:
    prompt = conversation.seen("UserPromptSubmit", "probe")[-1]
    assert prompt.payload["prompt"] == "the prompt of the fork"
    forked = prompt.payload["session_id"]
    assert forked != conversation.notes["session"]
    start = conversation.seen("SessionStart", "probe")[-1].payload
    # The older version announces a fork as the session that it was taken from.
    announced = {
        "2.1.197": ("resume", conversation.notes["session"]),
        "2.1.326": ("fork", forked),
    }
    assert (start["source"], start["session_id"]) == announced[version]


def test_the_agents_shell_knows_its_session(conversation: Recording) -> None:
    results = [one for each in conversation.requests for one in each.tool_results]
    assert f"session {conversation.notes['session']}" in results


def test_claude_project_dir_stays_put_and_cwd_follows_the_agent(conversation: Recording) -> None:
    project = conversation.notes["project"]
    assert {each.env["CLAUDE_PROJECT_DIR"] for each in conversation.every} == {project}
    # In print mode the older version goes back with the next prompt, so this looks at the same turn.
    turn = conversation.seen("Stop", "probe")[0]
    assert turn.payload["cwd"] == f"{project}/below"


# Hooks


def test_exec_form_takes_arguments_as_they_are(conversation: Recording) -> None:
    prompted = conversation.seen("UserPromptSubmit", "probe")
    assert prompted
    assert len(conversation.seen("UserPromptSubmit", runs.ODD_NAME)) == len(prompted)


def test_an_event_that_the_client_does_not_know_is_passed_over(conversation: Recording) -> None:
    assert conversation.notes["stderr"] == ""
    assert not conversation.seen("", "unknown")
    assert conversation.seen("SessionStart", "probe", source="startup")


# Files that change


def test_a_watched_file_that_comes_and_is_replaced_fires_add_and_change(
    watching: Recording,
) -> None:
    fired = watching.seen("FileChanged", "probe", file_path=watching.notes["local"])
    # A change that was not told of in time was made again.
    assert list(dict.fromkeys(each.payload["event"] for each in fired)) == ["add", "change"]


def test_a_watched_directory_that_comes_later_fires_for_a_plan_deep_in_it(
    watching: Recording,
) -> None:
    fired = watching.seen("FileChanged", "probe", file_path=watching.notes["plan"])
    told = list(dict.fromkeys(each.payload["event"] for each in fired))
    assert told == ["add", "change", "unlink"]


@pytest.mark.parametrize("event", ["add", "change", "unlink"])
def test_async_hooks_fire_for_changed_files(watching: Recording, event: str) -> None:
    assert watching.seen("FileChanged", "background", event=event)


def test_the_next_list_of_paths_takes_the_place_of_the_one_before(watching: Recording) -> None:
    before, after = watching.notes["heard"]
    assert before == after > 0


def test_a_changed_file_makes_no_turn(watching: Recording) -> None:
    assert watching.seen("FileChanged")
    assert len(watching.requests) == 3  # two prompts and a summary


# Subagents


def test_posttooluse_of_agent_says_which_description_an_agent_id_has(
    agents_in_flight: Recording,
) -> None:
    started = {each.payload["agent_id"] for each in agents_in_flight.seen("SubagentStart", "probe")}
    described = {
        each.payload["tool_response"]["agentId"]: each.payload["tool_input"]["description"]
        for each in agents_in_flight.seen("PostToolUse", "probe", tool_name="Agent")
    }
    assert described.keys() == started
    assert sorted(described.values()) == ["first errand", "second errand"]


def test_stop_and_subagentstop_list_the_agents_in_flight(agents_in_flight: Recording) -> None:
    [summariser] = agents_in_flight.seen("SubagentStop", "probe", agent_type="")
    stop = agents_in_flight.seen("Stop", "probe")[1]
    for each in (stop, summariser):
        listed = each.payload["background_tasks"]
        told = sorted((task["description"], task["status"]) for task in listed)
        assert told == [("first errand", "running"), ("second errand", "running")]


def test_a_compaction_leaves_agents_running_and_the_client_says_so(
    agents_in_flight: Recording,
) -> None:
    text = first_after(agents_in_flight.requests).text
    assert 'Background agent "first errand"' in text
    assert 'Background agent "second errand"' in text
    ended = agents_in_flight.seen("SubagentStop", "probe", agent_type="general-purpose")
    compacted = agents_in_flight.seen("PostCompact", "probe")[0].at
    assert len([each for each in ended if each.at > compacted]) == 2


def test_a_subagents_own_compaction_comes_under_the_session_of_its_parent(
    subagent_compaction: Recording, version: str
) -> None:
    [agent] = subagent_compaction.seen("SubagentStart", "probe")
    marks = []
    for event in ("PreCompact", "SessionStart", "PostCompact"):
        fired = subagent_compaction.seen(event, "probe")[-1].payload
        assert fired["session_id"] == agent.payload["session_id"]
        marks.append(fired.get("agent_id"))
    # The older version does not tell it from a compaction of the session itself.
    told = {"2.1.197": None, "2.1.326": agent.payload["agent_id"]}
    assert marks == [told[version]] * 3


def test_after_a_subagents_own_compaction_the_context_goes_to_the_subagent(
    subagent_compaction: Recording,
) -> None:
    given = [each for each in subagent_compaction.requests if "the guidance" in each.text]
    assert given
    assert not [each.number for each in given if "start an agent" in each.text]


# A person at the terminal


@pytest.mark.needs("tmux")
def test_interactive_order_and_delivery_are_the_same(interactive: Recording) -> None:
    order = interactive.order(*AROUND_A_COMPACTION)[1:]
    assert order[:2] == ["PreCompact", "SubagentStop"]
    assert sorted(order[2:]) == ["PostCompact", "SessionStart"]
    [summary] = summaries(interactive.requests)
    assert additional_instructions(summary).startswith("Keep the phase of the workflow.\n")
    request = first_after(interactive.requests)
    assert "the prompt after the compaction" in request.text
    assert "the guidance" in request.text
    assert [number for number in range(runs.PARTS) if runs.part(number) not in request.text] == []


@pytest.mark.needs("tmux")
def test_interactive_shows_the_system_message(interactive: Recording) -> None:
    [screen] = interactive.printed
    assert "SessionStart:compact says: Restored: the workflow." in screen
    assert not [each.number for each in interactive.requests if "Restored:" in each.text]


@pytest.mark.needs("tmux")
def test_interactive_shows_that_a_precompact_hook_failed(interactive: Recording) -> None:
    [screen] = interactive.printed
    assert "failed: the save failed" in screen


@pytest.mark.needs("tmux")
def test_the_status_line_is_told_which_session_and_where(interactive: Recording) -> None:
    [session] = {each.payload["session_id"] for each in interactive.seen("Stop")}
    for each in interactive.seen("", "status"):
        workspace = each.payload["workspace"]
        assert each.payload["session_id"] == each.env["CLAUDE_CODE_SESSION_ID"] == session
        assert each.payload["cwd"] == workspace["current_dir"] == workspace["project_dir"]
        assert each.env["CLAUDE_PROJECT_DIR"] == workspace["project_dir"]


@pytest.mark.needs("tmux")
def test_the_status_line_is_told_how_full_the_context_is(interactive: Recording) -> None:
    """In whole per cent, and null until the first answer has come."""
    told = [runs.used(each) for each in interactive.seen("", "status")]
    assert told[0] is None
    assert {type(each) for each in told} == {type(None), int}


@pytest.mark.needs("tmux")
def test_the_status_line_is_told_the_width_of_the_terminal(interactive: Recording) -> None:
    assert {each.env["COLUMNS"] for each in interactive.seen("", "status")} == {str(WIDTH)}


@pytest.mark.needs("tmux")
def test_the_status_line_is_shown_and_its_colours_are_no_text(interactive: Recording) -> None:
    """One version has a note of its own at the right of the same line."""
    [screen] = interactive.printed
    assert re.search("^  the status in a line(?: {5}.*)?$", screen, re.MULTILINE)


# Plugins


def test_a_plugin_passes_validation(plugin: Recording) -> None:
    assert "Validation passed" in plugin.notes["validated"]


def test_twelve_parts_of_a_plugin_arrive(plugin: Recording) -> None:
    text = asking(plugin.requests, "the prompt with a plugin for one run").text
    assert [number for number in range(12) if runs.part(number) not in text] == []


def test_the_same_command_from_plugin_and_settings_runs_twice(plugin: Recording) -> None:
    loaded = plugin.every[: plugin.notes["loaded"]]
    assert [each.name for each in loaded].count("twice") == 2


def test_a_plugins_hook_knows_where_the_plugin_and_its_data_are(plugin: Recording) -> None:
    ran = plugin.seen("SessionStart", "rooted")
    assert len(ran) == 2
    for each in ran:
        # A plugin from a local marketplace is copied when installed, and yet run where it lies.
        assert each.env["CLAUDE_PLUGIN_ROOT"] == plugin.notes["root"]
        assert each.env["CLAUDE_PLUGIN_DATA"].startswith(plugin.notes["home"])


def test_async_hooks_of_a_plugin_fire(plugin: Recording) -> None:
    assert plugin.seen("PostToolUse", "background", tool_name="Bash")


def test_a_plugins_tools_are_on_the_path_and_do_not_know_its_root(plugin: Recording) -> None:
    results = [one for each in plugin.requests for one in each.tool_results]
    assert results == ["the tool knows []"]


def test_a_plugin_installs_from_a_folder_and_asks_nobody_else(plugin: Recording) -> None:
    installed = plugin.every[plugin.notes["loaded"] :]
    assert [each.name for each in installed].count("rooted") == 1
    assert plugin.notes["elsewhere"] == []
    text = asking(plugin.requests, "the prompt with an installed plugin").text
    assert runs.part(11) in text
