# SPDX-License-Identifier: BSD-3-Clause
"""Steps of integrators, with contacts and under controllers."""
