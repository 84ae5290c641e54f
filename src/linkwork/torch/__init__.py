# SPDX-License-Identifier: BSD-3-Clause
"""Evaluators as functions of torch tensors: autograd, `torch.func`, `torch.compile`, on the CPU and on CUDA devices.

`function` makes one of any evaluator that has derivatives; `normalize` gives quaternions unit length.

| module              | contents                                                                  |
|---------------------|---------------------------------------------------------------------------|
| `array_functions`   | evaluators as functions of arrays, with products in coordinates: no torch |
| `contact_functions` | the same of steps with contacts                                           |
| `launches`          | programs on a CUDA device, launched with addresses of tensors             |
| `device_functions`  | evaluators as functions of tensors on a CUDA device                       |
| `pipeline`          | pipelines of programs on a CUDA device                                    |
| `shared_arrays`     | NumPy arrays that share the memory of CPU tensors, made in machine code   |
| `call`              | one of `value`, `vjp`, `jvp`, `hvp` with tensors: shapes, types, devices  |
| `derivatives`       | which of these differentiates which: the rules, on tensors                |
| `autograd`          | the rules for eager mode and for `torch.func`                             |
| `operator`          | the rules for `torch.compile`: one registered operator                    |
| `functions`         | what users call                                                           |
"""

from __future__ import annotations

from linkwork.errors import LinkworkError

try:
    import torch as _torch
except ImportError as error:  # pragma: no cover - the message is what matters
    raise LinkworkError("lw.torch needs PyTorch: pip install 'linkwork[torch]'") from error

from linkwork.torch.functions import Function, function, normalize

__all__ = ["Function", "function", "normalize"]

del _torch
