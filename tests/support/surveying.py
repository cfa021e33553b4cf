"""One format by itself: surveyed, and with a time to wait for the lock saved as well."""

from __future__ import annotations

from typing import Any

from holdfast.formats.engine.workflow import Place, Survey


def surveyed(form: Any, place: Place, wait: float | None = None) -> Survey:
    """What *form* finds at *place*, once what is due is saved where there is a time to *wait*."""
    survey: Survey = form.survey(place)
    if wait is not None:
        form.save_due(place, survey, wait)
    return survey
