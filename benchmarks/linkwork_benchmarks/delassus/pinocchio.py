# SPDX-License-Identifier: BSD-3-Clause
"""Contacts and joint friction in Pinocchio, and its routes to the Delassus matrix and its damped inverse.

What was found with Pinocchio 4.1 and its Python module, and is checked at every run:

- ``computeDelassusMatrix`` looks at the first body of a contact alone. It is right where the other is the world, and
  wrong for contacts between two moving bodies.
- ``computeDampedDelassusMatrixInverse`` needs ``initPvDelassus``, which Python has not: it gives ``1 / mu`` on the
  diagonal, and beside it what memory happens to hold. With ``mu = 1 / damping``, ``computeDelassusMatrix`` is
  ``J (M + J' mu J)^-1 J'``, of which the matrix inversion lemma makes the inverse (`Peer.lemma`).
- ``ConstraintCholeskyDecomposition`` is right for all constraints, after ``crba`` and ``calc`` of every constraint; its
  ``updateDamping`` asks for an ``updateDecomposition`` that Python has not, so that a new damping is a new ``compute``.
- The operator of **delassus** itself (``DelassusOperatorRigidBodySystems``) is not in the Python module.

Its rows are those of contact frames: other axes than ours, and another order. Matrices are compared by eigenvalues.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.model.constraints import JointLock, VelocityCoupling
from linkwork_benchmarks.constrained.pinocchio import Twin, twin
from linkwork_benchmarks.delassus import dense
from linkwork_benchmarks.peers import Unable
from linkwork_benchmarks.robots import Floats, States

FRICTION = "friction_"


class Peer:
    """A robot with contacts, and perhaps joint friction, in Pinocchio, at one configuration.

    All routes share one ``Data``, which takes seconds to make for hundreds of velocities; each fills what it reads.
    """

    def __init__(self, robot: lw.Mechanism, q: Floats, x: Floats, damping: float) -> None:
        rubbed = [c for c in robot.constraints if isinstance(c, JointLock | VelocityCoupling)]
        if any(not c.name.startswith(FRICTION) for c in rubbed):
            raise Unable(f"Pinocchio has no constraint like one of '{robot.name}'")
        self.twin: Twin = twin(replace(robot, constraints=tuple(c for c in robot.constraints if c not in rubbed)))
        self.joints = [c.name.removeprefix(FRICTION) for c in rubbed]
        none = np.zeros((1, robot.nv))
        self.q = self.twin.states(States(q[None], none, none)).q[0]
        self.x, self.damping = x, damping
        self.memory = self.twin.model.createData()

    @property
    def rigid(self) -> bool:
        """Whether the functions for contacts alone serve."""
        return not self.joints

    def constraints(self) -> tuple[Any, Any]:
        """Constraints for Pinocchio's Cholesky decomposition, and memory for them."""
        import pinocchio as pin

        if self.rigid:
            datas = pin.StdVec_RigidConstraintData()
            for c in self.twin.constraints:
                datas.append(c.createData())
            return self.twin.constraints, datas
        model, models, datas = self.twin.model, pin.StdVec_ConstraintModel(), pin.StdVec_ConstraintData()
        for c in self.twin.constraints:
            ends = (c.joint1_id, c.joint1_placement, c.joint2_id, c.joint2_placement)
            models.append(pin.ConstraintModel(pin.PointAnchorConstraintModel(model, *ends)))
        rubbed = pin.StdVec_Index()
        for joint in sorted(model.getJointId(name) for name in self.joints):
            rubbed.append(joint)
        models.append(pin.ConstraintModel(pin.JointFrictionConstraintModel(model, rubbed)))
        for c in models:
            datas.append(c.createData())
        return models, datas

    # Functions of contacts alone

    def delassus(self, damping: float = 0.0) -> Any:
        """A call of ``computeDelassusMatrix``."""
        import pinocchio as pin

        model, (models, datas), q = self.twin.model, self.constraints(), self.q
        memory, call = self.memory, pin.computeDelassusMatrix
        return lambda: call(model, memory, q, models, datas, damping)

    def damped(self) -> Any:
        """A call of ``computeDampedDelassusMatrixInverse``."""
        import pinocchio as pin

        model, (models, datas), q, damping = self.twin.model, self.constraints(), self.q, self.damping
        memory, call = self.memory, pin.computeDampedDelassusMatrixInverse
        return lambda: call(model, memory, q, models, datas, damping)

    def lemma(self) -> Any:
        """The damped inverse on a vector, ``(x - W x / r) / r`` with ``W = J (M + J' J / r)^-1 J'``."""
        made, stiffness, x = self.delassus(1.0 / self.damping), 1.0 / self.damping, self.x
        return lambda: stiffness * (x - stiffness * (made() @ x))

    # All constraints

    def cholesky(self) -> Cholesky:
        """The decomposition."""
        return Cholesky(self)

    def jacobian(self) -> Any:
        """``J M^-1 J'`` (upper triangle) of Pinocchio's Jacobian and mass matrix, by LAPACK."""
        import pinocchio as pin

        made = Cholesky(self)
        model, memory, rows = made.model, made.memory, (made.models, made.datas)

        def call() -> Floats:
            M = pin.crba(model, memory, self.q, pin.Convention.WORLD)
            made.calc()
            return dense.made(M, pin.getConstraintsJacobian(model, memory, *rows))

        return call


class Cholesky:
    """Pinocchio's Cholesky decomposition of the constrained robot."""

    def __init__(self, peer: Peer) -> None:
        import pinocchio as pin

        self.model, self.q, self.x, self.damping = peer.twin.model, peer.q, peer.x, peer.damping
        self.memory = peer.memory
        self.models, self.datas = peer.constraints()
        self._calc = [(c.calc, d) for c, d in zip(self.models, self.datas, strict=True)]
        self._made = pin.ConstraintCholeskyDecomposition(self.model, self.memory, self.models, self.datas)
        self.factor()
        self._delassus = self._made.getDelassusOperatorCholeskyExpression()

    def calc(self) -> None:
        """Where contacts are: Python has no call for all of them."""
        for calc, data in self._calc:
            calc(self.model, self.memory, data)

    def factor(self) -> None:
        """The decomposition at the configuration."""
        import pinocchio as pin

        pin.crba(self.model, self.memory, self.q, pin.Convention.WORLD)
        self.calc()
        self._made.compute(self.model, self.memory, self.models, self.datas, self.damping)

    def matrix(self) -> Floats:
        """``D + damping``."""
        self.factor()
        return self.extract()

    def extract(self) -> Floats:
        """The same, when the decomposition is there (**proximal** Fig. 6)."""
        found: Floats = self._made.getInverseOperationalSpaceInertiaMatrix()
        return found

    def extract_inverse(self) -> Floats:
        """Its inverse (**proximal** Fig. 7)."""
        found: Floats = self._made.getOperationalSpaceInertiaMatrix()
        return found

    def first(self) -> Floats:
        """The first application of the damped inverse."""
        self.factor()
        return self.solve()

    def solve(self) -> Floats:
        """A further one."""
        found: Floats = self._delassus.solve(self.x)
        return found

    def refactor(self) -> Floats:
        """One with another damping."""
        self._made.compute(self.model, self.memory, self.models, self.datas, self.damping)
        return self.solve()
