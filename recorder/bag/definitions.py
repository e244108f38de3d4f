# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Full ros2msg definitions and type hashes, from ROS's share folders or else from rosbags.

Our own messages' files are found in ROS's share folders, in the source tree, or beside the
interpreter where pip installed them.
"""

from __future__ import annotations

from functools import cache
import json
import os
from pathlib import Path
import re
import sys
from typing import Any

from recorder.exceptions import TopicError
from teleop_bridge.exceptions import MissingDependencyError

SEPARATOR = '=' * 80
OURS = 'teleop_flywheel'
_BUILTIN = re.compile(r'^(bool|byte|char|float32|float64|u?int(8|16|32|64)|w?string)(<=\d+)?$')


def _folders(package: str) -> list[Path]:
    prefixes = [*os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep), sys.prefix]
    folders = [Path(prefix, 'share', package) for prefix in prefixes if prefix]
    if package == OURS:
        folders.append(Path(__file__).parents[2])
    return folders


def _share_file(type_: str, suffix: str) -> Path | None:
    package, kind, name = type_.split('/')
    for folder in _folders(package):
        path = folder / kind / (name + suffix)
        if path.is_file():
            return path
    return None


def _nested(text: str, package: str) -> list[str]:
    """Return the message types that a definition's fields use, in order."""
    types = []
    for line in text.splitlines():
        words = line.split('#', 1)[0].split()
        if len(words) < 2 or '=' in words[1]:
            continue
        base = words[0].split('[', 1)[0]
        if _BUILTIN.match(base):
            continue
        parts = base.split('/')
        types.append(f'{parts[0]}/msg/{parts[-1]}' if len(parts) > 1 else f'{package}/msg/{base}')
    return list(dict.fromkeys(types))


@cache
def _own_text(type_: str) -> str | None:
    path = _share_file(type_, '.msg')
    return None if path is None else path.read_text(encoding='utf-8')


@cache
def typestore() -> Any:
    """Return rosbags' typestore of ROS 2 Jazzy, with our own messages registered.

    Raises MissingDependencyError.
    """
    try:
        from rosbags.typesys import get_types_from_msg, get_typestore, Stores
    except ImportError as error:
        raise MissingDependencyError(
            'message definitions without ROS need the library rosbags: pip install rosbags'
        ) from error
    store = get_typestore(Stores.ROS2_JAZZY)
    for folder in _folders(OURS):
        files = sorted((folder / 'msg').glob('*.msg'))
        for path in files:
            name = f'{OURS}/msg/{path.stem}'
            if name not in store.types:
                store.register(get_types_from_msg(path.read_text(encoding='utf-8'), name))
    return store


@cache
def definition(type_: str) -> str:
    """Return the full ros2msg text, nested types included, of ``package/msg/Name``.

    Raises TopicError for a type that is known nowhere.
    """
    if type_.count('/') != 2:
        raise TopicError(f"message type '{type_}': expected package/msg/Name")
    texts: dict[str, str] = {}
    todo = [type_]
    while todo:
        name = todo.pop(0)
        if name in texts:
            continue
        text = _own_text(name)
        if text is None:
            return _typestore_definition(type_)
        texts[name] = text
        todo += _nested(text, name.split('/')[0])
    own = texts.pop(type_)
    parts = [own]
    for name, text in texts.items():
        package, _, short = name.split('/')
        parts.append(f'{SEPARATOR}\nMSG: {package}/{short}\n{text}')
    return '\n'.join(parts)


@cache
def type_hash(type_: str) -> str:
    """Return a type's REP 2011 hash, empty where it can't be told."""
    path = _share_file(type_, '.json')
    if path is not None:
        for entry in json.loads(path.read_text(encoding='utf-8')).get('type_hashes', ()):
            if entry.get('type_name') == type_:
                return str(entry['hash_string'])
    try:
        return str(typestore().hash_rihs01(type_))
    except (KeyError, MissingDependencyError):
        return ''


def _typestore_definition(type_: str) -> str:
    store = typestore()
    if type_ not in store.fielddefs:
        raise TopicError(
            f"message type '{type_}': expected a .msg file in a share folder of "
            'AMENT_PREFIX_PATH or a standard type, found neither'
        )
    text, _ = store.generate_msgdef(type_, ros_version=2)
    return str(text)
