# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The makers' SDKs behind ServoBus: Feetech's is a fork of Dynamixel's, so one adapter serves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
import importlib
import termios
import time
from typing import Any

from teleop_bridge.bus.servo_bus import (
    BusGoneError,
    BusReadError,
    BusReading,
    decode_position,
    encode_position,
    ServoModel,
)
from teleop_bridge.exceptions import DeviceError, MissingDependencyError

DEFAULT_REPLY_TIMEOUT_NS = 6_000_000
_SDKS = {
    # family: (module, pip package, argument of PacketHandler: byte order or protocol version)
    'feetech_sts': ('scservo_sdk', 'feetech-servo-sdk', 0),
    'feetech_scs': ('scservo_sdk', 'feetech-servo-sdk', 1),
    'dynamixel_x': ('dynamixel_sdk', 'dynamixel-sdk', 2.0),
}
# The SDKs poll for replies in a busy loop; a blocking read lets other threads run.
_READ_WAIT_S = 0.001
_PATIENT_MS = 100.0  # for one reply while opening, where nothing waits
_PINGS = 3
_SUCCESS = 0  # COMM_SUCCESS in both SDKs
# pyserial's SerialException is an OSError, but what termios raises on a pulled plug is not.
_PORT_ERRORS = (OSError, termios.error)


