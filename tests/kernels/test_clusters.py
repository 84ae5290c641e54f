# SPDX-License-Identifier: BSD-3-Clause
"""Clusters: their structure, C-ABA and C-RNEA, minimal coordinates, motion in them, and motors that move linkages."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest

import linkwork as lw
from linkwork.closure.clusters import ClusterReport, tied_dofs
from linkwork.dynamics.methods import METHODS
from linkwork.mechanism import Mechanism
from linkwork.plans.clusters import Cluster, clusters_of, enabled_rows
from linkwork.plans.constraints import constrained_tree
from linkwork.plans.tree import LOCAL
from linkwork.quantities.scales import typical_row_units
from tests.support import linkages
from tests.support.gauss import Problem, closed_state, distance
from tests.support.robots import load_quietly
from tests.support.states import Floats, assert_close
from tests.zoo import test_zoo

AGREEMENT = 1e-9
"""Relative to the largest acceleration, or to 1 m/s² if that is larger."""

INVERSE = 1e-10
"""The same, of what forward and inverse dynamics make of each other."""

FILES = {
    "MIT humanoid": "mit_humanoid/mit_humanoid.urdf",
    "mini cheetah": "mini_cheetah/mini_cheetah.urdf",
    "JVRC-1": "jvrc1/jvrc1_humanoid.urdf",
    "Cassie": "cassie/cassie_nomesh.xml",
    "Digit": "digit/digit-v3_nomesh.xml",
    "Robotiq": "robotiq_2f85/2f85_nomesh.xml",
    "Booster T1": "booster_t1/T1_23dof_parallel_nomesh.xml",
    "Kangaroo": "kangaroo/kangaroo_nomesh.xml",
    "Reachy Mini": "reachy_mini/reachy_mini_nomesh.xml",
    "grbda four-bar": "grbda_linkages/four_bar.urdf",
    "grbda planar leg": "grbda_linkages/planar_leg_linkage.urdf",
    "grbda rotor chain": "grbda_linkages/revolute_rotor_chain.urdf",
    "grbda six-bar": "grbda_linkages/six_bar.urdf",
    **{
        f"grbda {name}": f"grbda_parallel_chains/{name}.urdf"
        for name in (
            *("explicit_depth5_loop_size4", "explicit_depth10_loop_size16", "explicit_depth20_loop_size2"),
            *("implicit_depth5_loop_size5", "implicit_depth10_loop_size17", "implicit_depth20_loop_size7"),
        )
    },
}

BENT = {
    "Kangaroo": {
        f"leg_{side}_{part}_joint": x
        for side in ("left", "right")
        for part, x in (("femur", 0.7), ("knee", 1.4), ("length", 0.48))
    }
}
"""Joints that start otherwise than in the file, where loops are stretched."""


@cache
def from_file(name: str) -> Mechanism:
    return load_quietly(FILES[name])


MECHANISMS: dict[str, Callable[[], Mechanism]] = {
    **{f"zoo: {name}": partial(test_zoo.made, name) for name in test_zoo.FACTS},
    **{f"linkage: {name}": partial(linkages.made, name) for name in linkages.MECHANISMS},
    **{f"file: {name}": partial(from_file, name) for name in FILES},
}
each_mechanism = pytest.mark.parametrize("name", MECHANISMS)


@cache
def problem(name: str) -> Problem:
    """A state with loops closed, moving as they allow."""
    robot, rng = MECHANISMS[name](), np.random.default_rng([len(name), 10])
    if "assembled" in robot.poses:
        return closed_state(robot, robot.poses["assembled"], rng)
    start = robot.integrate(robot.poses.get("qpos0", robot.neutral()), 0.1 * rng.normal(size=robot.nv))
    for joint, x in BENT.get(name.removeprefix("file: "), {}).items():
        start[robot.q_index(joint)] = x
    return closed_state(robot, robot.assemble(start, limits=False), rng)


@cache
def solved(name: str, method: str) -> lw.results.Solution:
    p = problem(name)
    options = {"tolerance": 1e-15} if METHODS[method].iterates else {}
    return lw.ForwardDynamics(p.robot, method, threads=1, **options)(p.q, p.v, p.tau)  # type: ignore[arg-type]


def parts(robot: Mechanism) -> list[Cluster]:
    """All clusters of a robot, those of single bodies among them."""
    return clusters_of(constrained_tree(robot, (), LOCAL), enabled_rows(robot))


# Structure -------------------------------------------------------------------------------------------------


@each_mechanism
def test_every_body_and_every_row_is_in_one_cluster(name: str) -> None:
    robot = MECHANISMS[name]()
    tree, found = constrained_tree(robot, (), LOCAL), parts(robot)
    assert sorted(i for cluster in found for i in cluster.bodies) == list(range(1, tree.n))
    assert sorted(k for cluster in found for k in cluster.dofs) == list(range(robot.nv))
    assert sorted(r for cluster in found for r in cluster.rows) == list(range(robot.nc))
    assert all(len(cluster.bodies) == 1 for cluster in found if not cluster.rows)


@each_mechanism
def test_a_cluster_hangs_from_bodies_of_one_cluster_and_comes_before_it(name: str) -> None:
    robot = MECHANISMS[name]()
    tree, found = constrained_tree(robot, (), LOCAL), parts(robot)
    place = {i: k for k, cluster in enumerate(found) for i in cluster.bodies}
    for k, cluster in enumerate(found):
        assert {int(tree.parent[i]) for i in cluster.bodies} - set(cluster.bodies) == {*cluster.outputs}
        assert cluster.outputs == (0,) or {place[i] > k for i in cluster.outputs} == {True}
        assert list(cluster.bodies) == sorted(cluster.bodies)  # parents first


@each_mechanism
def test_rows_feel_the_joints_of_their_clusters_and_no_others(name: str) -> None:
    p = problem(name)
    for cluster in parts(p.robot):
        outside = np.setdiff1d(np.arange(p.robot.nv), cluster.dofs)
        assert np.abs(p.J[list(cluster.rows)][:, outside]).max(initial=0.0) <= 1e-10


@each_mechanism
def test_reports_name_what_is_in_clusters(name: str) -> None:
    """Joints that constraints tie, each once; as many free degrees of freedom as mobility counts."""
    p = problem(name)
    reports = lw.loops.clusters(p.robot)
    joints = [joint for report in reports for joint in report.joints]
    assert len(set(joints)) == len(joints)
    assert sorted(c for report in reports for c in report.constraints) == sorted(c.name for c in p.robot.constraints)
    tied = [dof for report in reports for dof in report.dependent]
    assert len(tied) == len(tied_dofs(p.robot)) == p.rank
    assert lw.Minimal(p.robot).ny == p.robot.nv - p.rank
    for report in reports:
        assert report.top not in report.bodies
        assert [p.robot.joint(joint).child for joint in report.joints] == list(report.bodies)
        assert {p.robot.joint(joint).parent for joint in report.joints} <= {report.top, *report.bodies}


def shape(robot: Mechanism) -> list[tuple[str, int, int, int]]:
    """Of each cluster its top, bodies, and degrees of freedom that are free and tied."""
    return [(c.top, len(c.bodies), len(c.independent), len(c.dependent)) for c in lw.loops.clusters(robot)]


def by_top(robot: Mechanism) -> dict[str, ClusterReport]:
    reports = lw.loops.clusters(robot)
    found = {report.top: report for report in reports}
    assert len(found) == len(reports)
    return found


def test_a_four_bar_is_one_cluster_on_the_world() -> None:
    (report,) = lw.loops.clusters(lw.zoo.four_bar())
    assert report.top == "world"
    assert set(report.bodies) == {"crank", "coupler", "rocker"}
    assert set(report.joints) == {"A", "B", "D"}
    assert report.constraints == ("C",)
    assert (len(report.independent), len(report.dependent)) == (1, 2)


def test_a_floating_four_bar_leaves_its_base_alone() -> None:
    robot = linkages.made("floating four-bar")
    assert shape(robot) == [("base", 3, 1, 2)]
    assert lw.Minimal(robot).names[:6] == tuple(f"free[{k}]" for k in range(6))


def test_each_gear_of_a_chain_is_a_cluster_on_the_link_before() -> None:
    robot = lw.zoo.geared_chain(4)
    assert shape(robot) == [(top, 2, 1, 1) for top in ("world", "link0", "link1", "link2")]
    for k, report in enumerate(lw.loops.clusters(robot)):
        assert report.constraints == (f"gear{k}",)
        assert report.independent == (f"joint{k}",) and report.dependent == (f"rotor{k}",)


def test_each_group_of_belts_is_a_cluster_on_the_link_before() -> None:
    robot = lw.zoo.belt_chain(6, group=3)
    assert shape(robot) == [("world", 6, 3, 3), ("link2", 6, 3, 3)]
    last = lw.loops.clusters(robot)[1]
    assert last.constraints == ("belt3", "belt4", "belt5")
    assert last.independent == ("joint3", "joint4", "joint5") and last.dependent == ("rotor3", "rotor4", "rotor5")


def test_the_mit_humanoid_has_a_cluster_for_each_motor_and_one_for_each_knee_with_its_ankle() -> None:
    robot = from_file("MIT humanoid")
    assert robot.nc == 18 and lw.Minimal(robot).ny == 24
    sizes = [(bodies, free, tied) for _, bodies, free, tied in shape(robot)]
    assert sorted(sizes) == [(2, 1, 1)] * 14 + [(4, 2, 2)] * 2
    assert all("rotor" in name for report in lw.loops.clusters(robot) for name in report.dependent)
    for side in ("left", "right"):
        (knee,) = (report for report in lw.loops.clusters(robot) if report.top == f"{side}_hip_ry_link")
        assert set(knee.constraints) == {f"{side}_knee_transmission", f"{side}_ankle_transmission"}
        assert knee.independent == (f"{side}_hipy_to_knee_link", f"{side}_knee_to_ankle")


def test_digit_has_its_heels_on_the_hips_and_its_toes_on_the_tarsi() -> None:
    robot = from_file("Digit")
    found = by_top(robot)
    for side in ("left", "right"):
        heel, toes = found[f"{side}-hip-pitch"], found[f"{side}-tarsus"]
        assert heel.constraints == (f"{side}-achilles-rod",)
        assert set(toes.constraints) == {f"{side}-toe-A-rod", f"{side}-toe-B-rod"}
        assert (len(heel.bodies), len(heel.independent), len(heel.dependent)) == (5, 4, 3)
        assert (len(toes.bodies), len(toes.independent), len(toes.dependent)) == (6, 4, 6)
        assert {f"{side}-toe-A", f"{side}-toe-B"} <= set(toes.independent)  # the motors
    assert len(found) == 4 and lw.Minimal(robot).ny == 36


def test_cassie_has_redundant_rows_in_the_plane_of_its_feet() -> None:
    robot = from_file("Cassie")
    found = by_top(robot)
    assert set(found) == {f"{side}-{body}" for side in ("left", "right") for body in ("hip-pitch", "tarsus")}
    for side in ("left", "right"):
        foot = found[f"{side}-tarsus"]
        assert set(foot.joints) == {f"{side}-foot-crank", f"{side}-plantar-rod", f"{side}-foot"}
        assert (len(foot.independent), len(foot.dependent)) == (1, 2)  # of three rows
    assert lw.Minimal(robot).ny == 22


def test_the_motors_of_cassies_feet_can_be_independent() -> None:
    """In its first pose, which is beyond their limits, they are at a dead center; in the other they are not."""
    robot = from_file("Cassie")
    marked = replace(
        robot, joints=tuple(replace(j, independent=True) if j.name.endswith("-foot") else j for j in robot.joints)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = by_top(marked)
    for side in ("left", "right"):
        assert found[f"{side}-tarsus"].independent == (f"{side}-foot",)
    G = lw.Minimal(marked).matrix(robot.assemble(robot.poses["home"]))
    assert np.abs(G).max() < 2.0
    with pytest.raises(lw.errors.SingularConstraints, match="at a dead center"):
        lw.Minimal(marked).matrix(robot.poses["qpos0"])


@pytest.mark.parametrize("bodies", [None, ("link1", "link2")], ids=["all", "some"])
def test_a_centre_of_mass_ties_all_joints_down_to_the_world(bodies: tuple[str, ...] | None) -> None:
    robot = lw.zoo.serial_chain(5).constrained(lw.constraints.CenterOfMass(axes="xz", bodies=bodies, name="com"))
    (report,) = lw.loops.clusters(robot)
    assert report.top == "world" and report.constraints == ("com",)
    assert report.bodies == tuple(f"link{k}" for k in range(5 if bodies is None else 3))
    assert len(report.dependent) == 2


@pytest.mark.parametrize("reference", ["aligned", "local"])
def test_a_combination_of_velocities_ties_all_joints_down_to_the_world(reference: str) -> None:
    """It looks at velocities relative to the world, also where both places are far up a robot that floats."""
    robot = linkages.made("floating four-bar").unconstrained()
    rng = np.random.default_rng(0)
    matrices = {place: rng.normal(size=(2, 6)) for place in ("coupler", "rocker")}
    (report,) = lw.loops.clusters(robot.constrained(lw.constraints.LinearCombination(matrices, reference, name="sum")))
    assert report.top == "world"
    assert set(report.bodies) == {"base", "crank", "coupler", "rocker"}
    assert len(report.dependent) == 2 and len(report.independent) == 7


def test_couplings_of_joints_tie_those_between_them() -> None:
    robot = lw.zoo.serial_chain(5).constrained(lw.constraints.Gear("joint3", "joint1", 2.0, name="gear"))
    (report,) = lw.loops.clusters(robot)
    assert (report.top, report.joints) == ("link0", ("joint1", "joint2", "joint3"))
    assert len(report.dependent) == 1 and "joint2" in report.independent


def test_constraints_that_share_a_joint_are_one_cluster_and_others_are_not() -> None:
    def gears(*pairs: tuple[int, int]) -> list[tuple[str, ...]]:
        constraints = [lw.constraints.Gear(f"joint{a}", f"joint{b}", 2.0, name=f"{a}{b}") for a, b in pairs]
        return [report.joints for report in lw.loops.clusters(lw.zoo.serial_chain(6).constrained(*constraints))]

    assert gears((0, 1), (2, 3)) == [("joint0", "joint1"), ("joint2", "joint3")]
    assert gears((0, 1), (1, 2)) == [("joint0", "joint1", "joint2")]
    assert gears((0, 2), (1, 4)) == [tuple(f"joint{k}" for k in range(5))]


def test_a_lock_ties_its_joint_alone() -> None:
    robot = lw.zoo.serial_chain(4).constrained(lw.constraints.JointLock("joint2", 0.3, name="lock"))
    assert shape(robot) == [("link1", 1, 0, 1)]


def test_a_tree_has_no_clusters() -> None:
    robot = lw.zoo.humanoid()
    assert lw.loops.clusters(robot) == ()
    assert lw.Minimal(robot).ny == robot.nv
    assert all(not cluster.rows and len(cluster.bodies) == 1 for cluster in parts(robot))


@pytest.mark.parametrize("before", [False, True], ids=["asked after", "asked before"])
def test_constraints_that_are_switched_off_make_no_cluster(before: bool) -> None:
    """Switching prepares nothing anew, and is seen all the same."""
    robot = lw.zoo.geared_chain(3)
    if before:
        assert len(lw.loops.clusters(robot)) == 3
    off = robot.switched({"gear1": False})
    assert [report.constraints for report in lw.loops.clusters(off)] == [("gear0",), ("gear2",)]
    assert lw.Minimal(off).ny == 4
    assert lw.Minimal(off.switched({"gear1": True})).ny == 3
    assert lw.loops.clusters(robot.switched({c.name: False for c in robot.constraints})) == ()


# C-ABA and the projection method ---------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["cluster", "projection"])
@each_mechanism
def test_clusters_agree_with_dense_algebra(name: str, method: str) -> None:
    """Also where rows are redundant: accelerations, forces that balance, and rows that are satisfied."""
    p, s = problem(name), solved(name, method)
    assert distance(s.acceleration, solved(name, "kkt").acceleration) <= AGREEMENT
    assert p.unbalanced(s) <= AGREEMENT
    size = max(1.0, float(np.abs(p.k).max()))
    assert np.abs(p.J @ s.acceleration - p.k).max() <= AGREEMENT * size
    assert s.residual <= AGREEMENT * size
    assert s.converged and s.iterations == 1


@each_mechanism
def test_clusters_agree_with_lcaba(name: str) -> None:
    assert distance(solved(name, "cluster").acceleration, solved(name, "lcaba").acceleration) <= AGREEMENT


@pytest.mark.parametrize("method", ["cluster", "projection"])
@each_mechanism
def test_multipliers_of_clusters_are_the_smallest(name: str, method: str) -> None:
    """Of those that do the same to the joints, without units: they have no part along which rows say the same."""
    p, s = problem(name), solved(name, method)
    assert s.multipliers is not None
    units = typical_row_units(p.robot)
    u, singular, _ = np.linalg.svd(p.J / units[:, None], full_matrices=False)
    span = u[:, singular > 1e-9 * singular[0]]
    forces = s.multipliers * units
    assert np.abs(forces - span @ (span.T @ forces)).max() <= 1e-9 * max(1, np.abs(forces).max())


SMALL = (
    *("zoo: four-bar, hinge", "zoo: five-bar, point", "zoo: slider-crank, line", "linkage: floating four-bar"),
    *("linkage: RSSR", "linkage: universal joints", "linkage: gears", "linkage: center of mass", "file: Robotiq"),
)


@pytest.mark.parametrize("method", ["cluster", "projection"])
@pytest.mark.parametrize("name", SMALL)
def test_the_three_ways_agree(name: str, method: str) -> None:
    p = problem(name)
    native = lw.ForwardDynamics(p.robot, method, threads=1)
    expected = native(p.q, p.v, p.tau)
    for other in (native.plain(), native.compile(lanes=1, threads=1), native.compile(lanes=4, threads=1)):
        for s in (other(p.q, p.v, p.tau), other(np.tile(p.q, (5, 1)), p.v, p.tau)):
            assert s.multipliers is not None and expected.multipliers is not None
            for a, forces in zip(
                s.acceleration.reshape(-1, p.robot.nv), s.multipliers.reshape(-1, p.robot.nc), strict=True
            ):
                assert_close(a, expected.acceleration, 1e-11, scale=1.0)
                assert_close(forces, expected.multipliers, 1e-9, scale=1.0)
                assert distance(a, p.hard[0]) <= AGREEMENT


@pytest.mark.parametrize("method", ["cluster", "projection"])
def test_wrenches_gains_and_targets_enter_clusters(method: str) -> None:
    """On a platform that moves as its legs do not allow, which gains slow down; no rows of it are redundant."""
    p, rng = problem("zoo: stewart"), np.random.default_rng(3)
    gained = tuple(replace(c, gains=(100.0, 20.0), time_constant=None) for c in p.robot.constraints)
    frames, wrenches = (p.robot.body_names[3], p.robot.body_names[-1], "world"), 10 * rng.normal(size=(3, 6))
    robot = replace(p.robot, constraints=gained)
    pulled = Problem(robot, p.q, p.v + 0.1 * rng.normal(size=robot.nv), p.tau, frames, wrenches)
    fd = lw.ForwardDynamics(robot, method, wrenches=frames)
    s = fd(pulled.q, pulled.v, pulled.tau, wrenches)
    assert distance(s.acceleration, pulled.hard[0]) <= AGREEMENT
    for other in (replace(pulled, frames=(), wrenches=None), replace(pulled, robot=p.robot)):
        assert distance(s.acceleration, other.hard[0]) > 1e-3  # or nothing was tested
    target = rng.normal(size=robot.nc)
    asked = fd(pulled.q, pulled.v, pulled.tau, wrenches, target=target)
    kkt = lw.ForwardDynamics(robot, "kkt", wrenches=frames)(pulled.q, pulled.v, pulled.tau, wrenches, target=target)
    assert distance(asked.acceleration, kkt.acceleration) <= AGREEMENT
    assert distance(asked.acceleration, s.acceleration) > 1e-3


@pytest.mark.parametrize("method", ["cluster", "projection"])
@pytest.mark.parametrize("before", [False, True], ids=["made after", "made before"])
def test_a_constraint_switched_off_might_as_well_not_be_there(before: bool, method: str) -> None:
    robot = lw.zoo.geared_chain(3)
    p = closed_state(robot, robot.poses["assembled"], np.random.default_rng(5))
    if before:
        lw.ForwardDynamics(robot, method)(p.q, p.v, p.tau)
    for off in robot.constraints:
        s = lw.ForwardDynamics(robot.switched({off.name: False}), method)(p.q, p.v, p.tau)
        without = replace(p, robot=robot.unconstrained(off.name))
        assert distance(s.acceleration, without.hard[0]) <= AGREEMENT
        assert (s.forces[off.name] == 0.0).all() and s.residual <= 1e-9
    none = robot.switched({c.name: False for c in robot.constraints})
    s = lw.ForwardDynamics(none, method)(p.q, p.v, p.tau)
    assert distance(s.acceleration, p.free) <= AGREEMENT
    assert distance(lw.ForwardDynamics(robot, method)(p.q, p.v, p.tau).acceleration, p.hard[0]) <= AGREEMENT


@pytest.mark.parametrize("method", ["cluster", "projection"])
def test_what_rows_miss_off_the_loops_is_said(method: str) -> None:
    """A closed linkage that moves as its loop does not allow while it turns: redundant rows contradict each other."""
    p = problem("linkage: floating four-bar")
    v = p.v.copy()
    v[p.robot.v_index("j2")] += 1.0
    there = Problem(p.robot, p.q, v, p.tau)
    assert there.gap > 1e-3
    s = lw.ForwardDynamics(p.robot, method)(p.q, v, p.tau)
    assert_close(s.residuals, there.k - there.J @ s.acceleration, 1e-12, scale=float(np.abs(there.k).max()))
    assert s.residual >= (1.0 - 1e-12) * there.gap  # no accelerations miss less, but for the rounding of both


# C-RNEA ----------------------------------------------------------------------------------------------------


def check_inverse(p: Problem, rng: np.random.Generator, allowed: float = INVERSE) -> float:
    """Inverse and forward dynamics by clusters, one after the other, in both orders; the largest error."""
    forward = lw.ForwardDynamics(p.robot, "cluster", threads=1)
    inverse, minimal = lw.InverseDynamics(p.robot, "cluster", passive=False, threads=1), lw.Minimal(p.robot)
    free, tied = minimal.index, sorted(tied_dofs(p.robot))
    asked = rng.normal(size=p.robot.nv)
    found = inverse.solve(p.q, p.v, asked)
    assert (found.torque[tied] == 0.0).all() and (found.acceleration[free] == asked[free]).all()
    assert distance(p.J @ found.acceleration, p.k, max(1.0, float(np.abs(p.k).max()))) <= AGREEMENT
    left = p.M @ found.acceleration + lw.bias_forces(p.robot, p.q, p.v) - found.torque - p.J.T @ found.multipliers
    size = max(1.0, *(float(np.abs(x).max(initial=0.0)) for x in (p.pull, found.torque, p.J.T @ found.multipliers)))
    assert np.abs(left).max() <= AGREEMENT * size
    back = forward(p.q, p.v, found.torque)
    errors = [distance(back.acceleration, found.acceleration)]
    # and back: torques on all joints, and what they are to the free ones
    made = forward(p.q, p.v, p.tau).acceleration
    torque = inverse(p.q, p.v, made)
    errors.append(distance(torque[free], minimal.force(p.q, p.tau), size))
    assert max(errors) <= allowed, errors
    return max(errors)


@each_mechanism
def test_inverse_and_forward_dynamics_undo_each_other(name: str) -> None:
    check_inverse(problem(name), np.random.default_rng(len(name)))


KINDS = (
    ["JointCoupling"],
    ["JointCoupling", "PolynomialCoupling", "JointLock"],
    ["Hinge", "Point", "JointCoupling"],
    ["Point", "Rod", "PointOnLine", "PointOnPlane"],
    ["Weld", "Slider", "Cylindrical", "Cardan", "PlaneOnPlane"],
    None,
)
"""Constraints to draw from, by turns; None means all."""

WANTED, BLOCKS = 120, 4


def drawn(seed: int) -> Mechanism:
    return lw.zoo.random_loops(seed, bodies=2 + seed % 5, loops=1 + seed % 3, constraints=KINDS[seed % len(KINDS)])


def moved_problem(seed: int) -> Problem | None:
    """A closed state some way from the pose that a mechanism was made in; None where loops do not close there."""
    robot, rng = drawn(seed), np.random.default_rng([seed, 11])
    start = robot.integrate(robot.poses["assembled"], 0.1 * rng.normal(size=robot.nv))
    try:
        return closed_state(robot, robot.assemble(start, limits=False, attempts=2), rng)
    except lw.errors.AssemblyError:
        return None


@pytest.mark.slow
@pytest.mark.parametrize("block", range(BLOCKS))
def test_inverse_and_forward_dynamics_undo_each_other_on_random_mechanisms(block: int) -> None:
    """At a dead center of the free joints both say so."""
    done, dead = 0, 0
    for seed in range(10_000 * block, 10_000 * block + 100):
        p = moved_problem(seed)
        if p is None:
            continue
        rng = np.random.default_rng([seed, 12])
        try:
            check_inverse(p, rng)
            done += 1
        except lw.errors.SingularConstraints:
            dead += 1
        except AssertionError as wrong:
            raise AssertionError(f"seed {seed}: {wrong}") from wrong
        if done == WANTED // BLOCKS:
            break
    assert done == WANTED // BLOCKS and dead <= 1


def test_inverse_dynamics_in_batches_and_three_ways() -> None:
    p, rng = problem("linkage: RSSR"), np.random.default_rng(6)
    native = lw.InverseDynamics(p.robot, "cluster", threads=1)
    a = rng.normal(size=(2, 3, p.robot.nv))
    expected = np.array([[native(p.q, p.v, one) for one in row] for row in a])
    for way in (native, native.plain(), native.compile(threads=1)):
        assert_close(way(p.q, p.v, a), expected, 1e-11)
        solution = way.solve(p.q, p.v, a)
        assert solution.multipliers.shape == (2, 3, p.robot.nc)
        assert solution.forces["close"].shape == (2, 3, 3)


# Minimal coordinates -----------------------------------------------------------------------------------------


@each_mechanism
def test_the_maps_of_minimal_coordinates(name: str) -> None:
    """Velocities and accelerations that loops allow, and forces that do the same work."""
    p, rng = problem(name), np.random.default_rng(len(name))
    minimal = lw.Minimal(p.robot)
    G = minimal.matrix(p.q)
    assert G.shape == (p.robot.nv, minimal.ny)
    np.testing.assert_array_equal(G[minimal.index], np.eye(minimal.ny))
    allowed = 1e-12 * max(1.0, float(np.abs(p.J).max())) * max(1.0, float(np.abs(G).max(initial=0.0)))
    assert np.abs(p.J @ G).max(initial=0.0) <= allowed
    rate, second = rng.normal(size=(2, minimal.ny))
    v = minimal.velocity(p.q, rate)
    assert_close(v, G @ rate, 1e-14, scale=1.0)
    assert_close(minimal.velocity(p.q, p.v[minimal.index]), p.v, 1e-9, scale=1.0)
    a = minimal.acceleration(p.q, p.v, second)
    np.testing.assert_array_equal(a[minimal.index], second)
    assert distance(p.J @ a, p.k, max(1.0, float(np.abs(p.k).max()))) <= 1e-10
    tau = rng.normal(size=p.robot.nv)
    power = float(np.abs(tau) @ np.abs(v))
    assert minimal.force(p.q, tau) @ rate == pytest.approx(float(tau @ v), abs=1e-13 * max(power, 1.0))


FAR = ("zoo: four-bar, weld", "zoo: jansen", "zoo: stewart", "zoo: belt chain", "file: Digit", "file: MIT humanoid")


@pytest.mark.parametrize("name", FAR)
def test_complete_closes_loops_and_leaves_the_free_joints(name: str) -> None:
    p, rng = problem(name), np.random.default_rng(1)
    minimal = lw.Minimal(p.robot)
    off = p.robot.integrate(p.q, 0.02 * rng.normal(size=p.robot.nv))
    q = minimal.complete(off)
    assert np.abs(lw.constraint_error(p.robot, off)).max() > 1e-3
    assert np.abs(lw.constraint_error(p.robot, q)).max() <= 1e-13
    whole = [j.name for j in p.robot.joints if {*range(p.robot.nv)[p.robot.v_slice(j.name)]} <= {*minimal.index}]
    assert whole
    for joint in whole:
        assert_close(q[p.robot.q_slice(joint)], off[p.robot.q_slice(joint)], 1e-15, scale=1.0)


def test_complete_takes_batches_and_leaves_what_is_closed() -> None:
    robot = lw.zoo.five_bar()
    minimal, q = lw.Minimal(robot), robot.poses["assembled"]
    closed = minimal.complete(q)
    assert distance(closed, q) <= 1e-12
    np.testing.assert_array_equal(minimal.complete(closed), closed)
    batch = q + 0.05 * np.random.default_rng(0).normal(size=(2, 3, robot.nq))
    found = minimal.complete(batch)
    assert np.abs(lw.constraint_error(robot, found)).max() <= 1e-13
    np.testing.assert_array_equal(found[..., minimal.index], batch[..., minimal.index])
    for at in np.ndindex(2, 3):
        assert_close(found[at], minimal.complete(batch[at]), 1e-12)
    assert minimal.complete(np.zeros((0, 4))).shape == (0, 4)


def test_complete_says_which_loop_stays_open() -> None:
    robot = lw.zoo.four_bar(ground=0.5, crank=0.4, coupler=0.3, rocker=0.3).with_independent("A")
    q = lw.zoo.four_bar(ground=0.5, crank=0.4, coupler=0.3, rocker=0.3, angle=0.3).poses["assembled"].copy()
    q[robot.q_index("A")] = np.pi  # the coupler does not reach that far back
    with pytest.raises(lw.errors.AssemblyError, match="with the independent joints where they are") as failed:
        lw.Minimal(robot).complete(q)
    assert failed.value.constraint == "C" and failed.value.gap is not None and failed.value.gap > 1e-3


def test_a_tree_is_its_own_minimal_coordinates() -> None:
    robot = lw.zoo.serial_chain(4)
    minimal, q = lw.Minimal(robot), robot.random(0)
    np.testing.assert_array_equal(minimal.matrix(q), np.eye(4))
    np.testing.assert_array_equal(minimal.complete(q), q)
    assert minimal.names == robot.joint_names


def test_a_mechanism_that_cannot_move_has_no_coordinates() -> None:
    robot = linkages.made("hexapod")
    minimal, q = lw.Minimal(robot), problem("linkage: hexapod").q
    assert minimal.ny == 0 and minimal.names == ()
    assert minimal.velocity(q, np.zeros(0)).shape == (6,)
    assert minimal.force(q, np.ones(6)).shape == (0,)
    assert_close(minimal.acceleration(q, np.zeros(6), np.zeros(0)), np.zeros(6), 1e-12, scale=1.0)


BAD_CALLS: dict[str, tuple[Callable[[lw.Minimal, Floats], object], str]] = {
    "rates for all joints": (lambda m, q: m.velocity(q, np.ones(3)), r"rate has shape \(3,\), needs \(\.\.\., 1\): A"),
    "one number": (lambda m, q: m.velocity(q, 1.0), r"rate has shape \(\), needs"),
    "no numbers": (lambda m, q: m.velocity(q, ["x"]), "rate"),
    "torques of the free joints": (lambda m, q: m.force(q, np.ones(1)), r"tau has shape \(1,\), needs \(\.\.\., 3\)"),
    "accelerations of all joints": (lambda m, q: m.acceleration(q, q, np.ones(3)), r"second has shape \(3,\), needs"),
    "a short configuration": (lambda m, q: m.matrix(q[:2]), "q has 2 numbers"),
    "a short one to complete": (lambda m, q: m.complete(q[:2]), "q has 2 numbers"),
    "no configuration": (lambda m, q: m.matrix([np.nan] * 3), "q holds NaN"),
    "nothing to complete": (lambda m, q: m.complete([np.nan] * 3), "q holds NaN"),
    "no iterations": (lambda m, q: m.complete(q + 0.1, max_iterations=0), "max_iterations"),
    "a short one of a tree": (lambda m, q: lw.Minimal(lw.zoo.serial_chain(3)).complete([1.0]), "q has 1 number"),
    "no robot": (lambda m, q: lw.Minimal("robot"), "robot is str, needs a Mechanism"),  # type: ignore[arg-type]
    "an unknown joint": (lambda m, q: m.robot.with_independent("Z"), "no joint 'Z'"),
}


@pytest.mark.parametrize("call", BAD_CALLS)
def test_bad_calls_say_so(call: str) -> None:
    robot = lw.zoo.four_bar().with_independent("A")
    make, message = BAD_CALLS[call]
    with pytest.raises(lw.errors.InputError, match=message):
        make(lw.Minimal(robot), robot.poses["assembled"])


# Which joints are free -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("joint", ["A", "B", "D"])
def test_any_joint_of_a_four_bar_can_be_the_independent_one(joint: str) -> None:
    robot = lw.zoo.four_bar().with_independent(joint)
    (report,) = lw.loops.clusters(robot)
    assert report.independent == (joint,) and lw.Minimal(robot).names == (joint,)
    p = closed_state(robot, robot.poses["assembled"], np.random.default_rng(7))
    assert distance(lw.ForwardDynamics(robot, "cluster")(p.q, p.v, p.tau).acceleration, p.hard[0]) <= AGREEMENT
    torque = lw.InverseDynamics(robot, "cluster")(p.q, p.v, p.hard[0])
    assert np.flatnonzero(torque).tolist() == [robot.v_index(joint)]


def test_rotors_may_be_independent_instead_of_joints() -> None:
    robot = lw.zoo.geared_chain(3)
    assert lw.Minimal(robot).names == ("joint0", "joint1", "joint2")
    other = robot.with_independent("rotor0", "joint1", "rotor2")
    assert set(lw.Minimal(other).names) == {"rotor0", "joint1", "rotor2"}
    assert lw.Minimal(robot).names == ("joint0", "joint1", "joint2")  # which is another robot
    G = lw.Minimal(other).matrix(robot.poses["assembled"])
    assert G[other.v_index("joint0"), lw.Minimal(other).names.index("rotor0")] == pytest.approx(1 / 6)


def test_joints_outside_of_clusters_are_left_as_they_are() -> None:
    robot = linkages.made("floating four-bar").with_independent("j3")
    assert robot.joint("free").independent is None
    assert {j.name: j.independent for j in robot.joints if j.name != "free"} == {"j1": False, "j2": False, "j3": True}


def test_independent_joints_that_are_tied_to_each_other_get_a_warning() -> None:
    robot = lw.zoo.four_bar().with_independent("A", "D")
    with pytest.warns(
        UserWarning, match=r"'four-bar closed by a hinge'.*cannot all be independent.*depend on other joints"
    ):
        names = lw.Minimal(robot).names
    assert len(names) == 1 and names[0] in ("A", "D")
    p = closed_state(robot, robot.poses["assembled"], np.random.default_rng(8))
    assert distance(lw.ForwardDynamics(robot, "cluster")(p.q, p.v, p.tau).acceleration, p.hard[0]) <= AGREEMENT


def test_marks_that_can_be_kept_get_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lw.Minimal(lw.zoo.four_bar().with_independent("D"))
        lw.Minimal(lw.zoo.geared_chain(3))


# Dead centers ----------------------------------------------------------------------------------------------------


def dead_center() -> tuple[Mechanism, Floats]:
    """A four-bar on its rocker, at the pose in which the crank and the coupler are in line."""
    robot = linkages.four_bar(ground=1.0, crank=0.5, coupler=1.2, rocker=0.9).with_independent("j3")
    reach = 0.5 + 1.2
    x = (reach**2 + 1.0 - 0.9**2) / 2
    z = np.sqrt(reach**2 - x**2)
    q = np.array([-np.arctan2(z, x), 0.0, -np.arctan2(z, x - 1.0)])
    order = {"j1": q[0], "j2": q[1], "j3": q[2]}
    return robot, np.array([order[name] for name in robot.joint_names])


def flat_polynomial() -> tuple[Mechanism, Floats]:
    """A joint that follows the square of another, which is to follow it: where the square has no slope, exactly."""
    square = lw.constraints.PolynomialCoupling("joint0", "joint1", (0.0, 0.0, 1.0), 0.0, 0.5, name="square")
    return lw.zoo.serial_chain(3).constrained(square).with_independent("joint0"), np.array([0.0, 0.5, 0.0])


DEAD = {"a four-bar on its rocker": (dead_center, "j3"), "a square": (flat_polynomial, "joint0")}

AT_DEAD_CENTRES: dict[str, Callable[[Mechanism, Floats], object]] = {
    "matrix": lambda r, q: lw.Minimal(r).matrix(q),
    "velocity": lambda r, q: lw.Minimal(r).velocity(q, np.ones(lw.Minimal(r).ny)),
    "acceleration": lambda r, q: lw.Minimal(r).acceleration(q, np.zeros(3), np.ones(lw.Minimal(r).ny)),
    "cluster": lambda r, q: lw.ForwardDynamics(r, "cluster")(q, np.zeros(3), np.ones(3)),
    "cluster_lcaba": lambda r, q: lw.ForwardDynamics(r, "cluster_lcaba")(q, np.zeros(3), np.ones(3)),
    "projection": lambda r, q: lw.ForwardDynamics(r, "projection")(q, np.zeros(3), np.ones(3)),
    "cluster, compiled": lambda r, q: lw.ForwardDynamics(r, "cluster").compile()(q, np.zeros(3), np.ones(3)),
    "cluster, plain": lambda r, q: lw.ForwardDynamics(r, "cluster").plain()(q, np.zeros(3), np.ones(3)),
    "inverse": lambda r, q: lw.InverseDynamics(r, "cluster")(q, np.zeros(3), np.ones(3)),
    "least": lambda r, q: lw.InverseDynamics(r, "least")(q, np.zeros(3), np.ones(3)),
    "step": lambda r, q: lw.loops.MinimalMotion(r).step(q, np.ones(lw.Minimal(r).ny), 1e-3),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("call", AT_DEAD_CENTRES)
@pytest.mark.parametrize("case", DEAD)
def test_a_dead_centre_is_an_error_that_names_the_joints(case: str, call: str) -> None:
    make, joint = DEAD[case]
    robot, q = make()
    assert np.abs(lw.constraint_error(robot, q)).max() <= 1e-12
    assert joint in lw.Minimal(robot).names
    with pytest.raises(
        lw.errors.SingularConstraints, match=rf"independent joints of .*\({joint}\).*dead center of theirs"
    ):
        AT_DEAD_CENTRES[call](robot, q)


def test_the_state_of_a_batch_that_is_at_a_dead_centre_is_named() -> None:
    robot, q = dead_center()
    near = robot.assemble(q + 0.3, limits=False)
    batch = np.array([[near, near], [near, q], [near, near]])
    with pytest.raises(lw.errors.SingularConstraints, match=r"in state \(1, 1\)"):
        lw.ForwardDynamics(robot, "cluster")(batch, np.zeros(3), np.ones(3))
    with pytest.raises(lw.errors.SingularConstraints, match=r"in state \(1, 1\)"):
        lw.Minimal(robot).matrix(batch)


def test_other_joints_know_no_dead_centre_where_these_have_one() -> None:
    robot, q = dead_center()
    p = closed_state(robot.with_independent("j1"), q, np.random.default_rng(9))
    assert distance(lw.ForwardDynamics(p.robot, "cluster")(p.q, p.v, p.tau).acceleration, p.hard[0]) <= AGREEMENT


# Motion --------------------------------------------------------------------------------------------------------


def driven() -> tuple[Mechanism, Floats, Floats]:
    """A four-bar of a meter on its crank, thrown."""
    robot = lw.zoo.four_bar(ground=1.0, crank=0.4, coupler=0.9, rocker=0.8).with_independent("A")
    return robot, robot.poses["assembled"], np.array([4.0])


def moved(robot: Mechanism, q: Floats, rate: Floats, seconds: float, steps: int) -> tuple[Floats, Floats]:
    motion = lw.loops.MinimalMotion(robot)
    for _ in range(steps):
        q, rate = motion.step(q, rate, seconds / steps)
    return q, rate


def test_two_seconds_of_a_four_bar_leave_loop_and_energy_as_they_are() -> None:
    robot, q, rate = driven()
    motion, minimal = lw.loops.MinimalMotion(robot), lw.Minimal(robot)

    def energy() -> float:
        return float(lw.energy(robot, q, minimal.velocity(q, rate)).total)

    start, turned = energy(), q[robot.q_index("A")]
    worst = drift = 0.0
    for k in range(2000):
        q, rate = motion.step(q, rate, 1e-3)
        worst = max(worst, float(np.abs(lw.constraint_error(robot, q)).max()))
        if k % 20 == 19:
            drift = max(drift, abs(energy() - start))
    assert worst < 1e-12
    assert drift < 1e-9 * abs(start)
    assert abs(q[robot.q_index("A")] - turned) > 2 * np.pi  # it went all the way around


MOVING: dict[str, Callable[[], tuple[Mechanism, Floats, Floats]]] = {
    "four-bar": driven,
    "tree": lambda: (lw.zoo.serial_chain(3), np.array([0.3, 0.5, -0.2]), np.array([1.0, -2.0, 1.5])),
    "geared chain": lambda: (
        lw.zoo.geared_chain(2),
        lw.zoo.geared_chain(2).poses["assembled"],
        np.array([3.0, -2.0]),
    ),
}


def orders(robot: Mechanism, q: Floats, rate: Floats, seconds: float = 0.2) -> Floats:
    """By how many powers of two errors fall when steps are halved, twice."""
    exact = moved(robot, q, rate, seconds, 320)

    def error(steps: int) -> float:
        at, y = moved(robot, q, rate, seconds, steps)
        return float(np.linalg.norm([*robot.difference(exact[0], at), *(y - exact[1])]))

    return np.log2([error(10) / error(20), error(20) / error(40)])


@pytest.mark.parametrize("name", MOVING)
def test_steps_are_of_fourth_order(name: str) -> None:
    found = orders(*MOVING[name]())
    assert np.abs(found - 4).max() <= 0.2, found


def test_steps_are_of_fourth_order_where_a_base_turns_freely() -> None:
    robot, q = linkages.made("floating four-bar"), problem("linkage: floating four-bar").q
    found = orders(robot, q, np.array([0.3, -0.2, 0.1, 1.0, -0.5, 2.0, 1.5]))
    assert np.abs(found - 4).max() <= 0.2, found


def test_torques_do_work_in_motion() -> None:
    robot, q, rate = driven()
    motion, minimal = lw.loops.MinimalMotion(robot), lw.Minimal(robot)
    tau, work, h = np.array([0.3, -0.1, 0.2]), 0.0, 1e-3
    start = float(lw.energy(robot, q, minimal.velocity(q, rate)).total)
    for _ in range(200):
        before = q
        q, rate = motion.step(q, rate, h, tau)
        work += float(tau @ (q - before))  # all coordinates are angles
    assert float(lw.energy(robot, q, minimal.velocity(q, rate)).total) - start == pytest.approx(work, rel=1e-8)


@pytest.mark.parametrize("seconds", [0.0, -1e-3, np.nan])
def test_a_step_takes_time(seconds: float) -> None:
    robot, q, rate = driven()
    with pytest.raises(lw.errors.InputError, match="seconds"):
        lw.loops.MinimalMotion(robot).step(q, rate, seconds)


def test_a_step_takes_the_rates_of_free_joints() -> None:
    robot, q, _ = driven()
    with pytest.raises(lw.errors.InputError, match=r"rate has shape \(3,\), needs \(\.\.\., 1\): A"):
        lw.loops.MinimalMotion(robot).step(q, np.zeros(3), 1e-3)


# Motors and joints -----------------------------------------------------------------------------------------------

SIDES = ("left", "right")
MOTORS: dict[str, list[str] | None] = {
    "Digit": None,
    "Booster T1": None,
    "Robotiq": None,
    "Cassie": None,
    "Kangaroo": [f"leg_{side}_length_joint" for side in SIDES],
    "MIT humanoid": [f"{side}_{rotor}_rotor" for side in SIDES for rotor in ("hipy_to_knee", "hipy_to_ankle")],
}
"""Those of the files, unless named: the files of the last two mark none."""


WEAK = {"Robotiq": "left_spring_link_joint"}
"""Robots with springs that their weight bends by much."""


def actuated(name: str) -> tuple[Problem, lw.results.Actuation]:
    p = problem(f"file: {name}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if name in WEAK else "error")
        return p, p.robot.actuation(p.q, MOTORS[name])


def test_springs_that_are_taken_to_be_rigid_are_named() -> None:
    p, maps = actuated("Cassie")
    springs = [j.name for j in p.robot.joints if j.stiffness.any()]
    assert sorted(maps.held) == sorted(springs) and not set(springs) & {*maps.motors, *maps.joints}
    assert maps.of(maps.joints[0]).held == maps.held
    assert p.robot.actuation(p.q, ["left-knee"], ["left-tarsus"], held=["left-shin", "left-heel-spring"]).held == (
        "left-shin",
        "left-heel-spring",
    )


@pytest.mark.parametrize("name", WEAK)
def test_a_weak_spring_that_is_taken_to_be_rigid_is_a_warning(name: str) -> None:
    p = problem(f"file: {name}")
    with pytest.warns(
        UserWarning, match=r"weak springs are taken to be rigid: its weight could bend '.*' by \S+ rad. Pass held="
    ):
        maps = p.robot.actuation(p.q)
    assert WEAK[name] in maps.held
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        named = p.robot.actuation(p.q, held=maps.held)
    assert_close(named.matrix, maps.matrix, 1e-15)


@pytest.mark.parametrize("name", MOTORS)
def test_no_power_is_lost_between_motors_and_joints(name: str) -> None:
    _, maps = actuated(name)
    rng = np.random.default_rng(1)
    assert maps.motors and maps.joints and maps.matrix.shape == (len(maps.joints), len(maps.motors))
    for _ in range(5):
        motor, joint = rng.normal(size=len(maps.motors)), rng.normal(size=len(maps.joints))
        at_motors, at_joints = maps.motor_torque(joint) * motor, joint * maps.joint_velocity(motor)
        size = max(float(np.abs(at_motors).sum()), float(np.abs(at_joints).sum()))
        assert abs(at_motors.sum() - at_joints.sum()) <= 1e-12 * size


@pytest.mark.parametrize("name", ["Digit", "Booster T1"])
def test_as_many_motors_as_joints_go_both_ways(name: str) -> None:
    _, maps = actuated(name)
    rng = np.random.default_rng(2)
    motor, torque = rng.normal(size=(2, len(maps.motors)))
    joint = maps.joint_velocity(motor)
    assert_close(maps.motor_velocity(joint), motor, 1e-12, scale=1.0)
    assert_close(maps.motor_torque(maps.joint_torque(torque)), torque, 1e-12, scale=1.0)
    power = float(maps.joint_torque(torque) @ joint)
    assert power == pytest.approx(float(torque @ motor), abs=1e-12 * float(np.abs(torque) @ np.abs(motor)))


@pytest.mark.parametrize("name", MOTORS)
def test_velocities_of_motors_and_joints_are_ones_that_loops_allow(name: str) -> None:
    """Some motion of the robot has the motors' velocities and, springs standing, those of the joints."""
    p, maps = actuated(name)
    motor = np.random.default_rng(3).normal(size=len(maps.motors))
    names = [*maps.motors, *maps.joints]
    given = np.concatenate([motor, maps.joint_velocity(motor)])
    at = [p.robot.v_index(joint) for joint in names]
    springs = [j.name for j in p.robot.joints if j.type.nv == 1 and np.any(j.stiffness) and j.name not in names]
    held = [p.robot.v_index(joint) for joint in springs]
    rest = np.setdiff1d(np.arange(p.robot.nv), [*at, *held])
    v = np.zeros(p.robot.nv)
    v[at] = given
    v[rest] = np.linalg.lstsq(p.J[:, rest], -(p.J @ v), rcond=None)[0]
    assert np.abs(p.J @ v).max() <= 1e-12 * np.abs(v).max()
    # and while the motors stand, the joints do
    loose = np.setdiff1d(np.arange(p.robot.nv), [*at[: len(maps.motors)], *held])
    _, singular, Vt = np.linalg.svd(p.J[:, loose])
    idle = Vt[int((singular > 1e-9 * singular[0]).sum()) :]
    assert np.abs(idle[:, np.isin(loose, at)]).max(initial=0.0) <= 1e-9


