# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A person calibrates a pair of emulated arms at the terminal and finds a port by unplugging."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import datetime, timedelta, timezone
import math
from pathlib import Path
import subprocess
import sys
import time

import pytest

pytest.importorskip('scservo_sdk', reason='feetech-servo-sdk is not installed')
pytest.importorskip('serial', reason='pyserial is not installed')

from curation.cli import calibrate, find_port
from curation.cli.main import main
from support.servo_emulator import FeetechProtocol, ServoEmulator
from teleop_bridge.bus import guided
from teleop_bridge.bus.calibration import (
    Calibration,
    load_calibration,
    save_calibration,
    ServoCalibration,
)
from teleop_bridge.bus.device import bus_device
from teleop_bridge.bus.models import FEETECH_STS
from teleop_bridge.bus.ports import SerialPort
from teleop_bridge.exceptions import DeviceError
from teleop_bridge.rig.loader import load_rig

RIG = """
rig: pair
joints: {{pan: {{}}, grip: {{kind: gripper}}}}
leader: {{mapping: {{pan: {{source: lead_pan, sign: -1}}, grip: {{source: lead_grip}}}}}}
streams:
  state: {{topic: joint_states, type: sensor_msgs/msg/JointState, role: state, max_age_ms: 200}}
devices:
  leader: {{bus: feetech_sts, port: {leader}, calibration: leader.yaml, reply_timeout_ms: 200}}
  follower: {{bus: feetech_sts, port: {follower}, calibration: follower.yaml,
             reply_timeout_ms: 200}}
"""
POSITION, TORQUE = FEETECH_STS.present_position, FEETECH_STS.torque_enable
Arms = dict[str, ServoEmulator]


class Person:
    """Does what the terminal asks for, by the words of the request."""

    def __init__(self, arms: Arms, *, follower_off: int = 0, skip: str = '') -> None:
        self.arms, self.off, self.skip = arms, follower_off, skip
        self.asked: list[str] = []
        self._poses = iter((300, -500, 100))

    def put(self, arm: str, pan: int, grip: int) -> None:
        for servo, ticks in ((1, pan), (2, grip)):
            self.arms[arm].set_register(servo, POSITION.address, POSITION.size, ticks)

    def ask(self, text: str) -> None:
        self.asked.append(text)
        if 'middle' in text:
            self.put(text.split(':')[0], 2000, 1500)
        elif 'same pose' in text:
            pose = next(self._poses)
            self.put('leader', 2000 + pose, 1500 + pose)
            self.put('follower', 2000 - pose + self.off, 1500 + pose)

    def ask_meanwhile(self, text: str, work: Callable[[], None]) -> None:
        self.asked.append(text)
        arm = text.split(':')[0]
        for pan, grip in ((900, 1500), (2000, 1500), (3100, 1500), (2000, 1100), (2000, 2600)):
            self.put(arm, pan, 1500 if self.skip == 'grip' else grip)
            work()
            if self.skip == 'seam' and pan == 900:
                self.put(arm, 4090, 1500)
                work()


@pytest.fixture
def arms(tmp_path: Path) -> Iterator[Arms]:
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(ServoEmulator(tmp_path / name, FeetechProtocol(), (1, 2)))
            for name in ('leader', 'follower')
        }


@pytest.fixture
def rig(tmp_path: Path) -> Path:
    path = tmp_path / 'rig.yaml'
    path.write_text(RIG.format(leader=tmp_path / 'leader', follower=tmp_path / 'follower'))
    return path


@pytest.fixture
def at_the_arms(arms: Arms, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Person]:
    def sit_down(**habits: object) -> Person:
        person = Person(arms, **habits)
        monkeypatch.setattr(calibrate, 'TerminalGuide', lambda: person)
        monkeypatch.setattr(guided, 'READ_S', 0.0)
        return person

    return sit_down


def test_a_pair_is_calibrated_and_its_residual_told(
    arms: Arms, rig: Path, at_the_arms: Callable[..., Person], capsys: pytest.CaptureFixture[str]
) -> None:
    arms['leader'].set_register(1, TORQUE.address, 1, 1)
    person = at_the_arms()
    assert main(['calibrate', str(rig)]) == 0
    assert [text.split(':')[0] for text in person.asked] == (
        ['leader'] * 3 + ['follower'] * 3 + ['both'] * 3
    )
    assert arms['leader'].register(1, TORQUE.address, 1) == 0
    leader, follower = (load_calibration(rig.parent / f'{arm}.yaml') for arm in arms)
    assert leader.servos == {
        'lead_pan': ServoCalibration(id=1, zero=2000, range_min=900, range_max=3100),
        'lead_grip': ServoCalibration(id=2, zero=1500, range_min=1100, range_max=2600),
    }
    assert follower.residual_rad == leader.residual_rad == pytest.approx(0)
    assert follower.age_days(datetime.now(timezone.utc)) < 1
    assert '0.000 rad' in capsys.readouterr().out
    assert main(['calibrate', str(rig), '--arm', 'leader']) == 0  # again, with the ids it has