class SdkBus:
    """Servos of one family on one port.

    ``reply_timeout_ns`` bounds the wait for one reply. The SDKs' own is 34 ms and more, which
    would make one lost packet three missed cycles at 100 Hz.
    """

    def __init__(
        self,
        *,
        port: str,
        model: ServoModel,
        ids: Sequence[int],
        baud_rate: int = 1_000_000,
        reply_timeout_ns: int = DEFAULT_REPLY_TIMEOUT_NS,
    ) -> None:
        self.model = model
        self._port_name = port
        self._ids = tuple(ids)
        self._baud_rate = baud_rate
        self._reply_timeout_ms = reply_timeout_ns / 1e6
        self._timeout_ms = self._reply_timeout_ms
        self._port: Any = None
        self._packets: Any = None
        self._reader: Any = None
        self._writer: Any = None

    def open(self) -> None:
        """Open the port and check that every servo answers; raises DeviceError."""
        sdk = self._import_sdk()
        port = sdk.PortHandler(self._port_name)
        port.setPacketTimeout = lambda _length: port.setPacketTimeoutMillis(self._timeout_ms)
        # A late reply to the last request must not be taken for one to the next.
        port.clearPort = lambda: (port.ser.reset_input_buffer(), port.ser.flush())
        try:
            opened = port.openPort() and port.setBaudRate(self._baud_rate)
        except (*_PORT_ERRORS, ValueError) as error:
            raise BusGoneError(f'{self._port_name}: cannot be opened ({error})') from error
        if not opened:
            raise DeviceError(f'{self._port_name}: {self._baud_rate} baud is not supported')
        port.ser.timeout = _READ_WAIT_S
        self._port = port
        self._packets = sdk.PacketHandler(_SDKS[self.model.family][2])
        present = self.model.present_position
        goal = self.model.goal_position
        self._reader = sdk.GroupSyncRead(port, self._packets, present.address, present.size)
        self._writer = sdk.GroupSyncWrite(port, self._packets, goal.address, goal.size)
        for servo_id in self._ids:
            self._reader.addParam(servo_id)
        try:
            self._timeout_ms = _PATIENT_MS
            self._check_servos()
        except DeviceError:
            self.close()
            raise
        finally:
            self._timeout_ms = self._reply_timeout_ms

    def close(self) -> None:
        """Close the port; closing a closed one does nothing."""
        port, self._port = self._port, None
        if port is None:
            return
        try:
            port.closePort()
        except _PORT_ERRORS:
            pass  # the plug is already out

    def read_positions(self) -> BusReading:
        """Read every servo's position; raises BusReadError or BusGoneError."""
        present = self.model.present_position
        before = time.monotonic_ns()
        with self._exchange():
            raw = self._read_group() if self.model.group_read else self._read_singly()
        after = time.monotonic_ns()
        ticks = {
            servo_id: decode_position(value, present.size, self.model.sign_bit)
            for servo_id, value in raw.items()
        }
        return BusReading(ticks, (before + after) // 2)

    def write_positions(self, ticks: Mapping[int, int]) -> None:
        """Send goal positions, ticks by servo id; raises BusGoneError."""
        size = self.model.goal_position.size
        with self._exchange():
            self._writer.clearParam()
            for servo_id, value in ticks.items():
                data = encode_position(value, size, self.model.sign_bit)
                self._writer.addParam(servo_id, self._ordered(data))
            self._writer.txPacket()

    def set_torque(self, ids: Iterable[int], enabled: bool) -> None:
        """Switch torque on or off and check that each servo took it; raises DeviceError."""
        for servo_id in ids:
            self._write(servo_id, self.model.torque_enable.address, [int(enabled)])

    def limit_torque(self, ids: Iterable[int], fraction: float) -> None:
        """Bound torque to a fraction, 0 to 1, of what the servo can give."""
        value = round(min(max(fraction, 0.0), 1.0) * self.model.full_torque)
        data = self._ordered(list(value.to_bytes(self.model.torque_limit.size, 'little')))
        for servo_id in ids:
            self._write(servo_id, self.model.torque_limit.address, data)

    def _import_sdk(self) -> Any:
        module, package, _ = _SDKS[self.model.family]
        try:
            return importlib.import_module(module)
        except ImportError as error:
            raise MissingDependencyError(
                f'{self.model.family} servos need {module}: pip install {package}'
            ) from error

    @contextmanager
    def _exchange(self) -> Iterator[Any]:
        port = self._port
        if port is None:
            raise BusGoneError(f'{self._port_name}: not open')
        try:
            yield port
        except _PORT_ERRORS as error:
            raise BusGoneError(f'{self._port_name}: {error}') from error
        except IndexError as error:  # the SDKs index into replies without a look at their length
            raise BusReadError(f'{self._port_name}: short reply') from error
        finally:
            port.is_using = False  # the SDKs leave it set when they raise

    def _ordered(self, little_endian: Sequence[int]) -> list[int]:
        big = self.model.family == 'feetech_scs'
        return list(reversed(little_endian)) if big else list(little_endian)

    def _check_servos(self) -> None:
        missing = [
            servo_id
            for servo_id in self._ids
            if not any(self._answers(servo_id) for _ in range(_PINGS))
        ]
        if missing:
            raise DeviceError(
                f'{self._port_name}: expected servos {list(self._ids)}, no answer from {missing}'
            )

    def _answers(self, servo_id: int) -> bool:
        try:
            with self._exchange() as port:
                _, result, _ = self._packets.ping(port, servo_id)
        except BusReadError:
            return False
        return bool(result == _SUCCESS)

    def _read_group(self) -> dict[int, int]:
        present = self.model.present_position
        result = self._reader.txRxPacket()
        if result != _SUCCESS:
            reason = self._packets.getTxRxResult(result)
            raise BusReadError(f'{self._port_name}: group read failed: {reason}')
        raw = {}
        for servo_id in self._ids:
            if not self._reader.isAvailable(servo_id, present.address, present.size):
                raise BusReadError(f'{self._port_name}: servo {servo_id}: short reply')
            raw[servo_id] = self._reader.getData(servo_id, present.address, present.size)
        return raw

    def _read_singly(self) -> dict[int, int]:
        raw = {}
        for servo_id in self._ids:
            value, result, _ = self._packets.read2ByteTxRx(
                self._port, servo_id, self.model.present_position.address
            )
            if result != _SUCCESS:
                reason = self._packets.getTxRxResult(result)
                raise BusReadError(f'{self._port_name}: servo {servo_id}: {reason}')
            raw[servo_id] = value
        return raw

    def _write(self, servo_id: int, address: int, data: list[int]) -> None:
        with self._exchange() as port:
            result, _ = self._packets.writeTxRx(port, servo_id, address, len(data), data)
        if result != _SUCCESS:
            reason = self._packets.getTxRxResult(result)
            raise DeviceError(f'{self._port_name}: servo {servo_id} took no write: {reason}')
