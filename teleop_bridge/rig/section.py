# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Read mappings out of YAML so that a mistake names its file, key and what was expected."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
import math
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import yaml

from teleop_bridge.exceptions import RigError

E = TypeVar('E', bound=Enum)
_REQUIRED: Any = object()
_KINDS = {
    str: 'text',
    bool: 'true or false',
    int: 'a whole number',
    dict: 'a mapping',
    list: 'a list',
}


class _UniqueKeyLoader(yaml.SafeLoader):
    """YAML lets a later key hide an earlier one; here a repeated key is an error."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"key '{key}' is given twice", problem_mark=key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


class Section:
    """One mapping of a file. Each key is taken once; ``done`` refuses what nobody asked for."""

    def __init__(self, content: Any, *, file: str, where: str = '') -> None:
        self._file = file
        self._where = where
        if not isinstance(content, dict):
            self._fail('', f'expected a mapping, found {_describe(content)}')
        self._content = dict(content)
        self._taken: list[str] = []

    def text(self, key: str, default: str = _REQUIRED) -> str:
        """Take a text."""
        value: str = self._take(key, str, default)
        return value

    def flag(self, key: str, default: bool = _REQUIRED) -> bool:
        """Take true or false."""
        value: bool = self._take(key, bool, default)
        return value

    def whole(self, key: str, default: int = _REQUIRED) -> int:
        """Take a whole number."""
        value: int = self._take(key, int, default)
        return value

    def number(
        self,
        key: str,
        default: Any = _REQUIRED,
        *,
        low: float = -math.inf,
        above: float = -math.inf,
    ) -> Any:
        """Take a finite number that is at least ``low`` and more than ``above``."""
        value = self._pop(key, default)
        if value is default:
            return value
        if (
            isinstance(value, bool)
            or not isinstance(value, (int, float))
            or not math.isfinite(value)
        ):
            self._fail(key, f'expected a finite number, found {_describe(value)}')
        if value < low or value <= above:
            bound = f'at least {low:g}' if low > -math.inf else f'more than {above:g}'
            self._fail(key, f'expected {bound}, found {value:g}')
        return float(value)

    def nanoseconds(self, key: str, default: Any = _REQUIRED) -> Any:
        """Take a positive number of milliseconds, as whole nanoseconds."""
        value = self.number(key, default, above=0)
        return value if value is default else round(value * 1e6)

    def choice(self, key: str, kind: type[E], default: E = _REQUIRED) -> E:
        """Take one of an enum's values."""
        value = self._pop(key, default)
        if value is default:
            return default
        try:
            return kind(value)
        except ValueError:
            options = ', '.join(str(option.value) for option in kind)
            self._fail(key, f'expected one of {options}, found {_describe(value)}')

    def triple(self, key: str) -> tuple[float, float, float] | None:
        """Take three finite numbers; None where the key is not there."""
        value = self._pop(key, None)
        if value is None:
            return None
        if not _are_numbers(value) or len(value) != 3:
            self._fail(key, f'expected three numbers, found {_describe(value)}')
        return float(value[0]), float(value[1]), float(value[2])

    def numbers(self, key: str) -> tuple[float, ...]:
        """Take a list of finite numbers."""
        values = self._pop(key, _REQUIRED)
        if not _are_numbers(values):
            self._fail(key, f'expected a list of numbers, found {_describe(values)}')
        return tuple(float(value) for value in values)

    def texts(self, key: str) -> tuple[str, ...]:
        """Take a list of texts, empty where the key is not there."""
        values = self._take(key, list, [])
        for value in values:
            if not isinstance(value, str):
                self._fail(key, f'expected a list of texts, found {_describe(value)} in it')
        return tuple(values)

    def mapping(self, key: str) -> dict[str, Any]:
        """Take a mapping as it is, empty where the key is not there."""
        value: dict[str, Any] = self._take(key, dict, {})
        return value

    def section(self, key: str) -> Section | None:
        """Take a mapping as a section; None where the key is not there."""
        value = self._pop(key, None)
        return None if value is None else self._child(key, value)

    def named(self, key: str, *, required: bool = False) -> Iterator[tuple[str, Section]]:
        """Take a mapping of names to sections."""
        value = self._take(key, dict, _REQUIRED if required else {})
        if required and not value:
            self._fail(key, 'expected at least one entry, found none')
        for name, content in value.items():
            if not isinstance(name, str):
                self._fail(key, f'expected names, found {_describe(name)}')
            yield name, self._child(f'{key}.{name}', content)

    def sections(self, key: str) -> Iterator[Section]:
        """Take a list of sections, empty where the key is not there."""
        for index, content in enumerate(self._take(key, list, [])):
            yield self._child(f'{key}[{index}]', content)

    def done(self) -> None:
        """Refuse keys that were not taken; raises RigError naming one and what is known."""
        if self._content:
            key = next(iter(self._content))
            known = ', '.join(sorted(self._taken))
            self._fail(str(key), f'unknown key (known here: {known})')

    def fail(self, key: str, problem: str) -> NoReturn:
        """Raise RigError about ``key`` of this section."""
        self._fail(key, problem)

    def _child(self, key: str, content: Any) -> Section:
        where = f'{self._where}.{key}' if self._where else key
        return Section(content, file=self._file, where=where)

    def _pop(self, key: str, default: Any) -> Any:
        self._taken.append(key)
        value = self._content.pop(key, None)
        if value is None:
            if default is _REQUIRED:
                self._fail(key, 'required key is missing')
            return default
        return value

    def _take(self, key: str, kind: type, default: Any) -> Any:
        value = self._pop(key, default)
        if value is not default and type(value) is not kind:
            self._fail(key, f'expected {_KINDS[kind]}, found {_describe(value)}')
        return value

    def _fail(self, key: str, problem: str) -> NoReturn:
        where = '.'.join(part for part in (self._where, key) if part)
        raise RigError(
            f'{self._file}: {where}: {problem}' if where else f'{self._file}: {problem}'
        )


def parse_yaml(text: str, file: str) -> Section:
    """Parse a file's text as one section; raises RigError naming the line where it is no YAML."""
    try:
        return Section(yaml.load(text, Loader=_UniqueKeyLoader), file=file)
    except yaml.YAMLError as error:
        mark = getattr(error, 'problem_mark', None)
        line = f' line {mark.line + 1}:' if mark else ''
        raise RigError(f'{file}:{line} {getattr(error, "problem", None) or "not YAML"}') from error


def read_text(path: Path) -> str:
    """Read a declaration file; raises RigError where it can't be."""
    try:
        return path.read_text(encoding='utf-8')
    except OSError as error:
        raise RigError(f'{path}: cannot be read ({error.strerror})') from error
    except UnicodeDecodeError as error:
        raise RigError(f'{path}: expected UTF-8 text ({error.reason})') from error


def _are_numbers(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(v, (int, float)) and not isinstance(v, bool) and math.isfinite(v) for v in value
    )


def _describe(value: Any) -> str:
    if isinstance(value, (dict, list)):
        return 'a mapping' if isinstance(value, dict) else f'a list of {len(value)}'
    return 'nothing' if value is None else repr(value)
