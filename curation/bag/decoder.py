# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Decode messages by the schema that the bag carries, through rosbags; no ROS is needed."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from rosbags.typesys import get_types_from_idl, get_types_from_msg, get_typestore, Stores

from curation.bag.model import Buffer, Topic
from curation.exceptions import DecodeError
from recorder.bag.definitions import typestore
from recorder.bag.stamps import header_stamp_ns

MAX_PADDING = 8  # bytes of rubbish that middlewares leave after a message's end
_HEADER = 'std_msgs/msg/Header'


class Decoder:
    """Decodes one topic's messages; DecodeError names the topic where its schema is unusable."""

    def __init__(self, topic: Topic) -> None:
        self.topic = topic.name
        if topic.encoding != 'cdr':
            raise DecodeError(
                f"{topic.name}: expected messages encoded as cdr, found '{topic.encoding}'"
            )
        self.type = full_type(topic.type)
        try:
            self._store = _store(self.type, topic.schema_encoding, topic.schema)
        except DecodeError as error:
            raise DecodeError(f'{topic.name}: {error}') from error
        self._functions = self._store.get_msgdef(self.type)
        fields = self._store.fielddefs[self.type][1]
        self.fields = tuple(name for name, _ in fields)
        self.has_header = bool(fields) and fields[0][1][1] == _HEADER

    def decode(self, data: Buffer) -> Any:
        """Return the message as an object with the schema's fields, arrays as numpy arrays.

        Raises DecodeError.
        """
        try:
            return self._decode(data)
        except Exception as error:  # altered bytes make the library raise anything
            raise DecodeError(
                f"{self.topic}: a message can't be decoded as {self.type} ({error})"
            ) from error

    def _decode(self, data: Buffer) -> Any:
        view = memoryview(data)
        if bytes(view[:2]) not in (b'\x00\x00', b'\x00\x01'):
            raise ValueError(f'expected plain CDR, found the encapsulation {bytes(view[:2])!r}')
        functions = self._functions
        function = functions.deserialize_cdr_le if view[1] else functions.deserialize_cdr_be
        message, end = function(view[4:], 0, functions.cls, self._store)
        if not 0 <= len(view) - 4 - end <= MAX_PADDING:
            raise ValueError(f'expected {end + 4} bytes, found {len(view)}')
        return message

    def stamp_ns(self, data: Buffer) -> int:
        """Return a header's stamp, ns, without decoding the message; raises DecodeError."""
        stamp = header_stamp_ns(data) if self.has_header else None
        if stamp is None:
            raise DecodeError(
                f'{self.topic}: {self.type} has no header, so no stamp: declare the '
                "stream's stamp as publish or receive"
            )
        return stamp

    def same_as_standard(self) -> bool:
        """Tell whether the bag's definition of the type is the one of ROS 2 Jazzy."""
        standard = typestore().fielddefs
        return bool(self._closure(self._store.fielddefs) == self._closure(standard))

    def _closure(self, definitions: Any) -> Any:
        """Return the definitions of the type and those it is made of, without constants."""
        found: dict[str, Any] = {}
        todo = [self.type]
        while todo:
            name = todo.pop()
            if name in found or name not in definitions:
                continue
            fields = definitions[name][1]
            found[name] = [(field, _plain(kind)) for field, kind in fields]
            todo += [used for _, kind in fields for used in _names(kind)]
        return found


def _plain(kind: Any) -> Any:
    return tuple(_plain(part) for part in kind) if isinstance(kind, (tuple, list)) else str(kind)


def _names(kind: Any) -> list[str]:
    if isinstance(kind, (tuple, list)):
        return [name for part in kind for name in _names(part)]
    return [kind] if isinstance(kind, str) and '/' in kind else []


def full_type(name: str) -> str:
    """Return ``package/msg/Name`` for names of old bags such as ``package/Name``."""
    package, _, rest = name.partition('/')
    return name if '/' in rest or not rest else f'{package}/msg/{rest}'


@lru_cache(maxsize=256)
def _store(type_: str, encoding: str, text: str) -> Any:
    """Return a typestore that holds the type as this schema defines it."""
    standard = typestore()
    if not text.strip():
        if type_ in standard.fielddefs:
            return standard
        if encoding != 'ros2msg':
            raise DecodeError(f"the bag has no definition of '{type_}' and it is no standard type")
    if encoding not in ('ros2msg', 'ros2idl'):
        raise DecodeError(f"expected a schema in ros2msg or ros2idl, found '{encoding}'")
    try:
        store = get_typestore(Stores.EMPTY)
        idl = encoding == 'ros2idl'
        store.register(get_types_from_idl(text) if idl else get_types_from_msg(text, type_))
        store.get_msgdef(type_)
    except Exception as error:  # a broken schema makes the parser raise whatever it stumbles over
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DecodeError(f"the schema of '{type_}' can't be used ({reason})") from error
    return store
