# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Servo arms over the makers' real SDKs and an emulated bus: values, losses, unplugging."""

from __future__ import annotations

from collections.abc import Iterator
import json
import math
from pathlib import Path
import time

import pytest

from support.servo_emulator import DynamixelProtocol, FeetechProtocol, ServoEmulator
from teleop_bridge.bus.arm import BusArm, ReadResult
from teleop_bridge.bus.calibration import (
    Calibration,
    check_fit,
    load_calibration,
    save_calibration,
    ServoCalibration,
)
from teleop_bridge.bus.models import DYNAMIXEL_X, FEETECH_STS
from teleop_bridge.bus.ports import refuse_swapped, resolve_port, SerialPort
from teleop_bridge.bus.sdk_bus import SdkBus
from teleop_bridge.bus.servo_bus import decode_position, encode_position, ServoModel
from teleop_bridge.clock import SessionClock
from teleop_bridge.exceptions import DeviceError

IDS = (1, 2, 3, 4, 5, 6)
NAMES = ('shoulder_pan', 'shoulder_lift', 'elbow_flex', 'wrist_flex', 'wrist_roll', 'gripper')
CLOCK = SessionClock(offset_ns=1_000)
PATIENCE_NS = (
    200_000_000  # a loaded machine runs the emulator late; its delayed replies are later still
)


def calibration() -> Calibration:
    return Calibration(
        {
            name: ServoCalibration(id=i, zero=2048, range_min=500, range_max=3500)
            for name, i in zip(NAMES, IDS, strict=True)
        }
    )


