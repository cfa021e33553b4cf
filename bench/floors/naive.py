"""A first attempt at a hook like ours: it loads what it would need, makes one model, and does nothing."""

import json
import sys

import filelock  # noqa: F401
import frontmatter  # noqa: F401
import pydantic


class State(pydantic.BaseModel):
    """The least that a state has."""

    workflow: str


json.load(sys.stdin)
