# SPDX-License-Identifier: BSD-3-Clause
"""Steps in WebAssembly beside native ones: a measurement, and the page that is made of the result file."""

from __future__ import annotations

from linkwork import zoo
from linkwork_benchmarks import report, wasm
from tests.support.node import needs_node


@needs_node
def test_a_mechanism_is_measured() -> None:
    found = wasm.measured("pendulum", zoo.pendulum(2), None)
    assert found["node"] > 0 and found["chromium"] is None
    assert found["one"] < 1e-15 and found["bytes"] < 10_000
    assert wasm.row(found).count("|") == wasm.HEAD.count("|")


def test_the_page_is_that_of_the_results() -> None:
    results = report.read(wasm.RESULTS)
    assert wasm.PAGE.read_text(encoding="utf-8") == wasm.page(results)
    assert max(x["one"] for x in results["rows"]) < 1e-7
    cassie = next(x for x in results["rows"] if x["name"] == "cassie/cassie_nomesh.xml")
    assert cassie["bytes"] < 250_000 and cassie["made"] < 1 and cassie["node"] < 15 and cassie["chromium"] < 15