def test_the_motors_of_digit_are_those_of_its_file() -> None:
    _, maps = actuated("Digit")
    assert set(maps.motors) == {f"{side}-{motor}" for side in SIDES for motor in ("knee", "toe-A", "toe-B")}
    assert set(maps.joints) == {f"{side}-{joint}" for side in SIDES for joint in ("tarsus", "toe-pitch", "toe-roll")}
    ankle = maps.of("left-toe-pitch", "left-toe-roll").matrix
    moved_by = {maps.motors[k] for k in np.flatnonzero(np.abs(ankle).max(axis=0) > 1e-9)}
    assert moved_by == {"left-toe-A", "left-toe-B"}


def test_the_ankles_of_booster_have_two_motors_each() -> None:
    _, maps = actuated("Booster T1")
    assert set(maps.motors) == {f"{side}_ankle_drive_{which}_joint" for side in SIDES for which in "ab"}
    assert set(maps.joints) == {f"{side}_ankle_{which}_joint" for side in SIDES for which in ("pitch", "roll")}


@pytest.mark.filterwarnings("ignore:.*springs are taken to be rigid")
def test_the_fingers_of_a_gripper_follow_one_motor() -> None:
    """Its drivers are tied to each other: one of them counts, and the other follows it."""
    p, maps = actuated("Robotiq")
    assert len(maps.motors) == 1
    first, second = "right_driver_joint", "left_driver_joint"
    assert set(maps.motors) < {first, second} < {*maps.motors, *maps.joints}
    other = next(name for name in (first, second) if name not in maps.motors)
    assert maps.of(other).matrix == pytest.approx(1.0, abs=1e-12)
    with pytest.raises(lw.errors.SingularConstraints, match="cannot move here while the other motors stand"):
        p.robot.actuation(p.q, [first, second])


