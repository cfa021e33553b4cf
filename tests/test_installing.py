"""Our hooks among those of others: put in, put right, taken out, and nothing else touched."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.agents.clients import CLAUDE, CLIENTS, Client
from holdfast.errors import HoldfastError
from holdfast.files import jsontext
from holdfast.setup import clientsettings, extras, installing, registration
from holdfast.setup.clientsettings import ClientSettings
from holdfast.setup.registration import Program

TWELVE = Path(__file__).parent / "samples" / "settings" / "twelve-hooks.json"
WANTED = registration.hooks(parts=2)
SETTINGS = {name: client for name, client in CLIENTS.items() if not client.is_bridge}
ALL = pytest.mark.parametrize("client", SETTINGS.values(), ids=list(SETTINGS))
OLD = Program("/old/bin/holdfast")

# Without what white space is put behind below.
words = st.text(st.characters(exclude_characters="[{", exclude_categories=["Cs"]), max_size=4)
others = st.fixed_dictionaries(
    {
        "type": st.just("command"),
        "command": st.sampled_from(["lint", "holdfast status", "say hook"]),
    },
    optional={"timeout": st.integers(1, 99), "args": st.lists(words, max_size=2)},
)
groups = st.fixed_dictionaries(
    {"hooks": st.lists(others, min_size=1, max_size=3)},
    optional={"matcher": st.sampled_from(["", "*", "Bash", "compact|resume|fork"])},
)
events = st.sampled_from(["PreCompact", "SessionStart", "PostToolUse", "Stop", "Notification"])
foreign = st.dictionaries(events, st.lists(groups, min_size=1, max_size=3), min_size=1, max_size=4)
rest = st.dictionaries(
    words.filter(lambda key: key != "hooks"),
    st.none() | st.integers() | st.lists(words) | st.just({"a": {}}),
    max_size=3,
)


@st.composite
def settings_files(draw: st.DrawFn) -> str:
    """Settings with hooks of others, or none, formatted in any way."""
    value = list(draw(rest).items())
    if draw(st.booleans()):
        value.insert(draw(st.integers(0, len(value))), ("hooks", draw(foreign)))
    indent = draw(st.sampled_from([None, 1, 2, 3, 4, 7, "\t"]))
    separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,", " : ")]))
    text = json.dumps(dict(value), indent=indent, separators=separators)
    if draw(st.booleans()):  # odd white space behind brackets and commas
        chance = random.Random(draw(st.integers()))  # noqa: S311  # white space only
        text = "".join(
            each + chance.choice(["", " ", "\n  "]) if each in "[{" else each for each in text
        )
    text = draw(st.sampled_from(["", "\ufeff"])) + text + draw(st.sampled_from(["", "\n"]))
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


def value_of(text: str) -> Any:
    return clientsettings.parsed(text.encode())


@ALL
@given(settings_files())
def test_in_and_out_again_is_byte_for_byte_the_same(client: Client, text: str) -> None:
    """And twice in is once in, with each agent's own events and in its own shape."""
    wanted = registration.hooks(parts=2, client=client)
    once = installing.with_ours(text, wanted, client)
    assert installing.with_ours(once, wanted, client) == once
    ours = registration.registered(value_of(once)["hooks"], client)
    assert sorted(ours) == sorted(registration.registered(wanted, client))
    back = installing.without_ours(once)
    assert value_of(back) == value_of(text)
    assert back == text or not value_of(text)  # what was between empty braces is not known


@given(settings_files(), st.sampled_from([None, {}, {"allow": ["x"]}, {"deny": [1]}]))
def test_extras_in_and_out_again_are_byte_for_byte_the_same(text: str, permissions: Any) -> None:
    """The permission rule and the status line, however the file is formatted; twice in is once in."""
    if permissions is not None:
        text = jsontext.added(text, (), permissions, "permissions")
    once = extras.show(extras.allow(text), OLD)
    assert extras.show(extras.allow(once), OLD) == once
    assert extras.is_allowed(value_of(once))
    assert extras.is_ours(extras.status_line(value_of(once)))
    back = installing.without_ours(once)
    if permissions != {}:  # what was emptied goes with it
        assert value_of(back) == value_of(text)
        assert back == text or not value_of(text)


