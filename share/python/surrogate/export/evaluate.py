# SPDX-License-Identifier: Apache-2.0
"""Running a module: as its owner has it, and anew from hyperparameters, in single and in double precision."""

import contextlib
import copy
import sys

from . import families
from .errors import ExportError


@contextlib.contextmanager
def plain_kernels():
    """Modules of torch-harmonics built inside use its kernels in Python: the compiled ones take single precision only."""
    name = "optimized_kernels_is_available"
    users = [m for key, m in sys.modules.items() if key.startswith("torch_harmonics") and hasattr(m, name)]
    before = [getattr(module, name) for module in users]
    try:
        for module in users:
            setattr(module, name, lambda: False)
        yield
    finally:
        for module, function in zip(users, before):
            setattr(module, name, function)


def _in_double():
    """Inside, code that asks for single precision by name gets double: the kernels of torch-harmonics do."""
    import torch
    from torch.overrides import TorchFunctionMode

    def wide(value):
        return torch.float64 if value is torch.float32 else value

    class InDouble(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            func = torch.Tensor.double if func is torch.Tensor.float else func
            return func(*map(wide, args), **{key: wide(value) for key, value in (kwargs or {}).items()})

    return InDouble()


def _load(module, state):
    try:
        module.load_state_dict(state, strict=True)
    except RuntimeError as error:
        raise ExportError(f"the weights do not fit the module: {' '.join(str(error).split())[:600]}") from None


def _tensors(x, device, dtype):
    """An array, or several by name, as tensors; integers stay what they are."""
    import torch

    if isinstance(x, dict):
        return {name: _tensors(one, device, dtype) for name, one in x.items()}
    tensor = torch.from_numpy(x).to(device)
    return tensor.to(dtype) if tensor.is_floating_point() else tensor


def _output(module, x, forward):
    import torch

    with torch.no_grad():
        y = forward(module, x) if forward else module(x)
    if not torch.is_tensor(y):
        what = "forward" if forward else "the module"
        raise ExportError(f"{what} returns a {type(y).__name__}; those of the official classes return one tensor")
    return y.detach().to("cpu")


def run_in_place(module, state, x, forward=None):
    """What the owner's module computes with these weights, where and in the type it is; left as it was. Also how far from
    single precision on this machine that may be."""
    import torch

    first = next(module.parameters())
    before = {name: tensor.detach().clone() for name, tensor in module.state_dict().items()}
    modes = [(part, part.training) for part in module.modules()]
    try:
        _load(module, state)
        module.eval()
        y = _output(module, _tensors(x, first.device, first.dtype), forward).double().numpy()
    finally:
        module.load_state_dict(before, strict=False)
        for part, mode in modes:
            part.training = mode
    if first.dtype in (torch.float16, torch.bfloat16):
        return y, 0.1
    return y, 1e-4 if first.device.type == "cpu" else 5e-3  # devices may round to TF32


def instances(module, network):
    """Two fresh modules, for single and double precision, and a word if they are copies. network None: not one of ours."""
    word = None
    if network is not None:
        arguments = families.arguments_of(network)
        try:
            single = type(module)(**arguments)
            with plain_kernels():
                return single, type(module)(**arguments), None
        except TypeError as error:
            word = f"the card's hyperparameters are not verified: {type(module).__name__} cannot be built with them ({error})"
        except (AssertionError, ValueError) as error:
            raise ExportError(f"{type(module).__name__} cannot be built with the card's network: {error}") from None
    try:
        return copy.deepcopy(module), copy.deepcopy(module), word
    except Exception as error:  # modules may hold anything
        raise ExportError(f"{word or 'the module is not of a known class'}, and it cannot be copied ({error})") from None


def run(module, state, x, is_double, forward=None):
    """The output on the CPU in one precision; RuntimeError where its kernels do not have it."""
    import torch

    dtype = torch.float64 if is_double else torch.float32
    module = module.to("cpu").to(dtype)
    _load(module, state)
    with _in_double() if is_double else contextlib.nullcontext():
        return _output(module.eval(), _tensors(x, "cpu", dtype), forward).numpy()
