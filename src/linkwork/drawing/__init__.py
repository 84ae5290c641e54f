# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of mechanisms and of motion, by matplotlib."""
