"""The `holdfast` command; all else is in pyproject.toml.

Hooks are started again and again, and our own script starts a third faster than the one that pip makes of an
entry point. On Windows a command has to be an .exe, which only an entry point becomes.
"""

import sys

from setuptools import setup

if sys.platform == "win32":
    setup(entry_points={"console_scripts": ["holdfast = holdfast.__main__:start"]})
else:
    setup(scripts=["src/scripts/holdfast"])
