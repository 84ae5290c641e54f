# SPDX-License-Identifier: BSD-3-Clause
"""From Python into machine code: entry points, and loops over the states of a batch."""
