# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Review by keys in a terminal: the reason, curves and frames of one episode after another."""

from __future__ import annotations

from typing import Any

from rich.console import Group
from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.widgets import Footer, Input, Static

from curation.align.load import load_episode
from curation.align.options import AlignOptions, OnGap
from curation.catalog.annotations import span_of, What
from curation.catalog.reviewing import Flagged, Review
from curation.catalog.terminal import curve, picture
from teleop_bridge.exceptions import FlywheelError
from teleop_bridge.vocabulary import Grade, InterventionKind

_FRAMES = 3
_ASKED = {
    'note': 'note:',
    'span': 'part of the task, as: 0 2.5 grasp approach',
    'reason': 'intervention, kind and reason, as: 1 goal wrong grasp',
}


class ReviewApp(App[None]):
    """One episode at a time; every key that says something adds an annotation at once."""

    TITLE = 'review'
    BINDINGS = [
        Binding('k', 'verdict("keep")', 'keep'),
        Binding('d', 'verdict("drop")', 'drop'),
        *(
            Binding(str(number), f'grade("{grade.value}")', grade.value.replace('_', ' '))
            for number, grade in enumerate(Grade, 1)
        ),
        Binding('n', 'ask("note")', 'note'),
        Binding('r', 'ask("reason")', 'reason'),
        Binding('s', 'ask("span")', 'span'),
        Binding('u', 'undo', 'undo'),
        Binding('right,space', 'step(1)', 'next'),
        Binding('left', 'step(-1)', 'back'),
        Binding('q', 'quit', 'quit'),
    ]

    def __init__(self, review: Review) -> None:
        super().__init__()
        self._review = review
        self._index = 0
        self._asking = ''

    def compose(self) -> ComposeResult:
        """Lay out what is shown."""
        yield VerticalScroll(Static(id='episode'))
        entry = Input(id='entry')
        entry.display = False
        yield entry
        yield Static(id='told')
        yield Footer()

    def on_mount(self) -> None:
        """Show the first episode."""
        self._show()

    def action_verdict(self, verdict: str) -> None:
        """Keep or drop, and go on."""
        if self._say(What.VERDICT, verdict):
            self.action_step(1)

    def action_grade(self, grade: str) -> None:
        """Give another grade."""
        self._say(What.GRADE, grade)

    def action_undo(self) -> None:
        """Take the last word on this episode back."""
        if len(self._review):
            self._tell(lambda: self._review.undo(self._flagged().id))

    def action_ask(self, what: str) -> None:
        """Ask for a text."""
        if len(self._review):
            self._asking = what
            entry = self.query_one('#entry', Input)
            entry.placeholder, entry.value, entry.display = _ASKED[what], '', True
            entry.focus()

    def action_step(self, step: int) -> None:
        """Go to another episode."""
        self._index = max(0, min(self._index + step, len(self._review) - 1))
        self._show()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take the text that was asked for."""
        event.input.display = False
        self.set_focus(None)
        asked, text = self._asking, event.value.strip()
        if text:
            self._tell(lambda: self._say_text(asked, text))

    def _say_text(self, asked: str, text: str) -> None:
        value: Any = text
        if asked == 'span':
            value = span_of(text.split())
        elif asked == 'reason':
            number, kind, *reason = [*text.split(), '', '']
            entries = self._flagged().interventions
            index = int(number) - 1 if number.isdigit() else -1
            name = entries[index][0] if 0 <= index < len(entries) else ''
            value = {'intervention': name, 'kind': kind, 'reason': ' '.join(reason).strip()}
        self._review.say(self._flagged().id, What(asked), value)

    def _say(self, what: What, value: Any) -> bool:
        return bool(len(self._review)) and self._tell(
            lambda: self._review.say(self._flagged().id, what, value)
        )

    def _tell(self, act: Any) -> bool:
        try:
            act()
        except FlywheelError as error:
            self.query_one('#told', Static).update(Text(str(error), style='red'))
            return False
        self._show()
        return True

    def _flagged(self) -> Flagged:
        return self._review.flagged(self._index)

    def _show(self) -> None:
        self.query_one('#told', Static).update('')
        if not len(self._review):
            self.query_one('#episode', Static).update(Text('Nothing is to be reviewed.'))
            return
        flagged = self._flagged()
        head = Text.assemble(
            (f'{self._index + 1} of {len(self._review)}  ', 'dim'), (flagged.name, 'bold'),
            f'  {flagged.grade or "ungraded"}  ', (flagged.verdict or 'open', 'bold yellow'), '\n',
        )  # fmt: skip
        lines = [Text(f'  {reason}') for reason in flagged.reasons]
        lines += [
            Text(f'  intervention {number}: {kind or "not named"} {reason}')
            for number, (_, kind, reason) in enumerate(flagged.interventions, 1)
        ]
        lines += [
            Text(f'  said by {a.by}: {a.what.value} {a.value}', style='cyan')
            for a in self._review.history(flagged.id)
        ]
        kinds = ', '.join(kind.value for kind in InterventionKind)
        lines.append(Text(f'  kinds of interventions: {kinds}', style='dim'))
        self.query_one('#episode', Static).update(Group(head, *lines, *self._drawn(flagged)))

    def _drawn(self, flagged: Flagged) -> list[Text]:
        try:
            options = AlignOptions(on_gap=OnGap.MASK)
            episode = load_episode(flagged.path, options=options)
        except FlywheelError as error:
            return [Text(str(error), style='red')]
        drawn = [
            Text.assemble((f'{name:>16} ', 'dim'), curve(episode.state[:, index]))
            for index, name in enumerate(episode.rig.joint_names)
        ]
        for camera in episode.cameras:
            for place in range(_FRAMES):
                index = round(place * (len(episode) - 1) / (_FRAMES - 1))
                try:
                    drawn.append(picture(episode.frame(camera, index)))
                except FlywheelError as error:
                    drawn.append(Text(str(error), style='red'))
        return drawn
