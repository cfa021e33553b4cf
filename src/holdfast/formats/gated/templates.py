"""What the artefacts of a workflow begin with where the project has no docs/ yet.

Names are those of the mapping. The implementation is code and the tests are tests, so the document
names no artefact of theirs; what reviewers read of them is a short report, which is not published.
"""

from __future__ import annotations

FEATURES = """\
# Features

<!-- One line a feature: its name, what it does for whom, and since when. -->
"""

REQUIREMENTS = """\
# Requirements

## Goal
<!-- What is to be possible that is not possible now, and for whom. -->

## Requirements
<!-- Numbered. Each can be tested: R1: ... -->

## Out of scope

## Open questions
"""

ARCHITECTURE = """\
# Architecture

## Overview
<!-- The parts, and what each is for. Diagrams go into diagrams/. -->

## Decisions
<!-- Each with its reason, and with what was decided against. -->

## Interfaces and data

## Risks
"""

IMPLEMENTATION = """\
# Implementation

## What was built
<!-- For each requirement: where it is. -->

## What differs from the architecture, and why

## What is left
"""

TESTING = """\
# Testing

## What is covered
<!-- For each requirement: which test shows it. -->

## How to run it, and how it ended

## What is not covered, and why
"""

USER_DOCS = """\
# User guide

## What it does

## How to use it
<!-- With an example that works as it stands. -->

## When something goes wrong
"""

API_DOCS = """\
# API reference

<!-- For each entry: what it takes, what it gives, how it fails, and an example. -->
"""

ARTEFACTS = {
    "00-feature/features.md": FEATURES,
    "01-requirements/requirements.md": REQUIREMENTS,
    "02-architecture/architecture.md": ARCHITECTURE,
    "03-implementation/implementation.md": IMPLEMENTATION,
    "04-testing/testing.md": TESTING,
    "05-documentation/user-docs.md": USER_DOCS,
    "05-documentation/api-docs.md": API_DOCS,
}


def description(title: str) -> str:
    """The description of a feature of which only the title is given."""
    return f"# {title}\n\n<!-- What is to be built, for whom, and why. -->\n"
