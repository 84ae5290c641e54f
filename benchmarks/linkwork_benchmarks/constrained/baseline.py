# SPDX-License-Identifier: BSD-3-Clause
"""Native code for the instruction set of Pinocchio's wheel, beside Pinocchio.

The wheel is made for every x86-64 processor: it has neither AVX nor FMA, which code made on this machine may use. A
process of its own makes code for such a processor (``LINKWORK_CPU``) and times both there, in turn.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

from linkwork_benchmarks.constrained.scenarios import SCENARIOS, Baseline, System
from linkwork_benchmarks.constrained.states import closed_states
from linkwork_benchmarks.runner import Journal, Settings, best_times, say

METHOD = "lcaba"


def measure(scenario: Baseline, settings: Settings, journal: Journal) -> None:
    """Times of one system, from a process whose code is for `Baseline.cpu`."""
    command = (sys.executable, "-m", "linkwork_benchmarks.constrained.baseline", scenario.system, str(settings.rounds))
    environment = {**os.environ, "LINKWORK_CPU": scenario.cpu, "LINKWORK_QUIET": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        journal.note(f"{scenario.name}: not measured: {done.stderr.strip().splitlines()[-1]}")
        return
    for name, us in json.loads(done.stdout.splitlines()[-1]).items():
        journal.metrics[f"{scenario.name}.{name}.us"] = us
        say(f"  {name:<34}{us:10.3f} µs")


def main(system: str, rounds: int) -> None:
    """Print the times of one system in this process, as JSON."""
    from linkwork_benchmarks.constrained import ours, pinocchio, studies
    from linkwork_benchmarks.constrained.scenarios import REGULARIZATION

    chosen = next(s for s in SCENARIOS if isinstance(s, System) and s.name == system)
    robot = chosen.make()
    states = closed_states(robot, 16)
    twin = pinocchio.twin(robot)
    contenders = [ours.single(f"{METHOD}.native", ours.dynamics(robot, METHOD, REGULARIZATION, 1), states)]
    contenders += [pinocchio.contender(twin, solver, states, REGULARIZATION, 1) for solver in pinocchio.SOLVERS]
    times = best_times(contenders, studies.FULL._replace(rounds=rounds))
    print(json.dumps({c.name: 1e6 * seconds for c, seconds in zip(contenders, times, strict=True)}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
