# SPDX-License-Identifier: BSD-3-Clause
"""Contact points of general convex shapes, hulls of meshes above all: native code that decides by the state."""

from linkwork.kernels.contact.convex.geometry import (
    NATIVE_CONTACT_POINTS,
    PAIR_INTEGERS,
    PAIR_WORK,
    native_contact_geometry,
    pair_geometry,
)

__all__ = ["NATIVE_CONTACT_POINTS", "PAIR_INTEGERS", "PAIR_WORK", "native_contact_geometry", "pair_geometry"]
