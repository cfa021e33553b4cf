"""A feature in the real client, from its start to the published docs, compacted after every command."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from gatedwork import FOLDER, RUN, write_artefacts
from realclient.install import NEWEST
from realclient.requests import additional_instructions, first_after, summaries
from realclient.standin import StandIn
from realclient.workplace import Workplace, shell, trouble

pytestmark = pytest.mark.needs("npm")
CHANGED = "# Requirements\nof the feature, too\n"
START = ["start", "user-auth", "--title", "User Auth", "--description", "words of the description"]


@NEWEST
def test_a_feature_with_a_compaction_after_every_command(binary: Path, tmp_path: Path) -> None:
    """What comes next and what is to be read is in the first request after each."""
    place = Workplace(tmp_path)
    place.write("docs/requirements.md", "# Requirements\n")
    place.write_settings()
    steps = [(START, "Requirements: the creator works on the artefact"), *RUN]
    with StandIn() as stand_in, place.client(binary, stand_in) as session:
        session.send("begin")
        for number, (arguments, _) in enumerate(steps, 1):
            stand_in.queue += [shell(shlex.join(["holdfast", "gate", *arguments]))]
            session.send(f"step {number}")
            if number == 1:
                write_artefacts(place)
            session.send(f"go on with step {number}")
            session.compact()
            session.send(f"the turn after step {number}")
            assert len(summaries(stand_in.requests)) == number
        place.write(f"{FOLDER}/01-requirements/requirements.md", CHANGED)
        stand_in.queue += [shell("holdfast gate complete && holdfast gate finalize")]
        session.send("complete it, and publish")
        session.close()
    for number, (arguments, expected) in enumerate(steps, 1):
        sent = first_after(stand_in.requests, number).text
        line = next(each for each in sent.splitlines() if each.startswith("Next action: "))
        assert expected in line, arguments
        assert "words of the description" in sent, arguments
        note = additional_instructions(summaries(stand_in.requests)[number - 1])
        assert expected[:100] in note, arguments
    assert trouble(session.messages) == []
    assert session.stderr == ""
    assert (place.project / "docs/requirements.md").read_text("utf-8") == CHANGED
    assert not (place.project / FOLDER).exists()
