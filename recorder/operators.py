# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Operators are picked by name and recorded under a pseudonym, with their consent."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from recorder.exceptions import SessionError
from teleop_bridge.rig.section import parse_yaml, read_text


@dataclass(frozen=True)
class Operator:
    """What bags carry of a person."""

    pseudonym: str
    consent: bool


def find_operator(path: Path, name: str) -> Operator:
    """Return the operator of that name from a file ``operators: {Ada: {pseudonym: op3, …}}``.

    The file stays on the workstation: no bag holds it. Raises RigError for a broken file,
    SessionError, naming nobody else, for an unknown name or a pseudonym used twice.
    """
    operators = read_operators(path)
    if name not in operators:
        raise SessionError(f"{path}: expected operator '{name}' there, found no such name")
    return operators[name]


def read_operators(path: Path) -> dict[str, Operator]:
    """Return all operators of such a file by name; RigError, SessionError."""
    top = parse_yaml(read_text(path), str(path))
    operators = {
        key: Operator(section.text('pseudonym'), section.flag('consent', False))
        for key, section in top.named('operators', required=True)
    }
    top.done()
    pseudonyms = [operator.pseudonym for operator in operators.values()]
    if len(set(pseudonyms)) < len(pseudonyms):
        raise SessionError(f'{path}: expected pseudonyms of their own, found one used twice')
    return operators
