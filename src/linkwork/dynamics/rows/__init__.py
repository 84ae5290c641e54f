# SPDX-License-Identifier: BSD-3-Clause
"""Properties of a robot's constraint rows that methods are chosen and planned by."""