@pytest.mark.parametrize(
    ("line", "is_ours"),
    [
        ("holdfast statusline", True),
        ("/a b/holdfast statusline", False),
        ("'/a b/holdfast' statusline", True),
        ("sh /p/bin/holdfast statusline", True),
        ("python3 -P -m holdfast statusline", True),
        ("holdfast statusline | head", False),
        ("mine && holdfast statusline", False),
        ("", False),
    ],
)
def test_only_a_status_line_that_is_ours_alone_is_ours(line: str, is_ours: bool) -> None:
    text = json.dumps({"statusLine": {"type": "command", "command": line}})
    assert (extras.remove(text) == "{}") == is_ours


@ALL
@given(settings_files(), st.randoms(use_true_random=False))
def test_whatever_became_of_ours_the_others_stay(
    client: Client, text: str, chance: random.Random
) -> None:
    """Ours are mixed into groups of others, doubled, lost or moved: all is put right."""
    wanted = registration.hooks(parts=2, client=client)
    old = registration.hooks(OLD, parts=3, client=client)
    value = value_of(installing.with_ours(text, old, client))
    entries = [
        entry
        for listed in value["hooks"].values()
        for group in listed
        for entry in group["hooks"]
        if registration.ours(entry)
    ]
    for listed in value["hooks"].values():
        for group in listed:
            if chance.random() < 0.5:
                place = chance.randrange(len(group["hooks"]) + 1)
                group["hooks"].insert(place, chance.choice(entries))
    muddled = json.dumps(value, indent=2)

    def foreign_only(text: str) -> dict[str, Any]:
        found = value_of(text)
        kept = {
            event: [
                {**group, "hooks": hooks}
                for group in listed
                if (hooks := [each for each in group["hooks"] if not registration.ours(each)])
            ]
            for event, listed in found.get("hooks", {}).items()
        }
        kept = {event: listed for event, listed in kept.items() if listed}
        return {**found, "hooks": kept}

    repaired = installing.with_ours(muddled, wanted, client)
    assert sorted(registration.registered(value_of(repaired)["hooks"], client)) == sorted(
        registration.registered(wanted, client)
    )
    assert foreign_only(repaired) == foreign_only(muddled)
    out = installing.without_ours(muddled)
    assert registration.registered(value_of(out).get("hooks"), client) == []
    assert foreign_only(out) == foreign_only(muddled)


def test_twelve_hooks_of_others_and_odd_indentation() -> None:
    """The order of keys, tabs beside spaces, commas in front, and a space before the colon."""
    text = TWELVE.read_bytes().decode()
    hooks = value_of(text)["hooks"]
    assert sum(len(group["hooks"]) for listed in hooks.values() for group in listed) == 12
    once = installing.with_ours(text, registration.hooks())
    assert installing.with_ours(once, registration.hooks()) == once
    assert installing.without_ours(once) == text
    later = iter(once)
    assert all(character in later for character in text)  # nothing moved, nothing gone


def test_a_fresh_file_is_the_example() -> None:
    """As it is shown to people who register the hooks by hand."""
    assert installing.with_ours("{}\n", registration.hooks()) == registration.text(
        registration.hooks()
    )


def test_a_timeout_that_somebody_changed_stays() -> None:
    """It is still our hook, and it is theirs to decide."""
    text = installing.with_ours("{}\n", WANTED).replace('"timeout": 30', '"timeout": 7')
    assert installing.with_ours(text, WANTED) == text


