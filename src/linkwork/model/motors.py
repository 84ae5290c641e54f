# SPDX-License-Identifier: BSD-3-Clause
"""Motors of actuators: torque and speed, friction, integral action, delay, backlash, networks."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf, isfinite

from linkwork.conversions import converted
from linkwork.errors import ModelError
from linkwork.model.networks import Network

MOST_DELAY = 64
"""Steps that a command may be late."""


@converted
@dataclass(frozen=True)
class Motor:
    """Torque-speed curve, friction, integral action, delay and backlash of an actuator, all before its gear.

    With ``f`` the force of the actuator's law, ``l`` its length, ``r`` its rate and ``c`` the delayed command::

        f  = network(c - l, r), where there is one in place of the law
        f += integral * w,  w' = c - l, or 0 where w would grow beyond +-windup
        f  = sign(f) max(|f| - s backlash / 2, 0),  s = -df/dl of the law
        f  = clip(f, -stall (1 + r / no_load), stall (1 - r / no_load)), and each bound not beyond zero
        f -= (coulomb + (static - coulomb) exp(-(r / stribeck)^2)) r / sqrt(r^2 + smoothing^2)

    The limits of the actuator's force hold before friction is subtracted.

    Args:
        stall: Force at rest; infinite: no torque-speed curve.
        no_load: Rate at which no force is left; infinite: ``stall`` at any rate.
        coulomb: Friction force when it slides.
        static: Friction force as it starts; by default that of sliding.
        stribeck: Rate over which friction falls from one to the other.
        smoothing: Rate at which friction has reached 0.7 of its force: not too small for a step to resolve.
        integral: Force per integral of the error, command minus length, in s: the third term of a PID law, whose others
            are gain and bias.
        windup: The magnitude at which that integral ends to grow; the last step may go beyond.
        delay: Steps that a command is late; parts of a step are interpolated between commands. Commands before the
            first are zero unless activations at the start say otherwise.
        backlash: Play of its gear, in units of its length: a rotor without inertia, which a servo holds at its target
            within the gap without a force. `forces.Backlash` is one between shafts with inertia.
        network: A network in place of the law of gain and bias.
    """

    stall: float = inf
    no_load: float = inf
    coulomb: float = 0.0
    static: float | None = None
    stribeck: float = 0.1
    smoothing: float = 0.01
    integral: float = 0.0
    windup: float = inf
    delay: float = 0.0
    backlash: float = 0.0
    network: Network | None = None

    def __post_init__(self) -> None:
        for what in ("stall", "no_load", "stribeck", "smoothing", "windup"):
            if not getattr(self, what) > 0:
                raise ModelError(f"a motor's {what} is {getattr(self, what)}, needs a number > 0")
        friction = self.static if self.static is not None else self.coulomb
        for what, x in (
            ("coulomb", self.coulomb),
            ("static", friction),
            ("integral", self.integral),
            ("backlash", self.backlash),
        ):
            if not (isfinite(x) and x >= 0):
                raise ModelError(f"a motor's {what} is {x}, needs a finite number >= 0")
        if not (0 <= self.delay <= MOST_DELAY):
            raise ModelError(f"a motor's delay is {self.delay} steps, needs 0 to {MOST_DELAY}")
        if isfinite(self.no_load) and not isfinite(self.stall):
            raise ModelError(f"a motor's no_load is {self.no_load}, and its stall force is not given")
        if self.network is not None and not isinstance(self.network, Network):
            raise ModelError(f"a motor's network is a {type(self.network).__name__}, needs a Network")
        if self.network is not None and (self.integral > 0 or self.backlash > 0):
            raise ModelError("a motor's network replaces its law: leave integral and backlash out")

    @property
    def registers(self) -> int:
        """Commands that are kept."""
        return ceil(self.delay)

    @property
    def rubs(self) -> bool:
        """Whether it has friction."""
        return self.coulomb > 0 or bool(self.static)

    @property
    def damps(self) -> bool:
        """Whether its force may depend on the rate."""
        return isfinite(self.no_load) or self.rubs

    @property
    def memory(self) -> int:
        """Numbers that its network keeps from step to step."""
        return 0 if self.network is None else self.network.memory

    @property
    def numbers(self) -> tuple[float, ...]:
        """As kernels read them: rates as their inverses; see `kernels.tree.motors`."""
        static = self.coulomb if self.static is None else self.static
        curve = self.stall, 1.0 / self.no_load
        friction = self.coulomb, static, 1.0 / self.stribeck, self.smoothing
        scale = 1.0 if self.network is None else self.network.scale
        return (*curve, *friction, self.integral, self.delay, self.backlash, scale)
