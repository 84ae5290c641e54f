# SPDX-License-Identifier: BSD-3-Clause
"""Floating-point types of emitted code: a scalar, or a vector with one state per lane."""

from __future__ import annotations

import struct

FRAME = '"frame-pointer"="all"'
"""Attribute of functions that need more numbers than there are registers. With a frame pointer LLVM may align the
stack, where vectors would lie across two cache lines otherwise, and has shorter addresses of single numbers there."""


class Type:
    """A floating-point type and its vector of lanes, as LLVM spells them."""

    def __init__(self, dtype: str, lanes: int) -> None:
        self.dtype = dtype
        self.lanes = lanes
        self.scalar = "double" if dtype == "float64" else "float"
        self.bytes = 8 if dtype == "float64" else 4
        self.name = self.scalar if lanes == 1 else f"<{lanes} x {self.scalar}>"
        self.suffix = ("" if lanes == 1 else f"v{lanes}") + ("f64" if dtype == "float64" else "f32")

    def number(self, value: float) -> str:
        """A constant; single precision is written as the double it rounds to."""
        if self.dtype == "float32":
            value = struct.unpack("f", struct.pack("f", value))[0]
        text = f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
        if self.lanes == 1:
            return text
        return "<" + ", ".join([f"{self.scalar} {text}"] * self.lanes) + ">"
