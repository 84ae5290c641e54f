"""Onto the loops of a mechanism: assembling, projecting velocities, counting what is left free."""

from __future__ import annotations
