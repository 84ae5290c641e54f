# SPDX-License-Identifier: BSD-3-Clause
"""Jacobians of forward and inverse dynamics, one kind of mechanism a file."""
