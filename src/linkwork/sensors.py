# SPDX-License-Identifier: BSD-3-Clause
"""Sensors of a robot, and their readings."""

from linkwork.model.sensors import Outboard, Sensor
from linkwork.quantities.rays import RayHits, RayPattern, Rays, height_scan, lidar, raycast
from linkwork.quantities.sensors import Sensors, SensorValues
from linkwork.simulation import sensor_data

__all__ = [
    "Outboard",
    "RayHits",
    "RayPattern",
    "Rays",
    "Sensor",
    "SensorValues",
    "Sensors",
    "height_scan",
    "lidar",
    "raycast",
    "sensor_data",
]
