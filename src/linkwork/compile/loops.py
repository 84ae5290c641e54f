"""The loop around straight-line code, as LLVM IR: over the states of a batch, one or as many as lanes at a time.

It finds the rows of each array, has the sines and cosines of all angles computed before the straight line starts, and
with lanes transposes rows into vectors and results back.
"""

from __future__ import annotations

from linkwork.compile.lanes import Type
from linkwork.compile.trace import Trace

SINCOS_WIDTH = 4
"""Angles that a scalar kernel takes at once."""


def is_zero(trace: Trace, k: int, j: int) -> bool:
    """Whether number ``j`` of output ``k`` is zero in every state."""
    return trace.graph.value(trace.outputs[k][1][j].i) == 0.0


def mostly_zero(trace: Trace) -> set[int]:
    """Outputs with so many zeros, as in mass matrices and Jacobians, that they are cleared as a whole beforehand."""
    counts = {k: sum(is_zero(trace, k, j) for j in range(len(s))) for k, (_, s) in enumerate(trace.outputs)}
    return {k for k, zeros in counts.items() if zeros > 16}


def _header(trace: Trace, t: Type, name: str, angle_numbers: int) -> list[str]:
    """The opening of a kernel: base pointers and row distances of all arrays."""
    lines = [
        f"define i32 @{name}(ptr %unused0, ptr %unused1, i64 %arrays, i64 %strides, i64 %count, i64 %context) {{",
        "entry:",
        f"  %angles = alloca [{max(angle_numbers, 1)} x {t.scalar}], align 64",
        f"  %carry = alloca [{max(len(trace.carry), 1) * t.lanes} x {t.scalar}], align 64",
        "  %parrays = inttoptr i64 %arrays to ptr",
        "  %pstrides = inttoptr i64 %strides to ptr",
    ]
    for k in range(len(trace.inputs) + len(trace.outputs)):
        lines += [
            f"  %q{k} = getelementptr ptr, ptr %parrays, i64 {k}",
            f"  %b{k} = load ptr, ptr %q{k}",
            f"  %t{k} = getelementptr i64, ptr %pstrides, i64 {k}",
            f"  %s{k} = load i64, ptr %t{k}",
        ]
    return lines


def _clear(t: Type, pointer: str, size: int) -> str:
    """Zeros into ``size`` numbers of every lane."""
    return f"  call void @llvm.memset.p0.i64(ptr {pointer}, i8 0, i64 {size * t.lanes * t.bytes}, i1 false)"


