# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Servos on an emulated serial bus: the makers' real packet protocols behind a pseudo-terminal.

The device is a symbolic link to the pty, as /dev/serial/by-id is, so that unplugging and plugging
in again gives the same name a new device.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
import os
from pathlib import Path
import pty
import select
import threading
import time
import tty

_PING, _READ, _WRITE, _SYNC_READ, _SYNC_WRITE = 0x01, 0x02, 0x03, 0x82, 0x83


class Protocol(ABC):
    """Takes instruction packets out of a byte stream and makes status packets."""

    broadcast = 0xFE

    @abstractmethod
    def take(self, buffer: bytearray) -> tuple[int, int, bytes] | None:
        """Remove one packet (id, instruction, parameters) from the front, if one is whole."""

    @abstractmethod
    def status(self, servo_id: int, parameters: bytes) -> bytes:
        """Make a status packet without error."""

    @abstractmethod
    def address_and_rest(self, parameters: bytes) -> tuple[int, bytes]:
        """Split parameters into the register address and what follows."""

    @abstractmethod
    def length_and_rest(self, parameters: bytes) -> tuple[int, bytes]:
        """Split parameters into a length and what follows."""


class FeetechProtocol(Protocol):
    """FF FF id length instruction parameters checksum, the checksum being the inverted sum."""

    def take(self, buffer: bytearray) -> tuple[int, int, bytes] | None:
        while len(buffer) >= 4:
            if buffer[:2] != b'\xff\xff':
                del buffer[0]
                continue
            total = buffer[3] + 4
            if len(buffer) < total:
                return None
            packet = bytes(buffer[:total])
            del buffer[:total]
            if ~sum(packet[2:-1]) & 0xFF == packet[-1]:
                return packet[2], packet[4], packet[5:-1]
        return None

    def status(self, servo_id: int, parameters: bytes) -> bytes:
        body = bytes([servo_id, len(parameters) + 2, 0]) + parameters
        return b'\xff\xff' + body + bytes([~sum(body) & 0xFF])

    def address_and_rest(self, parameters: bytes) -> tuple[int, bytes]:
        return parameters[0], parameters[1:]

    length_and_rest = address_and_rest


class DynamixelProtocol(Protocol):
    """Protocol 2.0: FF FF FD 00 id length(2) instruction parameters crc(2)."""

    def take(self, buffer: bytearray) -> tuple[int, int, bytes] | None:
        while len(buffer) >= 7:
            if buffer[:4] != b'\xff\xff\xfd\x00':
                del buffer[0]
                continue
            total = int.from_bytes(buffer[5:7], 'little') + 7
            if len(buffer) < total:
                return None
            packet = bytes(buffer[:total])
            del buffer[:total]
            if _crc16(packet[:-2]) == int.from_bytes(packet[-2:], 'little'):
                return (
                    packet[4],
                    packet[7],
                    packet[8:-2].replace(b'\xff\xff\xfd\xfd', b'\xff\xff\xfd'),
                )
        return None

    def status(self, servo_id: int, parameters: bytes) -> bytes:
        body = (b'\x55\x00' + parameters).replace(b'\xff\xff\xfd', b'\xff\xff\xfd\xfd')
        packet = (
            b'\xff\xff\xfd\x00' + bytes([servo_id]) + (len(body) + 2).to_bytes(2, 'little') + body
        )
        return packet + _crc16(packet).to_bytes(2, 'little')

    def address_and_rest(self, parameters: bytes) -> tuple[int, bytes]:
        return int.from_bytes(parameters[:2], 'little'), parameters[2:]

    length_and_rest = address_and_rest


def _crc16(data: bytes) -> int:
    """CRC-16 with polynomial 0x8005, most significant bit first, from zero."""
    crc = 0
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ 0x8005 if crc & 0x8000 else crc << 1) & 0xFFFF
    return crc


