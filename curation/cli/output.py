# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""What a verb prints: results on standard output, everything else on standard error."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
import json
import math
from typing import Any, Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

_LONGEST_WORD = 20


class Advance(Protocol):
    """Tells a progress bar how far the work is."""

    def __call__(self, done: int, total: int, what: str = '') -> None:
        """Say that ``done`` of ``total`` is done, and what is in hand."""


class Output:
    """Prints text and tables for people, or one JSON document for programs."""

    def __init__(self, *, json: bool) -> None:
        self.json = json
        self._out = Console(highlight=False, soft_wrap=True)
        self._err = Console(stderr=True, highlight=False, soft_wrap=True)

    def line(self, text: str) -> None:
        """Print a line for people; not with --json."""
        if not self.json:
            self._out.print(text, markup=False)

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Print a table for people; not with --json."""
        if self.json:
            return
        table = Table(box=None, header_style='bold', pad_edge=False)
        for index, column in enumerate(columns):
            words = [word for text in (column, *(row[index] for row in rows))
                     for word in str(text).split()]
            least = min(max(map(len, words), default=1), _LONGEST_WORD)
            table.add_column(column, min_width=least)  # lines break between words
        for row in rows:
            table.add_row(*(Text(str(cell)) for cell in row))
        self._out.print(table)

    def document(self, content: Any) -> None:
        """Print the JSON document; only with --json. What is not finite becomes null."""
        if self.json:
            print(json.dumps(_finite(content), indent=1, ensure_ascii=False))

    def note(self, text: str) -> None:
        """Print a line about the work itself."""
        self._err.print(text, markup=False)

    def error(self, text: str) -> None:
        """Print one error."""
        self._err.print(f'flywheel: {text}', markup=False, style='red')

    @contextmanager
    def progress(self, what: str) -> Iterator[Advance]:
        """Show a progress bar on standard error while the block runs."""
        columns = (
            TextColumn('{task.description}', markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=self._err, transient=True) as bar:
            task = bar.add_task(what, total=None)

            def advance(done: int, total: int, what: str = what) -> None:
                bar.update(task, completed=done, total=total, description=what)

            yield advance


def _finite(content: Any) -> Any:
    if isinstance(content, dict):
        return {key: _finite(value) for key, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [_finite(value) for value in content]
    if isinstance(content, float) and not math.isfinite(content):
        return None
    return content
