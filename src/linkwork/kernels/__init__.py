# SPDX-License-Identifier: BSD-3-Clause
"""Kernel text, one family a file: numeric phase only, reads plans, allocates nothing."""
