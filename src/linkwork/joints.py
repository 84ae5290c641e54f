# SPDX-License-Identifier: BSD-3-Clause
"""Joints: one class each, for `Builder.joint`."""

from linkwork.model.joints import Fixed, Free, Helical, Joint, Planar, Prismatic, Revolute, Spherical, Universal

__all__ = [
    "Fixed",
    "Free",
    "Helical",
    "Joint",
    "Planar",
    "Prismatic",
    "Revolute",
    "Spherical",
    "Universal",
]
