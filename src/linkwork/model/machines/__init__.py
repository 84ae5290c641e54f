# SPDX-License-Identifier: BSD-3-Clause
"""Machine elements in the words of machine design, made of constraints and force elements."""
