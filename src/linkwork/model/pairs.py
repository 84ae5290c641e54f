"""How two frames of a constraint may move against each other: the kinds of rotation and of translation."""

from __future__ import annotations

ANY_TURN, NO_TURN, ABOUT_Z, CARDAN = range(4)
"""How a pair of frames may turn: freely; not at all; about their z axes; so that the first's x stays normal to the
second's y."""


ANY_SHIFT, MEET, ON_LINE, ON_PLANE, ROD, ROLLING = range(6)
"""Where the second origin may be: anywhere; at the first; on the first's z axis; in its xy plane; at constant distance;
at constant height over the plane, as the center of a ball that rolls on it."""