def test_arms_that_do_not_match_are_told_by_joint(
    rig: Path, at_the_arms: Callable[..., Person], capsys: pytest.CaptureFixture[str]
) -> None:
    at_the_arms(follower_off=100)
    assert main(['calibrate', str(rig)]) != 0
    assert 'pan: more than 0.1 rad apart: check sign and offset' in capsys.readouterr().out
    apart = load_calibration(rig.parent / 'leader.yaml').residual_rad
    assert apart == pytest.approx(100 * math.tau / 4096)


@pytest.mark.parametrize(
    ('skip', 'message'),
    [('grip', 'lead_grip: expected to be swept'), ('seam', 'lead_pan: passed the end of the')],
)
def test_a_bad_sweep_is_told_and_nothing_written(
    rig: Path,
    at_the_arms: Callable[..., Person],
    capsys: pytest.CaptureFixture[str],
    skip: str,
    message: str,
) -> None:
    at_the_arms(skip=skip)
    assert main(['calibrate', str(rig)]) != 0
    assert message in capsys.readouterr().err
    assert not (rig.parent / 'leader.yaml').exists()


def test_leader_and_follower_on_one_port_are_refused(
    rig: Path, at_the_arms: Callable[..., Person], capsys: pytest.CaptureFixture[str]
) -> None:
    port = f'port: {rig.parent}'
    rig.write_text(rig.read_text().replace(f'{port}/follower', f'{port}/leader'))
    at_the_arms()
    assert main(['calibrate', str(rig)]) != 0
    assert 'leader and follower are the same device' in capsys.readouterr().err


def test_swapped_arms_are_refused_before_anything_moves(
    rig: Path,
    at_the_arms: Callable[..., Person],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    person = at_the_arms()
    assert main(['calibrate', str(rig)]) == 0
    path = rig.parent / 'leader.yaml'
    old = load_calibration(path)
    save_calibration(path, Calibration(old.servos, serial_number='5A46', made=old.made))
    monkeypatch.setattr(
        'teleop_bridge.bus.device.list_ports',
        lambda: [SerialPort(str(person.arms['leader'].link.resolve()), '5B11')],
    )
    assert main(['calibrate', str(rig)]) != 0
    assert 'this is adapter 5B11, but the calibration is of 5A46' in capsys.readouterr().err


def test_an_old_calibration_is_refused_where_the_rig_says_so(
    rig: Path, at_the_arms: Callable[..., Person]
) -> None:
    at_the_arms()
    assert main(['calibrate', str(rig)]) == 0
    rig.write_text(rig.read_text().replace('leader.yaml', 'leader.yaml, '
                                           'max_calibration_age_days: 30'))
    device = bus_device(load_rig(rig), 'leader')
    assert device is not None
    now = datetime.now(timezone.utc)
    device.check_age(now + timedelta(days=29))
    with pytest.raises(DeviceError, match='of at most 30 days, found 31 days'):
        device.check_age(now + timedelta(days=31))


def test_a_port_is_found_by_unplugging_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plugged = [SerialPort('/dev/ttyACM0', '5A46'), SerialPort('/dev/ttyACM1', '5B11')]
    monkeypatch.setattr(find_port, 'list_ports', lambda: list(plugged))

    class Hand:
        def readline(self) -> str:
            plugged.pop(0)
            return '\n'

    monkeypatch.setattr('sys.stdin', Hand())
    assert main(['find-port']) == 0
    assert 'port: 5A46' in capsys.readouterr().out
    plugged.clear()
    assert main(['find-port']) != 0
    assert 'found none plugged in' in capsys.readouterr().err


def test_a_person_at_a_terminal_is_led_through_it(arms: Arms, rig: Path) -> None:
    person = Person(arms)
    process = subprocess.Popen(
        [sys.executable, '-m', 'curation.cli.main', 'calibrate', str(rig), '--poses', '1'],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdin is not None and process.stderr is not None
    asked = 0
    for line in process.stderr:
        if not line.endswith(', then press Enter\n'):
            continue
        asked += 1
        if 'end to end' in line:
            time.sleep(0.2)  # it reads meanwhile
            person.ask_meanwhile(line, lambda: time.sleep(0.2))
        else:
            person.ask(line)
        process.stdin.write('\n')
        process.stdin.flush()
    assert process.wait(20) == 0
    assert asked == 7
    leader = load_calibration(rig.parent / 'leader.yaml').servos
    assert (leader['lead_pan'].range_min, leader['lead_grip'].range_max) == (900, 2600)
