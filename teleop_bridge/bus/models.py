# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Control tables of the servo families in use, from their makers' memory maps."""

from teleop_bridge.bus.servo_bus import Register, ServoModel

# Feetech STS3215 memory map: SO-100 and SO-101, leader and follower.
FEETECH_STS = ServoModel(
    family='feetech_sts',
    resolution=4096,
    torque_enable=Register(40, 1),
    torque_limit=Register(48, 2),
    full_torque=1000,
    goal_position=Register(42, 2),
    present_position=Register(56, 2),
    sign_bit=15,
    group_read=True,
)

# Feetech SCS0009 memory map: big-endian registers, 10-bit positions, no group read.
FEETECH_SCS = ServoModel(
    family='feetech_scs',
    resolution=1024,
    torque_enable=Register(40, 1),
    torque_limit=Register(16, 2),
    full_torque=1000,
    goal_position=Register(42, 2),
    present_position=Register(56, 2),
    sign_bit=15,
    group_read=False,
)

# Dynamixel X series control table, protocol 2.0: GELLO, Koch and ALOHA leaders.
DYNAMIXEL_X = ServoModel(
    family='dynamixel_x',
    resolution=4096,
    torque_enable=Register(64, 1),
    torque_limit=Register(100, 2),  # goal PWM: takes effect at once, unlike the EEPROM's PWM limit
    full_torque=885,
    goal_position=Register(116, 4),
    present_position=Register(132, 4),
    sign_bit=None,
    group_read=True,
)

MODELS = {model.family: model for model in (FEETECH_STS, FEETECH_SCS, DYNAMIXEL_X)}
