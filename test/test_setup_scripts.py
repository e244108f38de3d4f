# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The set-up scripts choose the right ROS and say in one line what they can't do."""

from __future__ import annotations

import os
from pathlib import Path
import subprocess
import sys
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def setup_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make scripts/environment importable, as its __main__ does."""
    monkeypatch.syspath_prepend(str(ROOT / 'scripts' / 'environment'))


@pytest.fixture
def distribution(setup_modules: None) -> ModuleType:
    import distribution

    return distribution


def run_setup(tmp_path: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {'PATH': '/usr/bin:/bin', 'HOME': str(tmp_path), 'PYTHON': sys.executable}
    return subprocess.run(
        [ROOT / 'scripts' / 'setup'], env={**environment, **variables}, capture_output=True,
        text=True, check=False)


def test_wheels_are_used_where_no_ros_is_sourced(distribution: ModuleType) -> None:
    assert distribution.sourced({}) is distribution.Ros.WHEELS


def test_a_sourced_jazzy_is_used(distribution: ModuleType) -> None:
    sourced = {'ROS_DISTRO': 'jazzy', 'AMENT_PREFIX_PATH': '/opt/ros/jazzy'}
    assert distribution.sourced(sourced) is distribution.Ros.JAZZY


def test_half_a_jazzy_is_refused(distribution: ModuleType) -> None:
    with pytest.raises(Exception, match='AMENT_PREFIX_PATH is empty'):
        distribution.sourced({'ROS_DISTRO': 'jazzy'})


def test_wheels_are_refused_where_there_are_none(
    distribution: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distribution.platform, 'machine', lambda: 'aarch64')
    with pytest.raises(Exception, match='x86-64 Linux only; found aarch64'):
        distribution.sourced({})


def test_another_sourced_distribution_is_one_clear_error(tmp_path: Path) -> None:
    done = run_setup(tmp_path, ROS_DISTRO='humble', AMENT_PREFIX_PATH='/opt/ros/humble')
    assert done.returncode == 1
    assert done.stderr.count('\n') == 1
    assert 'ROS 2 humble is sourced in this shell; expected jazzy' in done.stderr
    assert not (tmp_path / '.cache').exists()


def test_a_missing_interpreter_is_one_clear_error(tmp_path: Path) -> None:
    done = run_setup(tmp_path, PYTHON='/nowhere/python3')
    assert done.returncode == 1
    assert 'expected Python 3.10 to 3.13 as /nowhere/python3; found none' in done.stderr


def test_missing_system_packages_are_named_with_the_command_that_installs_them(
    setup_modules: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    import distribution
    import system_packages

    monkeypatch.setattr(system_packages, 'missing', lambda ros: ['libegl1', 'cmake'])
    monkeypatch.setattr(system_packages.os, 'geteuid', lambda: 1000)
    monkeypatch.setattr(system_packages, '_may_sudo', lambda: False)
    with pytest.raises(Exception, match='sudo apt-get install -y libegl1 cmake'):
        system_packages.install(distribution.Ros.WHEELS)


def test_the_environment_is_named_by_what_is_in_it(
    setup_modules: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import distribution
    import python_environment

    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'cache'))

    def folder(root: Path, ros: str = 'WHEELS') -> Path:
        return python_environment.Environment.of(root, distribution.Ros[ros]).folder

    clones = [tmp_path / 'one', tmp_path / 'two']
    for clone in clones:
        (clone / 'requirements').mkdir(parents=True)
        for name in ('base', 'extras', 'test', 'ros', 'lock', 'lock-jazzy'):
            (clone / 'requirements' / f'{name}.txt').write_text('numpy\n')
    assert folder(clones[0]) == folder(clones[1])
    assert folder(clones[0]).parent == tmp_path / 'cache' / 'teleop_flywheel'
    assert folder(clones[0]) != folder(clones[0], 'JAZZY')
    (clones[1] / 'requirements' / 'base.txt').write_text('numpy\nscipy\n')
    assert folder(clones[0]) != folder(clones[1])


def test_a_failed_step_shows_the_end_of_its_output(
    setup_modules: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import steps

    with pytest.raises(steps.SetupError, match='sh ended with 3; its output is in'):
        steps.run(['sh', '-c', 'echo no room left; exit 3'], log=tmp_path / 'log',
                  environment=os.environ)
    assert 'no room left' in capsys.readouterr().err


def test_a_second_setup_waits_for_the_first(setup_modules: None, tmp_path: Path) -> None:
    import steps

    waiting = (
        f'import sys; sys.path.insert(0, {str(ROOT / "scripts" / "environment")!r})\n'
        'import pathlib, steps\n'
        f'with steps.held(pathlib.Path({str(tmp_path / "lock")!r})): print("held", flush=True)\n'
    )
    with steps.held(tmp_path / 'lock'):
        second = subprocess.Popen(
            [sys.executable, '-c', waiting], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True)
        assert second.stderr is not None
        assert 'another set-up holds' in second.stderr.readline()
        assert second.poll() is None
    assert second.communicate(timeout=30)[0] == 'held\n'


def test_paths_of_the_wheels_build_machine_are_repaired(
    setup_modules: None, tmp_path: Path
) -> None:
    import wheels

    share = tmp_path / 'share' / 'rosidl' / 'cmake'
    share.mkdir(parents=True)
    file = share / 'export.cmake'
    file.write_text(
        'set(A "/opt/python/cp311-cp311/include/python3.11")\n'
        'set(B "/opt/python/cp311-cp311/lib/python3.11/site-packages/numpy/_core/include")\n')
    wheels.repair(tmp_path, python=Path(sys.executable), log=tmp_path / 'log')
    assert '/opt/python/' not in file.read_text()
    assert 'include' in file.read_text()


@pytest.mark.parametrize('arguments', [[], ['dataset']])
def test_the_lerobot_check_names_what_it_needs(arguments: list[str]) -> None:
    done = subprocess.run(
        [ROOT / 'scripts' / 'check_lerobot', *arguments], capture_output=True, text=True,
        check=False)
    assert done.returncode == 2
    assert 'expected DATASET=FOLDER' in done.stderr