def test_a_robot_whose_file_marks_no_motors_says_so() -> None:
    p = problem("file: Kangaroo")
    with pytest.raises(lw.errors.InputError, match=r"has no actuated joint in a loop.*name the motors"):
        p.robot.actuation(p.q)
    _, maps = actuated("Kangaroo")
    assert set(maps.joints) == {f"leg_{side}_{part}_joint" for side in SIDES for part in ("femur", "knee")}


def test_the_belts_of_a_leg_in_numbers() -> None:
    """The MIT humanoid: what the rotors of knee and ankle do is what the file says of them."""
    p, maps = actuated("MIT humanoid")
    for side in SIDES:
        rows = maps.of(f"{side}_hipy_to_knee_link", f"{side}_knee_to_ankle")
        knee, ankle = (rows.motors.index(f"{side}_hipy_to_{part}_rotor") for part in ("knee", "ankle"))
        found = np.linalg.inv(rows.matrix[:, [knee, ankle]])  # rotors for joints
        for row, part in enumerate(("knee", "ankle")):
            coupling = p.robot.constraint(f"{side}_{part}_transmission")
            assert isinstance(coupling, lw.constraints.JointCoupling)
            ratios = dict(coupling.coefficients)
            rotor = ratios.pop(f"{side}_hipy_to_{part}_rotor")
            joints = (f"{side}_hipy_to_knee_link", f"{side}_knee_to_ankle")
            assert_close(found[row], [-ratios.get(joint, 0.0) / rotor for joint in joints], 1e-12, scale=1.0)


