# SPDX-License-Identifier: BSD-3-Clause
"""Arrays on a GPU where no framework holds them."""

from linkwork.compilers.cuda.arrays import DeviceArray, to_device

__all__ = [
    "DeviceArray",
    "to_device",
]
