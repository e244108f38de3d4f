# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""An answer to a question: a table, and a sentence on how it was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Answer:
    """Rows under columns; ``note`` says what people must know to read them."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]] = field(default_factory=list)
    note: str = ''

    def documents(self) -> list[dict[str, Any]]:
        """Return the rows as mappings, for JSON."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def texts(self) -> list[list[str]]:
        """Return the rows for people; the numbers of a list are separated by spaces."""
        return [
            [' '.join(map(str, cell)) if isinstance(cell, list) else str(cell) for cell in row]
            for row in self.rows
        ]


def answer(columns: str, rows: Sequence[Sequence[Any]], note: str = '') -> Answer:
    """Return an answer; column names are separated by spaces, with _ for spaces within."""
    return Answer(tuple(columns.split()), [tuple(row) for row in rows], note)
