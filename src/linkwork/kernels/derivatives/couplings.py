# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of couplings of joints: polynomials of one coordinate, and functions of several by their tapes.

A row is ``s = phi' a + phi'' v² + kd phi' v + kp phi``, a sum over terms; of a function with the matrices of its second
and third derivatives in place of phi'', phi'''. Functions go through their tape forward with values, rates and second
rates of each node (a jet), then backward for the derivatives of one output by all of them: by reverse accumulation one
sweep gives the row's derivatives by every coordinate and every velocity.

| symbol                      | meaning                                                          |
|-----------------------------|------------------------------------------------------------------|
| tape, tape_dot, tape_ddot   | value, rate and second rate of each node                         |
| tape_adjoint, ... _ddot     | derivative of the row by each of them                            |

Cost: linear in the nodes, times the outputs; of constraint forces, times the inputs.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.constrained.rows import term_derivative, term_second_derivative
from linkwork.kernels.functions import ADD, COS, DIV, MUL, NEG, SELECT, SIN, SQRT, SUB, tape_rates
from linkwork.kernels.scalar import Array, Scalar, kernel, where

JETS: dict[str, Shape] = {"tape_adjoint_dot": ("ntape",), "tape_adjoint_ddot": ("ntape",), "tape_seed": ("nv",)}


@kernel
def term_third_derivative(tree: Array, t: int, q: Array) -> Scalar:
    """Third derivative of a term by its joint's coordinate."""
    if tree.term_q[t] < 0:
        return 0.0
    c = tree.term_coefficients[t]
    x = q[tree.term_q[t]] - tree.term_origin[t]
    return 6.0 * c[2] + x * (24.0 * c[3])


@kernel
def coupling_derivatives(tree: Array, w: Array, q: Array, v: Array, a: Array, ds_dq: Array, ds_dv: Array) -> None:
    """Add the derivatives of couplings to those of rows, after `tape_forward`."""
    for t in range(tree.nterms):
        r = tree.term_row[t]
        k = tree.term_v[t]
        first = term_derivative(tree, t, q)
        second = term_second_derivative(tree, t, q)
        by_q = second * (a[k] + tree.kd[r] * v[k]) + term_third_derivative(tree, t, q) * (v[k] * v[k])
        if tree.term_q[t] >= 0:  # terms of the velocity alone have no error
            by_q = by_q + tree.kp[r] * first
        ds_dq[r, k] += by_q
        ds_dv[r, k] += 2.0 * (second * v[k]) + tree.kd[r] * first
    tape_rates(tree, w, v, a, 1)
    for e in range(tree.noutputs):
        r = tree.output_row[e]
        clear_adjoints(tree, w, e)
        seed_adjoint(tree, w, e, tree.kp[r], tree.kd[r], 1.0)
        reverse_jets(tree, w, tree.output_tape_start[e], tree.output_node[e])
        for k in range(tree.output_inputs[e]):
            at = tree.term_v[tree.output_term[e] + k]
            ds_dq[r, at] += w.tape_adjoint[tree.output_tape_start[e] + k]
            ds_dv[r, at] += w.tape_adjoint_dot[tree.output_tape_start[e] + k]


@kernel
def coupling_force_derivatives(tree: Array, w: Array, q: Array, multipliers: Array, dr_dq: Array) -> None:
    """Subtract the derivatives of the torques ``J' f`` of couplings, with ``f`` held."""
    for t in range(tree.nterms):
        k = tree.term_v[t]
        dr_dq[k, k] -= term_second_derivative(tree, t, q) * multipliers[tree.term_row[t]]
    for k in range(tree.nv):
        w.tape_seed[k] = 0.0
    for e in range(tree.noutputs):
        first = tree.output_tape_start[e]
        if e == 0 or tree.output_tape_start[e - 1] != first:
            for k in range(tree.output_inputs[e]):
                function_force_derivative(tree, w, e, k, multipliers, dr_dq)


@kernel
def function_force_derivative(tree: Array, w: Array, e: int, k: int, multipliers: Array, dr_dq: Array) -> None:
    """Column ``k`` for one function, whose first output is ``e``: half the derivative of ``f . phi'' v v`` by v."""
    first = tree.output_tape_start[e]
    at = tree.term_v[tree.output_term[e] + k]
    w.tape_seed[at] = 1.0
    tape_rates(tree, w, w.tape_seed, w.tape_seed, 0)
    w.tape_seed[at] = 0.0
    last = e
    while last + 1 < tree.noutputs and tree.output_tape_start[last + 1] == first:
        last += 1
    end = tree.output_node[e]
    for o in range(e, last + 1):
        clear_adjoints(tree, w, o)
        end = tree.output_node[o] if tree.output_node[o] > end else end
    for o in range(e, last + 1):
        seed_adjoint(tree, w, o, 0.0, 0.0, multipliers[tree.output_row[o]])
    reverse_jets(tree, w, first, end)
    for m in range(tree.output_inputs[e]):
        dr_dq[tree.term_v[tree.output_term[e] + m], at] -= 0.5 * w.tape_adjoint_dot[first + m]


@kernel
def clear_adjoints(tree: Array, w: Array, e: int) -> None:
    """Zero for all nodes up to the output ``e``, and for all inputs."""
    start = tree.output_tape_start[e]
    end = tree.output_node[e] + 1
    inputs = start + tree.output_inputs[e]
    for s in range(start, end if end > inputs else inputs):
        w.tape_adjoint[s] = 0.0
        w.tape_adjoint_dot[s] = 0.0
        w.tape_adjoint_ddot[s] = 0.0


@kernel
def seed_adjoint(tree: Array, w: Array, e: int, value: Scalar, rate: Scalar, second: Scalar) -> None:
    """Add weights of an output, its rate and its second rate."""
    s = tree.output_node[e]
    w.tape_adjoint[s] += value
    w.tape_adjoint_dot[s] += rate
    w.tape_adjoint_ddot[s] += second


@kernel
def reverse_jets(tree: Array, w: Array, start: int, last: int) -> None:
    """Adjoints of values, rates and second rates of all nodes before ``last``, by reverse accumulation."""
    for back in range(last + 1 - start):
        s = last - back
        op = tree.tape_op[s]
        a = tree.tape_left[s]
        b = tree.tape_right[s]
        x = w.tape_adjoint[s]
        d = w.tape_adjoint_dot[s]
        y = w.tape_adjoint_ddot[s]
        if op == ADD:
            add_adjoint(w, a, x, d, y)
            add_adjoint(w, b, x, d, y)
        elif op == SUB:
            add_adjoint(w, a, x, d, y)
            add_adjoint(w, b, -x, -d, -y)
        elif op == NEG:
            add_adjoint(w, a, -x, -d, -y)
        elif op == MUL:
            reverse_product(w, a, b, x, d, y)
        elif op == DIV:
            reverse_quotient(w, s, a, b, x, d, y)
        elif op == SQRT:
            inverse = 0.5 / w.tape[s]
            d = d - 4.0 * (w.tape_dot[s] * (y * inverse))
            x = x - 2.0 * (inverse * (w.tape_ddot[s] * y + w.tape_dot[s] * d))
            add_adjoint(w, a, x * inverse, d * inverse, y * inverse)
        elif op == SELECT:
            chosen = w.tape[s - 1]
            add_adjoint(w, a, where(chosen, 0.0, x, 0.0), where(chosen, 0.0, d, 0.0), where(chosen, 0.0, y, 0.0))
            add_adjoint(w, b, where(chosen, 0.0, 0.0, x), where(chosen, 0.0, 0.0, d), where(chosen, 0.0, 0.0, y))
        elif op == SIN or op == COS:
            slope = w.tape_dtrig[s]
            rate = w.tape_dot[a]
            value = w.tape[s]
            by_value = x * slope - (value * w.tape_ddot[a] + slope * (rate * rate)) * y - (value * rate) * d
            add_adjoint(w, a, by_value, slope * d - 2.0 * (value * (rate * y)), slope * y)


@kernel
def add_adjoint(w: Array, s: int, x: Scalar, d: Scalar, y: Scalar) -> None:
    """Add to the adjoints of node ``s``."""
    w.tape_adjoint[s] += x
    w.tape_adjoint_dot[s] += d
    w.tape_adjoint_ddot[s] += y


@kernel
def reverse_product(w: Array, a: int, b: int, x: Scalar, d: Scalar, y: Scalar) -> None:
    """Adjoints of ``a b``, its rate, and its second rate ``add b + 2 ad bd + a bdd``."""
    left = (w.tape[a], w.tape_dot[a], w.tape_ddot[a])
    right = (w.tape[b], w.tape_dot[b], w.tape_ddot[b])
    add_adjoint(w, a, x * right[0] + d * right[1] + y * right[2], d * right[0] + 2.0 * (y * right[1]), y * right[0])
    add_adjoint(w, b, x * left[0] + d * left[1] + y * left[2], d * left[0] + 2.0 * (y * left[1]), y * left[0])


@kernel
def reverse_quotient(w: Array, s: int, a: int, b: int, x: Scalar, d: Scalar, y: Scalar) -> None:
    """Adjoints of ``x = a / b``, its rate ``(ad - x bd) / b``, and its second rate ``(add - 2 xd bd - x bdd) / b``."""
    inverse = 1.0 / w.tape[b]
    y = y * inverse
    d = (d - 2.0 * (w.tape_dot[b] * y)) * inverse
    x = (x - w.tape_ddot[b] * y - w.tape_dot[b] * d) * inverse
    by_value = w.tape_ddot[s] * y + w.tape_dot[s] * d + w.tape[s] * x
    by_rate = 2.0 * (w.tape_dot[s] * y) + w.tape[s] * d
    add_adjoint(w, a, x, d, y)
    add_adjoint(w, b, -by_value, -by_rate, -(w.tape[s] * y))
