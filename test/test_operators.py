# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Names stay in the operators' file; bags get pseudonyms."""

from __future__ import annotations

from pathlib import Path

import pytest

from recorder.exceptions import SessionError
from recorder.operators import find_operator, Operator
from teleop_bridge.exceptions import RigError


def test_name_gives_pseudonym_and_consent(tmp_path: Path) -> None:
    path = tmp_path / 'operators.yaml'
    path.write_text('operators:\n  Ada: {pseudonym: op3, consent: true}\n  Bo: {pseudonym: op4}\n')
    assert find_operator(path, 'Ada') == Operator('op3', True)
    assert find_operator(path, 'Bo') == Operator('op4', False)
    with pytest.raises(SessionError, match="expected operator 'Cy' there") as error:
        find_operator(path, 'Cy')
    assert 'Ada' not in str(error.value)


def test_broken_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / 'operators.yaml'
    path.write_text('operators:\n  Ada: {pseudonym: op3}\n  Bo: {pseudonym: op3}\n')
    with pytest.raises(SessionError, match='found one used twice'):
        find_operator(path, 'Ada')
    path.write_text('operators:\n  Ada: {}\n')
    with pytest.raises(RigError, match=r'operators\.yaml'):
        find_operator(path, 'Ada')