@pytest.mark.parametrize(
    "now",
    [
        registration.hooks(OLD, 2),
        registration.hooks(parts=1),
        registration.hooks(parts=3),
        registration.hooks(parts=2, by_server=True),
        {**WANTED, "PreCompact": WANTED["PreCompact"] * 2},
        {**WANTED, "PreCompact": [{**WANTED["PreCompact"][0], "matcher": "auto"}]},
        {**WANTED, "Stop": WANTED["PreCompact"]},
        {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]},
    ],
)
def test_what_is_wrong_is_put_right(now: dict[str, Any]) -> None:
    """Another program, too few or too many, doubled, with another matcher, at another event."""
    right = installing.with_ours(json.dumps({"hooks": now}), WANTED)
    ours = registration.registered(value_of(right)["hooks"])
    assert sorted(ours) == sorted(registration.registered(WANTED))


@pytest.mark.parametrize(
    ("agent", "change"),
    [
        ("gemini", {"timeout": 20}),
        ("codex", {"command": "holdfast hook"}),
        ("codex", {"command": "holdfast", "args": ["hook", "--agent", "codex"]}),
        ("qwen", {"command": "holdfast hook --agent codex"}),
    ],
)
def test_what_is_wrong_with_another_agent_is_put_right(agent: str, change: dict[str, Any]) -> None:
    """An entry of a former form, or of another agent."""
    client = CLIENTS[agent]
    wanted = registration.hooks(parts=2, client=client)
    value = json.loads(json.dumps({"hooks": wanted}))
    value["hooks"]["SessionStart"][0]["hooks"][0] |= change
    right = installing.with_ours(json.dumps(value), wanted, client)
    ours = registration.registered(value_of(right)["hooks"], client)
    assert sorted(ours) == sorted(registration.registered(wanted, client))


def test_a_member_for_which_codex_refuses_the_file() -> None:
    """Our hooks would not run either; a description may stand there."""
    codex = CLIENTS["codex"]
    assert problem({"description": "mine", "hooks": {}}, codex) == ""
    assert problem({"model": "x"}, codex) == 'Codex refuses the whole file for its "model"'
    assert problem({"model": "x"}) == ""


def problem(value: object, client: Client = CLAUDE) -> str:
    return ClientSettings("x", client).holding(json.dumps(value).encode()).problem


def test_hooks_in_a_shape_that_we_do_not_know_are_left_alone() -> None:
    """The client passes over an event that is no list; to edit it could only make it worse."""
    assert problem({"hooks": []}) == '"hooks" is not an object'
    assert problem({"hooks": {"Stop": None}}) == '"Stop" in "hooks" is not a list'
    assert problem({"hooks": {"Stop": []}}) == problem({}) == ""


def test_a_change_by_somebody_else_in_between_is_not_overwritten(tmp_path: Path) -> None:
    """The client writes its settings itself, for a permission that was just given."""
    file = tmp_path / "settings.json"
    file.write_text('{"a": 1}')
    change = installing.putting_in(clientsettings.read(str(file)), WANTED)
    file.write_text('{"a": 2}')
    with pytest.raises(HoldfastError, match="changed by another process"):
        installing.install(change, str(tmp_path / "state"))
    assert file.read_text() == '{"a": 2}'


@pytest.mark.parametrize("damage", [b'{"a": "another"}', b"no JSON", b"", None])
@pytest.mark.parametrize("content", ['{"a": 1}', "{}"])
def test_a_copy_that_was_damaged_or_lost_is_not_restored(
    content: str, damage: bytes | None, tmp_path: Path
) -> None:
    """Then the file loses our hooks alone."""
    file, state = tmp_path / "settings.json", str(tmp_path / "state")
    file.write_text(content)

    def install(parts: int) -> str | None:
        wanted = registration.hooks(parts=parts)
        change = installing.putting_in(clientsettings.read(str(file)), wanted)
        return installing.install(change, state)

    copy = install(2)
    assert copy is not None
    assert Path(copy).stat().st_mode & 0o777 == 0o600
    if damage is None:
        Path(copy).unlink()
    else:
        Path(copy).write_bytes(damage)
    install(3)
    change = installing.taking_out(clientsettings.read(str(file)), state)
    assert (change.restores, change.after) == (False, content.encode())
