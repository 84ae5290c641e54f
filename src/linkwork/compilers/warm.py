# SPDX-License-Identifier: BSD-3-Clause
"""All native code compiled ahead, on all cores: for images, classrooms and test machines."""

from __future__ import annotations

import os
import pkgutil
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib import import_module
from multiprocessing import get_context
from typing import NamedTuple

from linkwork import kernels as algorithms
from linkwork.compilers import native
from linkwork.compilers.backends import best_lanes
from linkwork.compilers.cache import folder
from linkwork.compilers.lanes import Type
from linkwork.kernels.algorithm import Algorithm


class Job(NamedTuple):
    """One piece of native code."""

    algorithm: str
    lanes: int
    dtype: str = "float64"

    def __str__(self) -> str:
        return self.algorithm if self.lanes == 1 else f"{self.algorithm}, {self.lanes} lanes"


def all_algorithms() -> dict[str, Algorithm]:
    """Every algorithm that native code is made of, by name."""
    result: dict[str, Algorithm] = {}
    for module in pkgutil.walk_packages(algorithms.__path__, f"{algorithms.__name__}."):
        for value in vars(import_module(module.name)).values():
            several = value.values() if isinstance(value, dict) else (value,)
            result |= {one.name: one for one in several if isinstance(one, Algorithm)}
    return result


def missing(lanes: bool = True) -> list[Job]:
    """The pieces that the cache lacks, those with the most text first: code for single states, and for batches."""

    def size(algorithm: Algorithm) -> int:
        return len(algorithm.work) + 20 * (algorithm.iterate is not None)

    wanted = [1, best_lanes("float64")] if lanes else [1]
    run = (one for one in all_algorithms().values() if not one.traced)
    ordered = sorted(run, key=size, reverse=True)
    jobs = [(a, Job(a.name, k)) for a in ordered for k in wanted]
    return [job for a, job in jobs if not (folder() / native.cache_name(a, job.dtype, job.lanes)).exists()]


def _compile(job: Job) -> Job:
    native.code(all_algorithms()[job.algorithm], Type(job.dtype, job.lanes))
    return job


def warm(processes: int | None = None, lanes: bool = True) -> Iterator[tuple[int, int, str]]:
    """Compile missing code; yields after each piece the number done, the number of all, and its name.

    Without ``lanes``, code for single states alone.
    """
    jobs = missing(lanes)
    if not jobs:
        return
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    with ProcessPoolExecutor(processes or cores, mp_context=get_context("spawn")) as pool:
        pending = [pool.submit(_compile, job) for job in jobs]
        for k, done in enumerate(as_completed(pending)):
            yield k + 1, len(jobs), str(done.result())


if __name__ == "__main__":
    os.environ["LINKWORK_QUIET"] = "1"
    for done, total, name in warm():
        print(f"compiled {done} of {total}: {name}", file=sys.stderr, flush=True)
