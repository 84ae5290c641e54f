# SPDX-License-Identifier: BSD-3-Clause
"""Programs on NVIDIA's GPUs: traces to PTX (`ptx`), machine code and launches (`driver`), arrays (`arrays`).

Nothing but NVIDIA's driver is needed: LLVM writes PTX, the driver makes machine code of it. One thread computes one
state. Importing this package does not look for a driver; the first evaluation does.
"""
