# SPDX-License-Identifier: BSD-3-Clause
"""`Shown`: a robot in the browser, by a server that moves it or as a file in which it runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Self

import numpy.typing as npt

from linkwork.conversions import converted, converted_but
from linkwork.errors import InputError
from linkwork.inputs import ContactLaw, PageIntegrator, ParameterName, float_array
from linkwork.mechanism.changeable import Changeable
from linkwork.model.arrays import Floats
from linkwork.model.constraints import Pair
from linkwork.model.joints import Free

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from linkwork.viewer import Viewer


class Shown(Changeable):
    """A model that a browser shows."""

    @converted
    def view(
        self,
        q: npt.ArrayLike | str | None = None,
        *,
        live: bool = False,
        dt: float = 1e-3,
        commands: npt.ArrayLike | None = None,
        act: npt.ArrayLike | None = None,
        contact: ContactLaw = None,
        playing: bool = False,
        port: int = 8080,
        open_browser: bool | None = None,
        wait: bool = False,
    ) -> Viewer:
        """Show the robot in the browser, with sliders for its joints; ``live``: where it runs and is pulled.

        See `viewer.Viewer`, and `live.LiveViewer` of live ones.

        Args:
            q: Configuration to show, ``(nq,)``, or the name of a pose; by default the pose ``home``, another one, or
                one near `neutral`, with loops closed.
            live: Whether the robot can be run in the page: simulated on this machine, pulled by the mouse, its motors
                commanded. The options below are for live viewers alone.
            dt: Time of one step, in seconds.
            commands: Commands of the actuators at the start; by default those of the pose, if it has some; without
                commands, actuators do nothing until a slider is moved.
            act: Activations of actuators at the start; by default those of the pose, or zero.
            contact: Whether contact pairs touch, as in `Stepper`; by default they do.
            playing: Whether it runs at once.
            port: Port to listen to; where it is taken, the next free one.
            open_browser: Whether to open a browser; by default where there is a display.
            wait: Whether to wait until Ctrl-C.
        """
        from linkwork.viewer import Viewer
        from linkwork.viewer.posing import pose_at, start_of

        start = self.poses[q] if isinstance(q, str) else q
        if live:
            from linkwork.live import LiveViewer

            at = start_of(self)[0] if start is None else start
            pose = q if isinstance(q, str) else pose_at(self, self.normalize(at))
            viewer: Viewer = LiveViewer(
                self,
                at,
                dt=dt,
                commands=self.commands.get(pose) if commands is None else commands,
                act=self.activations.get(pose) if act is None else act,
                contact=contact,
                playing=playing,
                port=port,
                open_browser=open_browser,
            )
        elif commands is not None or playing or contact is not None:
            raise InputError("commands, contact and playing are for live viewers: view(live=True)")
        else:
            viewer = Viewer(self, start, port=port, open_browser=open_browser)
        if wait:
            viewer.wait()
        return viewer

    @converted_but("q", "v", "drive", "parameters")
    def save_html(
        self,
        path: str | os.PathLike[str],
        q: npt.ArrayLike | None = None,
        *,
        live: bool = False,
        v: npt.ArrayLike | None = None,
        dt: float = 1e-3,
        parameters: Sequence[ParameterName] | None = None,
        drive: Mapping[str, tuple[str, float]] | None = None,
        contact: ContactLaw = None,
        integrator: PageIntegrator = "auto",
        base: Literal["auto", "held", "free"] = "auto",
        speed: float = 1.0,
        playing: bool = True,
    ) -> Path:
        """Save the robot as one HTML file that needs no server and no network; with ``live`` it runs in it.

        A live page has the program of a step as WebAssembly: it steps exactly as `Stepper` does, with contacts, limits
        and dry friction. Bodies can be pulled, motors driven, gravity, masses and lengths changed, numbers plotted.

        Args:
            path: The ``.html`` file to write.
            q: Configuration to begin with, ``(nq,)``; by default a named pose, or one near `neutral`, loops closed.
            live: Whether the robot runs in the page; otherwise it is a picture that can be turned. The options below
                are for live pages alone.
            v: Joint velocities to begin with, ``(nv,)``; by default none.
            dt: Time of one step, in seconds.
            parameters: Parameters that have sliders beside gravity: ``"mass"``, ``"joint_position"`` and
                ``"anchor_position"`` (link lengths); by default masses, and lengths of robots with few joints.
            drive: Initial modes of motors, by joint: ``{"crank": ("velocity", 2.0)}``, or ``"torque"`` or
                ``"position"``.
            contact: Whether contact pairs touch, as for `Stepper`; by default they do.
            integrator: Integrator of the steps: ``"rk4"``, without contacts, or ``"euler"``; by default that of
                `simulate`, where it is one of these.
            base: ``"held"``: free bases stay where they are, since there is no ground to stand on; ``"free"``: they
                fall; ``"auto"``: they are held where they carry joints, and neither a constraint nor contacts with the
                world support them.
            speed: Seconds of the robot that pass in one second at first.
            playing: Whether it runs from the start.
        """
        from linkwork.pages import save_live_page
        from linkwork.viewer.posing import start_of

        if not live:
            if any(x is not None for x in (v, drive, parameters, contact)):
                raise InputError("v, drive, parameters and contact are for live pages: save_html(path, live=True, ...)")
            from linkwork.viewer import Viewer

            with Viewer(self, q, open_browser=False, quiet=True) as viewer:
                return viewer.save_html(path)
        at = start_of(self)[0] if q is None else self.normalize(q)
        robot, at, rates = self._held_bases(base, at, v, touching=contact is not False)
        motion = {"dt": dt, "parameters": parameters, "contact": contact, "integrator": integrator, "drive": drive}
        options = {**motion, "speed": speed, "playing": playing}
        notes = () if robot is self else ("The base is held where it is.",)
        return save_live_page(robot, path, at, rates, notes=notes, **options).path  # type: ignore[arg-type]

    def _held_bases(
        self, base: str, q: Floats, v: npt.ArrayLike | None, touching: bool
    ) -> tuple[Self, Floats, npt.ArrayLike | None]:
        """The robot without its free joints on the world, if these are held, and the state of the rest."""
        free = [joint.name for joint in self.joints if isinstance(joint.type, Free) and joint.parent == "world"]
        held = {"free": [], "held": free, "auto": self._unsupported(free, touching)}[base]
        if not held:
            return self, q, v
        robot = self.reduced(held, q=q)
        places = [self.q_slice(joint.name) for joint in self.joints if joint.name not in held]
        at = [x for place in places for x in q[place]]
        if v is not None:
            rates = float_array(v, "v")
            if rates.shape != (self.nv,):
                raise InputError(f"v has the shape {rates.shape}, needs ({self.nv},)")
            v = [x for joint in self.joints if joint.name not in held for x in rates[self.v_slice(joint.name)]]
        return robot, robot.normalize(at), v

    def _unsupported(self, free: Sequence[str], touching: bool) -> list[str]:
        """Free joints on the world that carry others, that no constraint joins to anything else, and whose bodies have
        no contacts with the world."""
        root: dict[str, str] = {}
        for joint in self.joints:
            root[joint.child] = root.get(joint.parent, joint.name)
        carrying = {root[joint.parent] for joint in self.joints if joint.parent in root}
        tied = set[str]()
        for constraint in self.constraints:
            if isinstance(constraint, Pair) and constraint.enabled:
                ends = {root.get(self.frames[place].body, "world") for place in constraint.places}
                tied |= ends if len(ends) > 1 else set()
        for pair in self.contacts if touching else ():
            bodies = {pair.first.body, pair.second.body}
            tied |= {root.get(body, "world") for body in bodies} if "world" in bodies else set()
        return [name for name in free if name in carrying - tied]
