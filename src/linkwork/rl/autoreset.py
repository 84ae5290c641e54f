# SPDX-License-Identifier: BSD-3-Clause
"""Which autoreset mode a library needs."""

from __future__ import annotations

from gymnasium.vector import AutoresetMode

from linkwork.errors import InputError
from linkwork.gym.vector import VectorEnv


def require(env: VectorEnv, mode: AutoresetMode, library: str) -> None:
    """Raise unless an environment starts episodes anew as a library expects it.

    Args:
        env: The environment.
        mode: The mode that the library needs.
        library: Its name.
    """
    if not isinstance(env, VectorEnv):
        raise InputError(f"env is a {type(env).__name__}; {library} takes a linkwork.gym.VectorEnv")
    if env.autoreset_mode is not mode:
        raise InputError(
            f"autoreset_mode is {env.autoreset_mode.name}, {library} needs {mode.name}: make the environment with "
            f"autoreset_mode=lw.gym.AutoresetMode.{mode.name}"
        )
