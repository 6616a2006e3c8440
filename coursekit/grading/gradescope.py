"""Whose submission is whose, and when it came, in what Gradescope exports: its submission_metadata.yml."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

METADATA = "submission_metadata.yml"


@dataclass(frozen=True)
class Handed:
    """One submission: its people, the first one's number at the university, and its time, 0 if not known."""

    student: str
    sid: str
    when: float


def submitters(place: Path) -> dict[str, Handed]:
    """By the name of its folder, each submission that Gradescope's list in `place` names."""
    try:
        listed = yaml.load(_text(place), getattr(yaml, "CSafeLoader", yaml.SafeLoader)) or {}
        return {str(folder): _handed(told) for folder, told in listed.items() if told[":submitters"]}
    except Exception:  # no list, or none that can be read: folders then have the names that they have
        return {}


def _handed(told: Any) -> Handed:
    people, made = told[":submitters"], told.get(":created_at")
    sids = [str(one[":sid"]) for one in people if one.get(":sid")]
    when = made.timestamp() if isinstance(made, datetime) else 0.0
    return Handed(" and ".join(str(one[":name"]) for one in people), next(iter(sids), ""), when)


def _text(place: Path) -> bytes:
    """The list beside the submissions: one that lies among a student's files is not Gradescope's."""
    if place.is_dir():
        return (place / METADATA).read_bytes()
    with zipfile.ZipFile(place) as archive:
        tops = {name.split("/")[0] for name in archive.namelist()}
        return archive.read(METADATA if METADATA in tops or len(tops) > 1 else f"{tops.pop()}/{METADATA}")