def scalar_loop(trace: Trace, t: Type, name: str, angles: list[tuple[int, int]]) -> str:
    """One state after another; the angles of a state go through the vector sincos together."""
    arrays = len(trace.inputs) + len(trace.outputs)
    groups = -(-len(angles) // SINCOS_WIDTH)
    lines = _header(trace, t, name, 2 * groups * SINCOS_WIDTH)
    lines += [f"  %few = alloca [{max(groups, 1) * SINCOS_WIDTH} x {t.scalar}], align 32"]
    for place in range(len(angles), groups * SINCOS_WIDTH):
        lines += [
            f"  %pad{place} = getelementptr {t.scalar}, ptr %few, i64 {place}",
            f"  store {t.scalar} 0.0, ptr %pad{place}",
        ]
    lines += [
        "  %any = icmp sgt i64 %count, 0",
        "  br i1 %any, label %state, label %end",
        "state:",
        f"  %i = phi i64 [ 0, %entry ], [ %j, {'%state' if trace.again is None else '%converged'} ]",
    ]
    for k in range(arrays):
        lines += [f"  %m{k} = mul i64 %i, %s{k}", f"  %r{k} = getelementptr {t.scalar}, ptr %b{k}, i64 %m{k}"]
    for place, (array, index) in enumerate(angles):
        lines += [
            f"  %f{place} = getelementptr {t.scalar}, ptr %r{array}, i64 {index}",
            f"  %x{place} = load {t.scalar}, ptr %f{place}",
            f"  %w{place} = getelementptr {t.scalar}, ptr %few, i64 {place}",
            f"  store {t.scalar} %x{place}, ptr %w{place}",
        ]
    for group in range(groups):
        lines += [
            f"  %g{group} = getelementptr {t.scalar}, ptr %few, i64 {group * SINCOS_WIDTH}",
            f"  %h{group} = getelementptr {t.scalar}, ptr %angles, i64 {2 * group * SINCOS_WIDTH}",
            f"  call void @linkwork_sincos(ptr %g{group}, ptr %h{group})",
        ]
    for k in sorted(mostly_zero(trace)):
        lines.append(_clear(t, f"%r{len(trace.inputs) + k}", len(trace.outputs[k][1])))
    rows = ", ".join(f"ptr %r{k}" for k in range(arrays))
    lines += [f"  call void @body({rows}, ptr %carry, ptr %angles)", *_iterations(trace, t, rows, "state", "%r")]
    lines += [
        "  %j = add i64 %i, 1",
        "  %more = icmp slt i64 %j, %count",
        "  br i1 %more, label %state, label %end",
        "end:",
        "  ret i32 0",
        "}",
    ]
    return "\n".join(lines)


def lane_loop(trace: Trace, t: Type, name: str, angles: list[tuple[int, int]]) -> str:
    """As many states at a time as there are lanes: rows are gathered into lanes, results scattered back.

    Lanes beyond the end of the batch repeat its last state and are not written.
    """
    lanes = t.lanes
    sizes = [size for _, size in trace.inputs] + [len(symbols) for _, symbols in trace.outputs]
    lines = _header(trace, t, name, 2 * len(angles) * lanes)
    lines += [f"  %a{k} = alloca [{max(size, 1) * lanes} x {t.scalar}], align 64" for k, size in enumerate(sizes)]
    for k in sorted(mostly_zero(trace)):
        lines.append(_clear(t, f"%a{len(trace.inputs) + k}", len(trace.outputs[k][1])))
    lines += [
        "  %last = sub i64 %count, 1",
        "  %any = icmp sgt i64 %count, 0",
        "  br i1 %any, label %block, label %end",
        "block:",
        "  %i = phi i64 [ 0, %entry ], [ %next, %scattered ]",
    ]
    for lane in range(lanes):
        lines += [
            f"  %lane{lane} = add i64 %i, {lane}",
            f"  %in{lane} = icmp slt i64 %lane{lane}, %last",
            f"  %row{lane} = select i1 %in{lane}, i64 %lane{lane}, i64 %last",
        ]
    previous = "block"
    for k, size in enumerate(sizes[: len(trace.inputs)]):
        if size:
            lines += _gather(t, k, size, previous)
            previous = f"gathered{k}"
    for place, (array, index) in enumerate(angles):
        lines += [
            f"  %f{place} = getelementptr {t.name}, ptr %a{array}, i64 {index}",
            f"  %h{place} = getelementptr {t.name}, ptr %angles, i64 {2 * place}",
            f"  call void @linkwork_sincos(ptr %f{place}, ptr %h{place})",
        ]
    rows = ", ".join(f"ptr %a{k}" for k in range(len(sizes)))
    lines += [f"  call void @body({rows}, ptr %carry, ptr %angles)", *_iterations(trace, t, rows, previous, "%a")]
    lines += ["  %left = sub i64 %count, %i"]
    for k in range(len(trace.inputs), len(sizes)):
        if sizes[k]:
            lines += _scatter(t, k, sizes[k])
    lines += [
        "  br label %scattered",
        "scattered:",
        f"  %next = add i64 %i, {lanes}",
        "  %more = icmp slt i64 %next, %count",
        "  br i1 %more, label %block, label %end",
        "end:",
        "  ret i32 0",
        "}",
    ]
    return "\n".join(lines)


def _iterations(trace: Trace, t: Type, rows: str, block: str, array: str) -> list[str]:
    """The second text, as often as some state needs it, after the block of that name."""
    if trace.again is None:
        return []
    settings, progress = f"{array}{len(trace.inputs) - 1}", f"{array}{len(trace.inputs) + len(trace.outputs) - 1}"
    mask = "i1" if t.lanes == 1 else f"<{t.lanes} x i1>"
    some = "  %wanted = or i1 %open, false"
    if t.lanes > 1:
        some = f"  %opens = bitcast {mask} %open to i{t.lanes}\n  %wanted = icmp ne i{t.lanes} %opens, 0"
    return [
        f"  %pmost = getelementptr {t.scalar}, ptr {settings}, i64 {t.lanes}",
        f"  %most = load {t.scalar}, ptr %pmost",
        f"  %tolerance = load {t.name}, ptr {settings}, align {t.bytes}",
        "  br label %check",
        "check:",
        f"  %rounds = phi i64 [ 1, %{block} ], [ %round, %repeat ]",
        f"  %error = load {t.name}, ptr {progress}, align {t.bytes}",
        f"  %open = fcmp ogt {t.name} %error, %tolerance",
        some,
        f"  %done = sitofp i64 %rounds to {t.scalar}",
        f"  %allowed = fcmp olt {t.scalar} %done, %most",
        "  %go = and i1 %wanted, %allowed",
        "  br i1 %go, label %repeat, label %converged",
        "repeat:",
        f"  call void @again({rows}, ptr %carry, ptr %angles)",
        "  %round = add i64 %rounds, 1",
        "  br label %check",
        "converged:",
    ]


def _transposed(t: Type, prefix: str, rows: list[str]) -> tuple[list[str], list[str]]:
    """Instructions that turn one vector per row into one vector per column, and the columns' names.

    Each stage exchanges one bit of the row number with the same bit of the column number.
    """
    lines, lanes, step = list[str](), t.lanes, 1
    while step < lanes:
        low = [j + lanes - step if j & step else j for j in range(lanes)]
        high = [j + lanes if j & step else j + step for j in range(lanes)]
        fresh = list(rows)
        for i in range(lanes):
            if not i & step:
                for name, mask, place in (("l", low, i), ("h", high, i + step)):
                    picks = ", ".join(f"i32 {k}" for k in mask)
                    fresh[place] = f"%{prefix}.{name}{step}.{i}"
                    lines.append(
                        f"  {fresh[place]} = shufflevector {t.name} {rows[i]}, {t.name} {rows[i + step]}, "
                        f"<{lanes} x i32> <{picks}>"
                    )
        rows, step = fresh, 2 * step
    return lines, rows


def _gather(t: Type, k: int, size: int, previous: str) -> list[str]:
    """Array ``k`` of each state into lanes: square blocks are transposed, what is left goes number by number."""
    lines, lanes = list[str](), t.lanes
    for lane in range(lanes):
        lines += [
            f"  %gm{k}.{lane} = mul i64 %row{lane}, %s{k}",
            f"  %gr{k}.{lane} = getelementptr {t.scalar}, ptr %b{k}, i64 %gm{k}.{lane}",
        ]
    whole = size - size % lanes
    if whole:
        lines += [
            f"  br label %gblock{k}",
            f"gblock{k}:",
            f"  %gi{k} = phi i64 [ 0, %{previous} ], [ %gin{k}, %gblock{k} ]",
        ]
        for lane in range(lanes):
            lines += [
                f"  %gq{k}.{lane} = getelementptr {t.scalar}, ptr %gr{k}.{lane}, i64 %gi{k}",
                f"  %gl{k}.{lane} = load {t.name}, ptr %gq{k}.{lane}, align {t.bytes}",
            ]
        turned, columns = _transposed(t, f"gt{k}", [f"%gl{k}.{lane}" for lane in range(lanes)])
        lines += [*turned, f"  %gto{k} = getelementptr {t.name}, ptr %a{k}, i64 %gi{k}"]
        for j, column in enumerate(columns):
            lines += [
                f"  %gs{k}.{j} = getelementptr {t.name}, ptr %gto{k}, i64 {j}",
                f"  store {t.name} {column}, ptr %gs{k}.{j}",
            ]
        lines += [
            f"  %gin{k} = add i64 %gi{k}, {lanes}",
            f"  %gc{k} = icmp slt i64 %gin{k}, {whole}",
            f"  br i1 %gc{k}, label %gblock{k}, label %gtail{k}",
            f"gtail{k}:",
        ]
    for j in range(whole, size):
        packed = "poison"
        for lane in range(lanes):
            name = f"{k}.{j}.{lane}"
            lines += [
                f"  %gp{name} = getelementptr {t.scalar}, ptr %gr{k}.{lane}, i64 {j}",
                f"  %gx{name} = load {t.scalar}, ptr %gp{name}",
                f"  %gv{name} = insertelement {t.name} {packed}, {t.scalar} %gx{name}, i32 {lane}",
            ]
            packed = f"%gv{name}"
        lines += [
            f"  %gd{k}.{j} = getelementptr {t.name}, ptr %a{k}, i64 {j}",
            f"  store {t.name} {packed}, ptr %gd{k}.{j}",
        ]
    return [*lines, f"  br label %gathered{k}", f"gathered{k}:"]


def _scatter(t: Type, k: int, size: int) -> list[str]:
    """Lanes of output ``k`` into rows: transposed if every lane is a state, else only the lanes that are."""
    lanes, whole = t.lanes, size - size % t.lanes
    lines = list[str]()
    for lane in range(lanes):
        lines += [
            f"  %sm{k}.{lane} = mul i64 %row{lane}, %s{k}",
            f"  %sr{k}.{lane} = getelementptr {t.scalar}, ptr %b{k}, i64 %sm{k}.{lane}",
        ]
    lines += [
        f"  %sfull{k} = icmp sge i64 %left, {lanes}",
        f"  br i1 %sfull{k}, label %sall{k}, label %slane{k}.0",
        f"sall{k}:",
    ]
    if whole:
        lines += [
            f"  br label %sblock{k}",
            f"sblock{k}:",
            f"  %si{k} = phi i64 [ 0, %sall{k} ], [ %sin{k}, %sblock{k} ]",
        ]
        lines += [f"  %sfrom{k} = getelementptr {t.name}, ptr %a{k}, i64 %si{k}"]
        for j in range(lanes):
            lines += [
                f"  %sc{k}.{j} = getelementptr {t.name}, ptr %sfrom{k}, i64 {j}",
                f"  %sl{k}.{j} = load {t.name}, ptr %sc{k}.{j}",
            ]
        turned, rows = _transposed(t, f"st{k}", [f"%sl{k}.{j}" for j in range(lanes)])
        lines += turned
        for lane, row in enumerate(rows):
            lines += [
                f"  %sp{k}.{lane} = getelementptr {t.scalar}, ptr %sr{k}.{lane}, i64 %si{k}",
                f"  store {t.name} {row}, ptr %sp{k}.{lane}, align {t.bytes}",
            ]
        lines += [
            f"  %sin{k} = add i64 %si{k}, {lanes}",
            f"  %sg{k} = icmp slt i64 %sin{k}, {whole}",
            f"  br i1 %sg{k}, label %sblock{k}, label %stail{k}",
            f"stail{k}:",
        ]
    for j in range(whole, size):
        for lane in range(lanes):
            lines += _copied(t, k, f"{k}.{j}.{lane}", lane, str(j))
    lines += [f"  br label %scattered{k}"]
    for lane in range(lanes):
        after = f"slane{k}.{lane + 1}" if lane < lanes - 1 else f"scattered{k}"
        lines += [
            f"slane{k}.{lane}:",
            f"  %sv{k}.{lane} = icmp sgt i64 %left, {lane}",
            f"  br i1 %sv{k}.{lane}, label %swrite{k}.{lane}, label %scattered{k}",
            f"swrite{k}.{lane}:",
            f"  %sj{k}.{lane} = phi i64 [ 0, %slane{k}.{lane} ], [ %sn{k}.{lane}, %swrite{k}.{lane} ]",
            *_copied(t, k, f"{k}.w.{lane}", lane, f"%sj{k}.{lane}"),
            f"  %sn{k}.{lane} = add i64 %sj{k}.{lane}, 1",
            f"  %se{k}.{lane} = icmp slt i64 %sn{k}.{lane}, {size}",
            f"  br i1 %se{k}.{lane}, label %swrite{k}.{lane}, label %{after}",
        ]
    return [*lines, f"scattered{k}:"]


def _copied(t: Type, k: int, name: str, lane: int, j: str) -> list[str]:
    """One number of output ``k`` from a lane into its row."""
    return [
        f"  %sa{name} = getelementptr {t.name}, ptr %a{k}, i64 {j}",
        f"  %sb{name} = getelementptr {t.scalar}, ptr %sa{name}, i64 {lane}",
        f"  %sx{name} = load {t.scalar}, ptr %sb{name}",
        f"  %sd{name} = getelementptr {t.scalar}, ptr %sr{k}.{lane}, i64 {j}",
        f"  store {t.scalar} %sx{name}, ptr %sd{name}",
    ]