@pytest.fixture(params=['feetech', 'dynamixel'])
def rig(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[tuple[ServoEmulator, ServoModel]]:
    feetech = request.param == 'feetech'
    model = FEETECH_STS if feetech else DYNAMIXEL_X
    protocol = FeetechProtocol() if feetech else DynamixelProtocol()
    with ServoEmulator(tmp_path / 'leader', protocol, IDS) as emulator:
        for servo_id in IDS:
            put(emulator, model, servo_id, 2048 + 100 * servo_id)
        yield emulator, model


def put(emulator: ServoEmulator, model: ServoModel, servo_id: int, ticks: int) -> None:
    register = model.present_position
    emulator.set_register(servo_id, register.address, register.size, ticks)


def make_arm(emulator: ServoEmulator, model: ServoModel) -> BusArm:
    def make_bus() -> SdkBus:
        return SdkBus(port=str(emulator.link), model=model, ids=IDS, reply_timeout_ns=PATIENCE_NS)

    arm = BusArm(make_bus=make_bus, calibration=calibration(), clock=CLOCK)
    arm.open()
    return arm


def test_angles_come_by_name_with_the_stamp_of_the_read(
    rig: tuple[ServoEmulator, ServoModel],
) -> None:
    arm = make_arm(*rig)
    before = CLOCK.now_ns()
    result, sample = arm.poll(before)
    after = CLOCK.now_ns()
    arm.close()
    assert result is ReadResult.FRESH and sample is not None
    assert sample.names == NAMES
    assert sample.positions == pytest.approx([100 * i * math.tau / 4096 for i in IDS])
    assert before < sample.stamp_ns < after


def test_goal_positions_reach_the_servos_inside_their_range(
    rig: tuple[ServoEmulator, ServoModel],
) -> None:
    emulator, model = rig
    arm = make_arm(emulator, model)
    assert arm.command({'shoulder_pan': 0.5, 'gripper': 9.0}, now_ns=0)
    deadline = time.monotonic() + 2
    goal = model.goal_position
    while not emulator.register(6, goal.address, goal.size) and time.monotonic() < deadline:
        time.sleep(0.001)
    arm.close()
    assert emulator.register(1, goal.address, goal.size) == 2048 + round(0.5 * 4096 / math.tau)
    assert emulator.register(6, goal.address, goal.size) == 3500


def test_torque_is_switched_on_with_a_bound(rig: tuple[ServoEmulator, ServoModel]) -> None:
    emulator, model = rig
    arm = make_arm(emulator, model)
    arm.set_torque(True, fraction=0.5)
    arm.close()
    assert emulator.register(3, model.torque_enable.address, 1) == 1
    limit = emulator.register(3, model.torque_limit.address, model.torque_limit.size)
    assert limit == round(model.full_torque / 2)


def test_torque_comes_on_without_a_jump_also_after_an_unplug(
    rig: tuple[ServoEmulator, ServoModel],
) -> None:
    emulator, model = rig
    goal = model.goal_position
    emulator.set_register(2, goal.address, goal.size, 900)  # remembered from before
    arm = make_arm(emulator, model)
    arm.set_torque(True)
    assert emulator.register(2, goal.address, goal.size) == 2248
    emulator.vanish()
    arm.poll(0)
    put(emulator, model, 2, 2000)  # it sagged
    emulator.set_register(2, model.torque_enable.address, 1, 0)
    emulator.come_back()
    assert arm.poll(BusArm.retry_ns)[0] is ReadResult.FRESH
    arm.close()
    assert emulator.register(2, goal.address, goal.size) == 2000
    assert emulator.register(2, model.torque_enable.address, 1) == 1


@pytest.mark.parametrize('fault', ['drop', 'garble', 'delay'])
def test_one_bad_reply_is_bridged_for_one_cycle(
    rig: tuple[ServoEmulator, ServoModel], fault: str
) -> None:
    emulator, model = rig
    arm = make_arm(emulator, model)
    _, good = arm.poll(0)
    setattr(emulator, fault, 1)
    result, bridged = arm.poll(0)
    assert result is ReadResult.BRIDGED
    assert bridged is good  # with its own stamp: nothing is invented
    time.sleep(emulator.delay_s)  # let a late reply arrive
    results = [arm.poll(0)[0] for _ in range(3)]
    arm.close()
    assert results[-1] is ReadResult.FRESH
    assert arm.counters.bridged >= 1
    assert arm.counters.disconnects == 0


def test_losses_in_a_row_give_nothing(rig: tuple[ServoEmulator, ServoModel]) -> None:
    emulator, model = rig
    arm = make_arm(emulator, model)
    arm.poll(0)
    emulator.drop = 3 * len(IDS)
    results = [arm.poll(0) for _ in range(3)]
    arm.close()
    assert [result for result, _ in results] == [
        ReadResult.BRIDGED,
        ReadResult.LOST,
        ReadResult.LOST,
    ]
    assert results[1][1] is None
    assert arm.counters.lost == 2


def test_unplugging_is_noticed_and_replugging_recovers(
    rig: tuple[ServoEmulator, ServoModel],
) -> None:
    emulator, model = rig
    arm = make_arm(emulator, model)
    arm.poll(0)
    emulator.vanish()
    now = 0
    result, sample = arm.poll(now)
    assert (result, sample) == (ReadResult.DISCONNECTED, None)
    now += 2 * BusArm.retry_ns
    assert arm.poll(now)[0] is ReadResult.DISCONNECTED
    emulator.come_back()
    assert arm.poll(now + 1)[0] is ReadResult.DISCONNECTED  # not before the pause is over
    result, sample = arm.poll(now + BusArm.retry_ns)
    arm.close()
    assert result is ReadResult.FRESH and sample is not None
    assert arm.counters.disconnects == 1


def test_a_missing_servo_is_named_at_start(tmp_path: Path) -> None:
    with ServoEmulator(tmp_path / 'arm', FeetechProtocol(), (1, 2, 4, 5, 6)) as emulator:
        bus = SdkBus(
            port=str(emulator.link), model=FEETECH_STS, ids=IDS, reply_timeout_ns=PATIENCE_NS
        )
        with pytest.raises(DeviceError, match=r'no answer from \[3\]'):
            bus.open()


def test_an_absent_port_is_named() -> None:
    bus = SdkBus(port='/dev/serial/by-id/nothing', model=FEETECH_STS, ids=IDS)
    with pytest.raises(DeviceError, match='/dev/serial/by-id/nothing: cannot be opened'):
        bus.open()


@pytest.mark.parametrize('ticks', [0, 1, 2047, 4095, -1, -300])
@pytest.mark.parametrize('model', [FEETECH_STS, DYNAMIXEL_X])
def test_position_registers_round_trip(ticks: int, model: ServoModel) -> None:
    size = model.present_position.size
    raw = int.from_bytes(bytes(encode_position(ticks, size, model.sign_bit)), 'little')
    assert decode_position(raw, size, model.sign_bit) == ticks


def test_calibration_files_round_trip(tmp_path: Path) -> None:
    path = tmp_path / 'leader.yaml'
    save_calibration(path, calibration())
    loaded = load_calibration(path)
    assert loaded.servos == calibration().servos
    assert loaded.made and len(loaded.sha256) == 64


def test_lerobot_calibration_is_read(tmp_path: Path) -> None:
    path = tmp_path / 'so101.json'
    entry = {'id': 1, 'drive_mode': 1, 'homing_offset': -312, 'range_min': 1000, 'range_max': 3000}
    path.write_text(json.dumps({'shoulder_pan': entry}))
    servo = load_calibration(path).servos['shoulder_pan']
    assert servo.to_angle(2000, 4096) == 0
    assert servo.to_angle(2512, 4096) == pytest.approx(-math.pi / 4)
    assert servo.to_ticks(-math.pi / 4, 4096) == 2512


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('[1, 2]', 'expected a mapping of joints, found list'),
        ('servos: {a: {id: 1, zero: 0, range_min: 5, range_max: 5}}', 'range_min is not below'),
        ('servos: {a: {id: 1}}', "servo 'a': expected keys"),
        (
            'servos: {a: {id: 1, zero: 0, range_min: 0, range_max: 5},'
            ' b: {id: 1, zero: 0, range_min: 0, range_max: 5}}',
            "id 1 is given to both 'a' and 'b'",
        ),
        ('servos: [', 'not a calibration file'),
    ],
)
def test_a_bad_calibration_file_is_one_clear_error(
    tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / 'bad.yaml'
    path.write_text(text)
    with pytest.raises(DeviceError, match=message):
        load_calibration(path)


def test_an_arm_outside_its_calibrated_range_is_refused() -> None:
    ticks = dict.fromkeys(IDS, 2048) | {3: 3600}
    with pytest.raises(DeviceError, match='elbow_flex at 3600, range 500 to 3500'):
        check_fit(calibration(), ticks)


def test_ports_are_found_by_serial_number_and_never_by_order() -> None:
    ports = [SerialPort('/dev/ttyACM0', '5A46'), SerialPort('/dev/ttyACM1', '5B11')]
    assert resolve_port('5B11', ports).path == '/dev/ttyACM1'
    with pytest.raises(DeviceError, match='changes with the order of plugging'):
        resolve_port('/dev/ttyACM0', ports)
    with pytest.raises(DeviceError, match="number '5C00' is plugged in"):
        resolve_port('5C00', ports)


def test_swapped_arms_are_refused() -> None:
    with pytest.raises(DeviceError, match='may be swapped'):
        refuse_swapped(SerialPort('/dev/ttyACM0', '5A46'), '5B11')
    refuse_swapped(SerialPort('/dev/ttyACM0', '5A46'), '5A46')
