"""All native code compiled ahead, on all cores: for images, classrooms and test machines."""

from __future__ import annotations

import os
import pkgutil
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib import import_module
from multiprocessing import get_context

from linkwork import algorithms
from linkwork.algorithms.algorithm import Algorithm
from linkwork.compile import llvm, native
from linkwork.compile.cache import folder, key


def all_algorithms() -> dict[str, Algorithm]:
    """Every algorithm that native code is made of, by name."""
    found: dict[str, Algorithm] = {}
    for module in pkgutil.iter_modules(algorithms.__path__):
        for value in vars(import_module(f"{algorithms.__name__}.{module.name}")).values():
            several = value.values() if isinstance(value, dict) else (value,)
            found |= {one.name: one for one in several if isinstance(one, Algorithm)}
    return found


def missing() -> list[str]:
    """Those that are not in the cache, the ones with the most text first."""

    def size(algorithm: Algorithm) -> int:
        return len(algorithm.work) + 20 * (algorithm.again is not None)

    left = [a for a in all_algorithms().values() if not (folder() / key("native", a.name, llvm.version())).exists()]
    return [a.name for a in sorted(left, key=size, reverse=True)]


def _compile(name: str) -> str:
    native.address(all_algorithms()[name])
    return name


def warm(processes: int | None = None) -> Iterator[tuple[int, int, str]]:
    """Compile what is missing; says after each how many are done, of how many, and which it was."""
    names = missing()
    workers = processes or len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else processes
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        jobs = [pool.submit(_compile, name) for name in names]
        for k, job in enumerate(as_completed(jobs)):
            yield k + 1, len(names), job.result()


if __name__ == "__main__":
    os.environ["LINKWORK_QUIET"] = "1"
    for done, total, name in warm():
        print(f"compiled {done} of {total}: {name}", file=sys.stderr, flush=True)
