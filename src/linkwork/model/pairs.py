# SPDX-License-Identifier: BSD-3-Clause
"""Codes of the relative motion that a constraint between two frames allows: of rotation, and of translation."""

from __future__ import annotations

ANY_TURN, NO_TURN, ABOUT_Z, CARDAN = range(4)
"""Relative rotation that is free: all; none; about the common z axis; that which keeps the first's x axis normal to
the second's y axis."""


ANY_SHIFT, MEET, ON_LINE, ON_PLANE, ROD, ROLLING = range(6)
"""Where the second origin may be: anywhere; at the first; on the first's z axis; in its xy plane; at constant distance;
at constant height over that plane, as the center of a ball that rolls on it."""
