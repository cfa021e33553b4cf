"""The formats that there are."""

from __future__ import annotations

from holdfast.formats.base import Format
from holdfast.formats.canonical.format import Canonical
from holdfast.formats.skill.format import Skill

FORMATS: tuple[Format, ...] = (Canonical(), Skill())
