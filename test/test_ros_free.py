# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Every module outside nodes/ imports where no ROS is installed at all."""

from __future__ import annotations

from pathlib import Path
import subprocess
import sys

ROOT = Path(__file__).parents[1]
PACKAGES = ('teleop_bridge', 'recorder', 'curation')
# the adapter of ROS's own bag library is used only where that is installed
ROS_ADAPTERS = {'recorder.bag.rosbag2_writer'}
ALEMBIC_SCRIPT = 'curation.catalog.migrations.env'  # runs only while a schema changes

IMPORT_ALL = """
import importlib
import sys

from teleop_bridge.exceptions import MissingDependencyError

ROS = ('ament_index_python', 'launch', 'launch_ros', 'rclpy', 'rosbag2_py', 'rosidl', 'rpyutils',
       'teleop_flywheel', 'tf2_ros')


class NoRos:
    def find_spec(self, name, path=None, target=None):
        first = name.partition('.')[0]
        if first in ROS or first.endswith(('_msgs', '_interfaces')):
            raise ModuleNotFoundError(f'{name}: ROS is not there in this test', name=name)
        return None


sys.meta_path.insert(0, NoRos())
failed = {}
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        failed[name] = str(error)
    except MissingDependencyError:
        pass  # an optional library that is not installed here
for name, error in failed.items():
    print(f'{name}: {error}')
sys.exit(bool(failed))
"""


def ros_free_modules() -> list[str]:
    files = [path for name in PACKAGES for path in (ROOT / name).rglob('*.py')]
    names = {'.'.join(path.relative_to(ROOT).with_suffix('').parts) for path in files}
    names = {name.removesuffix('.__init__') for name in names}
    return sorted(name for name in names - ROS_ADAPTERS - {ALEMBIC_SCRIPT} if '.nodes' not in name)


def test_modules_outside_the_nodes_import_without_ros() -> None:
    modules = ros_free_modules()
    assert len(modules) > 30
    done = subprocess.run(
        [sys.executable, '-c', IMPORT_ALL, *modules], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