def test_maps_come_in_batches() -> None:
    p = problem("file: Booster T1")
    near = lw.Minimal(p.robot).complete(p.robot.integrate(p.q, 0.01 * np.ones(p.robot.nv)))
    maps = p.robot.actuation(np.stack([p.q, near]))
    assert maps.matrix.shape == (2, len(maps.joints), len(maps.motors))
    for k, q in enumerate((p.q, near)):
        assert_close(maps.matrix[k], p.robot.actuation(q).matrix, 1e-12)
    assert distance(maps.matrix[0], maps.matrix[1]) > 1e-4
    motor = np.random.default_rng(0).normal(size=(2, len(maps.motors)))
    assert_close(maps.joint_velocity(motor), np.einsum("bij,bj->bi", maps.matrix, motor), 1e-14)


def test_a_motor_at_its_dead_centre_cannot_move() -> None:
    robot, q = dead_center()
    with pytest.raises(lw.errors.SingularConstraints, match=r"motor 'j3' cannot move here.*dead center"):
        robot.actuation(q, ["j3"])
    maps = robot.actuation(q, ["j1"])  # while the crank can, and does not move the rocker
    assert maps.of("j3").matrix == pytest.approx(0.0, abs=1e-9)
    with pytest.raises(lw.errors.SingularConstraints, match=r"motors j1 do not move the joints j3"):
        maps.of("j3").motor_velocity([1.0])


