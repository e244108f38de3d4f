# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""One sqlite3 file (.db3) of a rosbag2 bag, of any schema version."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
import sqlite3
from urllib.parse import quote

from curation.bag.model import Buffer, Message, Problem, Ref, Topic
from curation.exceptions import BagError

_BATCH = 256


class SqliteFile:
    """Reads one .db3 file, which has receive times only.

    Raises BagError where the file is no sqlite3 bag.
    """

    def __init__(self, path: str, number: int = 0) -> None:
        self.path = path
        self._number = number
        self.problems = [
            Problem(f"{path}: sqlite3 keeps no checksums: altered bytes can't be seen", lost=False)
        ]
        self.metadata: list[tuple[str, dict[str, str]]] = []
        if Path(path).stat().st_size == 0:
            raise BagError(f'{path}: expected a sqlite3 bag, found 0 bytes')
        # immutable: not even the files of the write-ahead log are created beside the bag
        log = Path(f'{path}-wal')
        mode = 'mode=ro' if log.is_file() and log.stat().st_size else 'immutable=1'
        self._connection = sqlite3.connect(f'file:{quote(path)}?{mode}', uri=True)
        try:
            self._read_topics()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            self.close()
            raise BagError(f'{path}: expected a sqlite3 bag, found none ({error})') from error

    def messages(
        self,
        topics: Collection[str] | None = None,
        start_ns: int | None = None,
        end_ns: int | None = None,
    ) -> Iterator[Message]:
        """Yield messages in log-time order, those with start_ns <= log time < end_ns."""
        wanted = {
            id_: name for id_, name in self._names.items() if topics is None or name in topics
        }
        clause = f'topic_id IN ({",".join("?" * len(wanted))})'
        values = list(wanted)
        if start_ns is not None:
            clause += ' AND timestamp >= ?'
            values.append(start_ns)
        if end_ns is not None:
            clause += ' AND timestamp < ?'
            values.append(end_ns)
        cursor = self._connection.cursor()
        last: int | None = None
        try:
            cursor.execute(
                'SELECT id, topic_id, timestamp, data FROM messages WHERE '
                f'{clause} ORDER BY timestamp, id',
                values,
            )
            while rows := cursor.fetchmany(_BATCH):
                for id_, topic, timestamp, data in rows:
                    if not isinstance(data, bytes) or not isinstance(timestamp, int):
                        self._lose(f'row {id_} is not a message', (wanted[topic],), last)
                        continue
                    last = timestamp
                    yield Message(wanted[topic], data, timestamp, None, (self._number, id_, 0, 0))
        except (sqlite3.Error, OverflowError, UnicodeDecodeError) as error:
            self._lose(
                f'messages are unreadable from here on ({error})',
                tuple(sorted(wanted.values())),
                last,
            )

    def read(self, ref: Ref) -> Buffer:
        """Return the bytes of one message again; BagError where it is lost."""
        try:
            row = self._connection.execute(
                'SELECT data FROM messages WHERE id = ?', (ref[1],)
            ).fetchone()
        except sqlite3.Error as error:
            raise BagError(f"{self.path}: a message can't be read ({error})") from error
        return bytes(row[0])

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _lose(self, text: str, topics: tuple[str, ...], start_ns: int | None) -> None:
        problem = Problem(f'{self.path}: {text}', topics, start_ns, None)
        if problem not in self.problems:
            self.problems.append(problem)

    def _read_topics(self) -> None:
        query = self._connection.execute
        tables = {row[0] for row in query("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if not {'topics', 'messages'} <= tables:
            raise sqlite3.DatabaseError('no tables topics and messages')
        definitions: dict[str, tuple[str, str]] = {}
        if 'message_definitions' in tables:
            columns = 'topic_type, encoding, encoded_message_definition'
            definitions = {
                row[0]: (row[1], row[2])
                for row in query(f'SELECT {columns} FROM message_definitions')
            }
        if 'metadata' in tables:
            self.metadata = [
                ('rosbag2', {'serialized_metadata': row[0]})
                for row in query('SELECT metadata FROM metadata ORDER BY id')
            ]
        counts = {}
        try:
            counts = dict(query('SELECT topic_id, COUNT(*) FROM messages GROUP BY topic_id'))
            self.start_ns, self.end_ns = query(
                'SELECT MIN(timestamp), MAX(timestamp) FROM messages'
            ).fetchone()
        except sqlite3.DatabaseError as error:
            self.start_ns = self.end_ns = None
            self._lose(f"its messages can't be counted ({error})", (), None)
        self._names: dict[int, str] = {}
        self.topics: dict[str, Topic] = {}
        for id_, name, type_, encoding in query(
            'SELECT id, name, type, serialization_format FROM topics ORDER BY id'
        ):
            schema_encoding, text = definitions.get(type_, ('', ''))
            known = self.topics.get(name)
            count = counts.get(id_, 0) + (known.count or 0 if known else 0)
            self.topics[name] = Topic(name, type_, encoding, schema_encoding, text, count)
            self._names[id_] = name
