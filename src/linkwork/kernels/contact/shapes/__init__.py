# SPDX-License-Identifier: BSD-3-Clause
"""Contact points of pairs of shapes: gap, point and frame of each, one family of pairs a file."""

from linkwork.kernels.contact.shapes.geometry import (
    CONTACT_POINTS,
    CONTACT_WORK,
    SHAPE_POSES,
    contact_geometry,
    given_contacts,
    shape_poses,
)

__all__ = ["CONTACT_POINTS", "CONTACT_WORK", "SHAPE_POSES", "contact_geometry", "given_contacts", "shape_poses"]