def test_a_joint_that_motors_do_not_determine_is_an_error() -> None:
    robot = lw.zoo.five_bar()
    q = robot.poses["assembled"]
    with pytest.raises(lw.errors.SingularConstraints, match=r"joint 'D' can move while the motors A stand"):
        robot.actuation(q, ["A"], ["D"])
    assert robot.actuation(q, ["A", "E"]).joints == ("B", "D")


BAD_MAPS: dict[str, tuple[Callable[[lw.results.Actuation, Mechanism, Floats], object], str]] = {
    "velocities of joints for motors": (lambda m, r, q: m.joint_velocity([1.0, 2.0, 3.0]), r"motor has shape \(3,\)"),
    "torques of motors for joints": (lambda m, r, q: m.motor_torque([1.0, 2.0, 3.0]), r"joint has shape \(3,\)"),
    "one joint of two motors": (lambda m, r, q: m.of("B").motor_velocity([1.0]), "2 motors move 1 joint"),
    "another joint": (lambda m, r, q: m.of("A"), "'A' is not moved by the motors, which move B, D"),
    "an unknown motor": (lambda m, r, q: r.actuation(q, ["Z"]), "no joint 'Z'"),
    "no constraints": (lambda m, r, q: r.unconstrained().actuation(q), "has no enabled constraints"),
    "a motor as a joint": (lambda m, r, q: r.actuation(q, ["A", "E"], ["A"]), "joint 'A' is a motor"),
}


@pytest.mark.parametrize("call", BAD_MAPS)
def test_bad_calls_of_maps_say_so(call: str) -> None:
    robot = lw.zoo.five_bar()
    q = robot.poses["assembled"]
    make, message = BAD_MAPS[call]
    with pytest.raises(lw.errors.InputError, match=message):
        make(robot.actuation(q, ["A", "E"]), robot, q)


def test_a_motor_has_one_degree_of_freedom() -> None:
    p = problem("linkage: RSSR")
    with pytest.raises(lw.errors.InputError, match="joint 'ball' has 3 degrees of freedom"):
        p.robot.actuation(p.q, ["ball"])
