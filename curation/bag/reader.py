# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Open any rosbag2 bag or MCAP file: one reader over one or several storage files."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cached_property
import heapq
import operator
from pathlib import Path
from types import TracebackType

from curation.bag.decoder import Decoder
from curation.bag.files import BagLayout, find_files, open_file
from curation.bag.model import BagFile, Buffer, Message, Problem, Ref, Topic
from curation.exceptions import BagError, DecodeError
from recorder.bag.content_id import ContentHash


def open_bag(path: Path | str) -> BagReader:
    """Open a bag given by its folder or one storage file; BagError where nothing can be read."""
    return BagReader(Path(path))


class BagReader:
    """One bag: its topics, facts and messages in log-time order.

    ``problems`` names what is lost; reading adds to it what only reading can tell.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        layout = find_files(path)
        self.name = path.name if path.is_dir() else path.stem
        self.layout = layout
        self._own_problems = list(layout.problems)
        self._files: list[BagFile] = []
        self._open_files(layout)
        self._decoders: dict[str, Decoder] = {}
        self.topics = self._merge_topics()
        self.custom_data = self._merge_custom_data()
        self.start_ns = min(
            (f.start_ns for f in self._files if f.start_ns is not None), default=None
        )
        self.end_ns = max((f.end_ns for f in self._files if f.end_ns is not None), default=None)
        self._check_counts()

    def __enter__(self) -> BagReader:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close its files."""
        for file in self._files:
            file.close()

    @property
    def problems(self) -> list[Problem]:
        """Return what could not be read, as far as is known yet."""
        return self._own_problems + [problem for file in self._files for problem in file.problems]

    @property
    def duration_ns(self) -> int:
        """Return the time from the first to the last message, by log time, ns."""
        return 0 if self.start_ns is None or self.end_ns is None else self.end_ns - self.start_ns

    @property
    def message_count(self) -> int | None:
        """Return the number of messages; None where only reading would tell."""
        counts = [topic.count for topic in self.topics.values()]
        return None if None in counts else sum(count or 0 for count in counts)

    @cached_property
    def content_id(self) -> str:
        """Return the id of the bag's content: reads it whole, once."""
        content = ContentHash()
        for message in self.messages():
            content.add(
                message.topic,
                self.topics[message.topic].type,
                message.log_ns,
                message.publish_ns,
                bytes(message.data),
            )
        return content.hexdigest()

    def messages(
        self,
        topics: Collection[str] | None = None,
        start_ns: int | None = None,
        end_ns: int | None = None,
    ) -> Iterator[Message]:
        """Yield messages in log-time order, those with start_ns <= log time < end_ns.

        Topics that the bag does not have are ignored. Only the chunks that hold what is asked for
        are read.
        """
        if topics is not None:
            topics = frozenset(topics)
        files = sorted(
            (f for f in self._files if f.start_ns is not None),
            key=lambda f: (f.start_ns, f.end_ns),
        )
        streams = [f.messages(topics, start_ns, end_ns) for f in files]
        if all(
            (a.end_ns or 0) < (b.start_ns or 0) for a, b in zip(files, files[1:], strict=False)
        ):
            for stream in streams:
                yield from stream
        else:
            yield from heapq.merge(*streams, key=operator.attrgetter('log_ns'))

    def read(self, ref: Ref) -> Buffer:
        """Return the bytes of a message that ``messages`` yielded with this ``ref``."""
        return self._files[ref[0]].read(ref)

    def decoder(self, topic: str) -> Decoder:
        """Return what decodes a topic; DecodeError where it can't be, or the bag has none such."""
        if topic not in self._decoders:
            if topic not in self.topics:
                known = ', '.join(sorted(self.topics)) or 'none'
                raise DecodeError(f"{self.path}: no topic '{topic}' (topics: {known})")
            try:
                self._decoders[topic] = Decoder(self.topics[topic])
            except DecodeError as error:
                raise DecodeError(f'{self.path}: {error}') from error
        return self._decoders[topic]

    def _open_files(self, layout: BagLayout) -> None:
        failed: list[BagError] = []
        for path in layout.files:
            try:
                self._files.append(open_file(path, len(self._files), layout))
            except BagError as error:
                failed.append(error)
        if not self._files:
            raise failed[0]
        self._own_problems += [Problem(f'{error}; all its messages are lost') for error in failed]

    def _merge_topics(self) -> dict[str, Topic]:
        topics: dict[str, Topic] = {}
        for file in self._files:
            for topic in file.topics.values():
                known = topics.get(topic.name)
                if known is None:
                    topics[topic.name] = topic
                    continue
                if known.type != topic.type:
                    raise BagError(
                        f'{file.path}: {topic.name} is {topic.type} here, '
                        f'{known.type} in an earlier file of the bag'
                    )
                total = (
                    None
                    if known.count is None or topic.count is None
                    else (known.count + topic.count)
                )
                richer = known if known.schema else topic
                topics[topic.name] = Topic(
                    known.name,
                    known.type,
                    richer.encoding,
                    richer.schema_encoding,
                    richer.schema,
                    total,
                )
        return topics

    def _merge_custom_data(self) -> dict[str, str]:
        merged: dict[str, str] = {}
        for file in self._files:
            merged.update(file.custom_data)
        beside = self.layout.custom_data
        for key in merged.keys() & beside.keys():
            if merged[key] != beside[key]:
                self._own_problems.append(
                    Problem(
                        f"{self.path}: '{key}' in metadata.yaml differs from the bag itself, "
                        'which is used',
                        lost=False,
                    )
                )
        return {**beside, **merged}

    def _check_counts(self) -> None:
        """Compare with metadata.yaml's counts: a cut sqlite3 file shows nowhere else."""
        for name, expected in self.layout.counts.items():
            topic = self.topics.get(name)
            found = topic.count if topic else 0
            if found is not None and found < expected:
                self._own_problems.append(
                    Problem(
                        f'{self.path}: {name}: expected {expected} messages by metadata.yaml, '
                        f'found {found}',
                        (name,),
                    )
                )