class ServoEmulator:
    """A bus with servos, run by a thread until closed.

    ``memory[id]`` is a servo's control table. ``drop``, ``garble`` and ``delay`` say how many of
    the next replies are lost, damaged or late; ``vanish`` pulls the plug, ``come_back``
    puts it in.
    """

    def __init__(self, link: Path, protocol: Protocol, ids: tuple[int, ...]) -> None:
        self.link = link
        self.memory = {servo_id: bytearray(256) for servo_id in ids}
        self.drop = 0
        self.garble = 0
        self.delay = 0
        self.delay_s = 0.4
        self._protocol = protocol
        self._lock = threading.Lock()
        self._master: int | None = None
        self._thread: threading.Thread | None = None
        self.come_back()

    def set_register(self, servo_id: int, address: int, size: int, value: int) -> None:
        """Write a little-endian register."""
        with self._lock:
            raw = (value & ((1 << 8 * size) - 1)).to_bytes(size, 'little')
            self.memory[servo_id][address : address + size] = raw

    def register(self, servo_id: int, address: int, size: int) -> int:
        """Read a little-endian register."""
        with self._lock:
            return int.from_bytes(self.memory[servo_id][address : address + size], 'little')

    def vanish(self) -> None:
        """Pull the plug: the device and its name are gone, and an open port fails."""
        self.link.unlink(missing_ok=True)
        master, self._master = self._master, None
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if master is not None:
            os.close(master)

    def come_back(self) -> None:
        """Put the plug in: the same name, a new device."""
        master, slave = pty.openpty()
        tty.setraw(master)
        name = os.ttyname(slave)
        os.close(slave)
        self.link.symlink_to(name)
        self._master = master
        self._thread = threading.Thread(target=self._serve, args=(master,), daemon=True)
        self._thread.start()

    def __enter__(self) -> ServoEmulator:
        return self

    def __exit__(self, *_: object) -> None:
        self.vanish()

    def _serve(self, master: int) -> None:
        buffer = bytearray()
        while self._master == master:
            if not select.select([master], [], [], 0.01)[0]:
                continue
            try:
                buffer += os.read(master, 4096)
            except OSError:  # nobody has the port open
                buffer.clear()
                time.sleep(0.005)
                continue
            while (packet := self._protocol.take(buffer)) is not None:
                self._answer(master, *packet)

    def _answer(self, master: int, target: int, instruction: int, parameters: bytes) -> None:
        protocol = self._protocol
        if instruction == _PING and target in self.memory:
            self._reply(master, target, b'')
        elif instruction == _READ and target in self.memory:
            address, rest = protocol.address_and_rest(parameters)
            length, _ = protocol.length_and_rest(rest)
            self._reply(master, target, self._bytes(target, address, length))
        elif instruction == _WRITE and target in self.memory:
            address, data = protocol.address_and_rest(parameters)
            self._store(target, address, data)
            self._reply(master, target, b'')
        elif instruction == _SYNC_READ:
            address, rest = protocol.address_and_rest(parameters)
            length, ids = protocol.length_and_rest(rest)
            for servo_id in ids:
                if servo_id in self.memory:
                    self._reply(master, servo_id, self._bytes(servo_id, address, length))
        elif instruction == _SYNC_WRITE:
            address, rest = protocol.address_and_rest(parameters)
            length, blocks = protocol.length_and_rest(rest)
            for start in range(0, len(blocks), length + 1):
                servo_id = blocks[start]
                if servo_id in self.memory:
                    self._store(servo_id, address, blocks[start + 1 : start + 1 + length])

    def _bytes(self, servo_id: int, address: int, length: int) -> bytes:
        with self._lock:
            return bytes(self.memory[servo_id][address : address + length])

    def _store(self, servo_id: int, address: int, data: bytes) -> None:
        with self._lock:
            self.memory[servo_id][address : address + len(data)] = data

    def _reply(self, master: int, servo_id: int, parameters: bytes) -> None:
        if self.drop:
            self.drop -= 1
            return
        packet = bytearray(self._protocol.status(servo_id, parameters))
        if self.garble:
            self.garble -= 1
            packet[-1] ^= 0x5A
        if self.delay:
            self.delay -= 1
            time.sleep(self.delay_s)
        os.write(master, packet)
