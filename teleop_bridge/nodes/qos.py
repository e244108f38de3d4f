# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The three qualities of service that our topics have."""

from rclpy.qos import (
    DurabilityPolicy,
    HistoryPolicy,
    qos_profile_sensor_data,
    QoSProfile,
    ReliabilityPolicy,
)

SENSOR = qos_profile_sensor_data  # for consumers: matches every publisher
STREAM = QoSProfile(depth=50)     # reliable, for what is produced here at a rate
EVENT = QoSProfile(depth=100)     # reliable, for what happens rarely and must not be lost
LATCHED = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=1,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
