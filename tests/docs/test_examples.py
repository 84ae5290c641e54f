# SPDX-License-Identifier: BSD-3-Clause
"""The examples run as they stand, each in a process of its own, say what they are there to say, and are listed."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import REPOSITORY
from tests.support.robots import model_file

EXAMPLES = REPOSITORY / "examples"
ALL = sorted(EXAMPLES.glob("*.py"))
NUMBERED = [path for path in ALL if path.name[:2].isdigit()]

TINY = r"\d(\.\d+)?e-(0[89]|[1-9]\d)"
"""A number below 1e-7, as examples print it."""
TRUE = r"(0e\+00|\d+(\.\d+)?e-\d\d)"
"""A rounding error of any size that is printed as one."""

CLAIMS: dict[str, tuple[str, ...]] = {
    "01_first_steps": (r"it accelerates by \[.+\] rad/s²", r"held there by \[.+\] Nm"),
    "02_urdf": (r"M\(q\) =", r"hand at \[.+\] moves with \[.+\] m/s"),
    "03_batches": (r"specialized, float32 +[\d.]+ ms", r"grid of accelerations: \(100, 1000, 37\)"),
    "04_control_loop": (r"t = 3\.0 s   q = 3\.14159", r"InputError: .*NaN"),
    "05_four_bar": (r"1 degree of freedom; 5 rows of rank 2", rf"loop open by {TINY} m"),
    "06_loops_from_files": (rf"assembled again, by {TRUE}", r"ModelError: .*slidr"),
    "07_feet_on_the_ground": (r"they carry 791\.\d+ N, the weight is 791\.\d+ N", r"all converged: True"),
    "08_motors_and_joints": (rf"cluster and lcaba differ by {TINY}", rf"loop open by {TINY}"),
    "09_delassus": (r"CG needs \d+ products \(failed: False\)", rf"direct inverse differ by {TINY} m/s²"),
    "10_simulation": (r"resumed to the last bit: True", r"a hundred at once: <Trajectory"),
    "11_inside_a_loop": (rf"kkt differs by {TINY}", rf"opens by {TINY} m/s²", r"AssemblyError: .* do not close"),
    "12_cassie_standing": (r"the ground carries 326\.791 N in the end, the weight is 326\.791 N", r"fallen by \d+ mm"),
    "13_two_hands_and_a_cube": (
        r"palms carry 19\.6200 N, the cube weighs 19\.6200 N",
        rf"dense linear algebra differs by {TINY}",
        r"lifted by 0\.1\d* m|lifted by 0\.09\d+ m",
    ),
    "14_stewart_tracking": (rf"the same accelerations to {TINY}", r"times as exact"),
    "15_digit_knee": (r"nearly a parallelogram", rf"joints accelerate by {TINY} rad/s²"),
    "16_all_methods": (r"lcaba +\d+e-\d+ +\d", r"ltl +the constraints .* are not independent", r"auto takes \w+"),
    "17_million_states": (r"at once, all cores +[\d.]+ s", r"equal to the last bit", rf"{TINY} Nm are left"),
    "18_kernel_controller": (
        r"as a kernel: [\d.]+ µs a step, crank at (0\.8466685\d\d)\nin Python: [\d.]+ µs a step, crank at \1",
        r"resumed to the last bit: True",
        r"1000 robots>: targets and cranks correlate by 1\.00",
        r"KernelError: .*18_kernel_controller\.py:\d+ in kernel 'switching': floats are not compared",
    ),
    "19_cassie_on_the_ground": (
        r"1 s: the pelvis moves by up to 0\.0\d+ mm",
        r"pushed with 6 N s: the pelvis moves by up to \d\d(\.\d+)? mm, at last \d(\.\d+)? mm",
        r"motors off: after 0\.3 s the pelvis has fallen by \d\d\d mm",
    ),
    "20_trotting": (r"Go2 trots 0\.[3-9]\d m in 2 s", r"its trunk moves [1-5]\d mm up"),
    "21_stack_and_cards": (
        rf"newton +\d+ iterations, residual {TINY} m/s, solved",
        r"pgs +2000 iterations, residual \S+ m/s, not solved",
        rf"stack of 10 boxes with friction: 0.5 s in [\d.]+ s, 0 steps not solved, moved by {TINY} m",
        r"card house of 3 levels: 0.5 s in [\d.]+ s, 0 steps not solved, moved by \d(\.\d+)?e-(09|[1-9]\d) m",
        r"with friction 0.15 it falls",
    ),
    "22_hand_and_cube": (
        r"a finger presses with 5\.000 N and carries 0\.245[23] N",  # 0.24525 but for rounding
        rf"the cube sinks by {TRUE} m in half a second",
        r"7\.51 N: held",
        r"15\.02 N: lost",
    ),
    "23_inverse_kinematics": (
        rf"squat: loops closed, all targets met; \d+ iterations, loops open by {TRUE}",
        rf"the center of mass is {TINY} m beside the middle of the foot",
        r"step: loops closed, all targets met",
        r"jump: loops closed, but 'left toe' stays 0\.\d+ m from its target",
        r"feet of 1000 random states: (9[5-9]\.\d|100\.0)% found, \d+ a second",
    ),
    "27_domain_randomization": (
        r"kp = 400: +2\.6° off the target, the model alone; +2\.6° in the middle of 1000 arms, +3\.4° at worst",
        rf"simulated alone, it ends {TRUE} rad from there",
        rf"the hand carries 1\.700 kg at \[ 0\.08  0\.01 -0\.02\] m: off by {TINY}",
    ),
    "24_identification": (
        rf"11 of 40 parameters can be told; off by {TINY}",
        r"with noise of 0\.05 N m, 9[3-7]\.\d% of 500 experiments have the truth within 95 % bounds",
        rf"masses by gradients, \d+ iterations: \[0\.325 +0\.32 +0\.225 +0\.48 +\] kg, off by {TINY}",
    ),
    "25_swing_up": (
        rf"\d\d iterations: defects of {TINY}, at most 28\.7 N",
        r"two seconds later it is \de-0[4-9] off upright, the loop open by \de-0[7-9]",
    ),
    "26_cassie_lqr": (
        r"10 degrees of freedom, 6 of them unstable",
        r"with the regulator all decay, the slowest with 3\.\d+ 1/s",
        r"LQR: stands after ([7-9]|1\d) of 25 pushes",
        r"springs and dampers: stands after [1-5] of 25 pushes",
    ),
    "28_push_through_friction": (
        r"gradient at rest, smoothing None: \d(\.\d+)?e-05",
        r"gradient at rest, smoothing 0\.05: 0\.0\d+",
        r"the box ends \d(\.\d+)? mm from its target",
    ),
    "29_ppo_hopper": (r"16384 steps in \d+ s of CPU", r"64 episodes without noise: return \d+ of at most 1000"),
    "36_shac_hopper": (
        r" 102400 steps, return +([2-9]\d|\d{3})\.\d",  # 15 at the beginning
        r"64 episodes without noise: return \d+ of at most 1000",
    ),
    "35_actuator_network": (
        r"torques of 23920 steps: off by 0\.[4-8]\d N m, of 10\.78 N m",
        r"the servo alone is off by 0\.139\d rad",
        r"the network is off by 0\.0[1-5]\d+ rad",
        r"with 80 % of its torque it comes to 0\.3\d+ rad in 0\.1 s, with 120 % to 0\.4\d+",
    ),
    "30_learning_through_steps": (
        r"crank off by 0\.2\d+ rad with the masses of the model, by \de-0[3-9] rad with those found",
        r"masses \[0\.28 +0\.315 +0\.48 ?\] kg, off by \de-0[4-9]",
        r"iteration 59: speed of the crank off 6 rad/s by 0\.[0-2]\d rad/s",
    ),
    "31_swing_up_in_jax": (
        r"60 iterations: from a cost of 2817 to 0\.1\d, forces of at most 2\d N",
        r"after 1\.5 s it is \de-0[3-9] off upright",
        r"64 that begin up to 0\.\d+ rad elsewhere end within \de-0[3-9] rad of it",
    ),
    "32_operational_space": (
        r"5 degrees of freedom, of which the position of the tool takes 3",
        r"operational-space control: the tool is 0\.1\d mm off at most",
        rf"its acceleration is that which is wanted to {TINY} m/s²",
        r"a mass on springs: the tool is 3\d\.\d\d mm off at most",
    ),
    "34_engine": (
        r"Grübler counts -2 degrees of freedom, it has 1",
        rf"where it is to be to {TINY} rad",
        r"the drive takes ([\d.]+) N m, inverse dynamics says \1 N m",
    ),
    "33_whole_body_control": (
        r"squatting: the center of mass is at most 0\.[34]\d mm from its path",
        r"pushed: the center of mass is at most 1\d\.\d\d mm from its path",
        r"1\.5 s later: the center of mass is at most 0\.[34]\d mm from its path",
        r"the ground carries what was planned to 0\.\d N; a foot slipped: False; loops: \de-(0[89]|1\d) m",
    ),
    "demo": (r"specialized differs from plain Python by", r"the crank turned [\d.]+ times"),
}
"""What each example must print, as regular expressions."""

PICTURES = {
    "12_cassie_standing": ("cassie_standing.png", "cassie_standing.gif"),
    "13_two_hands_and_a_cube": ("two_hands_and_a_cube.png",),
    "15_digit_knee": ("digit_knee.png",),
    "19_cassie_on_the_ground": ("cassie_pushed.png", "cassie_contact_forces.png"),
    "21_stack_and_cards": ("card_house.png", "card_house_falls.png"),
    "22_hand_and_cube": ("hand_and_cube.png", "hand_and_cube_falls.png"),
    "23_inverse_kinematics": ("inverse_kinematics.png",),
    "24_identification": ("identification.png",),
    "25_swing_up": ("swing_up.png",),
    "26_cassie_lqr": ("cassie_lqr.png",),
    "28_push_through_friction": ("push_through_friction.png",),
    "29_ppo_hopper": ("ppo_hopper.png",),
    "30_learning_through_steps": ("learning_through_steps.png",),
    "31_swing_up_in_jax": ("swing_up_in_jax.png",),
    "32_operational_space": ("operational_space.png",),
    "33_whole_body_control": ("whole_body_control.png",),
    "34_engine": ("engine.svg",),
    "36_shac_hopper": ("shac_hopper.png",),
}
NEEDS = {
    "12_cassie_standing": "cassie/cassie.xml",
    "15_digit_knee": "digit/digit-v3.xml",
    "19_cassie_on_the_ground": "cassie/cassie.xml",
    "23_inverse_kinematics": "cassie/cassie.xml",
    "26_cassie_lqr": "cassie/cassie.xml",
    "33_whole_body_control": "cassie/cassie.xml",
}
"""Examples that do nothing without a file, and which."""

FRAMEWORKS = {
    "29_ppo_hopper": ("torch", "gymnasium"),
    "30_learning_through_steps": ("torch",),
    "35_actuator_network": ("torch",),
    "36_shac_hopper": ("torch", "gymnasium"),
    "31_swing_up_in_jax": ("jax",),
}
"""Packages that examples need, which need not be there."""

ARGUMENTS = {
    "29_ppo_hopper": ("--steps", "16384", "--native", "--film", "0.2"),
    "36_shac_hopper": ("--steps", "102400", "--native"),
}
"""What makes an example short."""

LONG = {"29_ppo_hopper": 200, "36_shac_hopper": 215}
"""Lines of examples that are more than a screen or two."""


def run(example: Path, folder: Path, *arguments: str, **environment: str) -> str:
    """What an example prints, run in a folder."""
    # A test beside this one has the other core: small matrices on two threads would wait for each other.
    where = {"OPENBLAS_NUM_THREADS": "1", **os.environ, **environment}
    done = subprocess.run(
        [sys.executable, str(example), *arguments], cwd=folder, capture_output=True, text=True, env=where
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("example", ALL, ids=lambda path: path.stem)
def test_example_says_what_it_is_there_to_say(example: Path, tmp_path: Path) -> None:
    if example.stem in NEEDS:
        model_file(NEEDS[example.stem])
    for package in FRAMEWORKS.get(example.stem, ()):
        pytest.importorskip(package)
    said = run(example, tmp_path, *ARGUMENTS.get(example.stem, ()))
    for claim in CLAIMS[example.stem]:
        assert re.search(claim, said), f"{claim!r} is not in what {example.name} prints:\n{said}"
    for picture in PICTURES.get(example.stem, ()):
        assert (tmp_path / "out" / picture).stat().st_size > 5000


@pytest.mark.parametrize("stem", NEEDS)
def test_example_without_its_file_says_which_it_needs(stem: str, tmp_path: Path) -> None:
    said = run(EXAMPLES / f"{stem}.py", tmp_path, LINKWORK_MODELS=str(tmp_path))
    assert said.startswith(f"no {Path(NEEDS[stem]).name} in {tmp_path}") and "LINKWORK_MODELS" in said


def test_loops_from_files_has_a_mechanism_of_its_own(tmp_path: Path) -> None:
    said = run(EXAMPLES / "06_loops_from_files.py", tmp_path, LINKWORK_MODELS=str(tmp_path))
    assert "slider-crank" in said and "Point 'pin'" in said


@pytest.mark.parametrize("example", NUMBERED, ids=lambda path: path.stem)
def test_example_is_short_and_says_what_it_shows(example: Path) -> None:
    text = example.read_text()
    assert len(text.splitlines()) < LONG.get(example.stem, 100)
    assert ast.get_docstring(ast.parse(text))


def test_the_four_bar_is_ten_lines() -> None:
    text = (EXAMPLES / "05_four_bar.py").read_text()
    docstring = ast.parse(text).body[0]
    code = [line for line in text.splitlines()[docstring.end_lineno :] if line.strip()]
    assert len(code) <= 10


def test_examples_are_numbered_and_listed() -> None:
    assert [int(path.name[:2]) for path in NUMBERED] == list(range(1, len(NUMBERED) + 1))
    page = (EXAMPLES / "README.md").read_text()
    assert re.findall(r"\]\((\S+\.py)\)", page) == [path.name for path in ALL]
    assert set(CLAIMS) == {path.stem for path in ALL}
