# SPDX-License-Identifier: Apache-2.0
"""torch_package: from any module of PyTorch to a model file and a package of machine code beside it."""

import copy
import os
import tempfile

import numpy as np

from . import check_case, export, model_file
from .errors import ExportError, refuse_unknown_keys

_card_keys = ("inputs", "outputs", "pooled", "provenance")
_bounds = {"float32": 1e-4, "float64": 1e-10}  # between the module and its package, or rows and fewer rows


def _run(module, x):
    import torch

    with torch.no_grad():
        y = module(x)
    if not isinstance(y, torch.Tensor):
        raise ExportError(f"the module returns {type(y).__name__}, expected one tensor; wrap it in a module that returns one")
    return y


def _distance(found, truth):
    return check_case.distance(found.double().numpy(), truth.double().numpy())


def _require_rows(x, y, batch_axis):
    shape = f"[{'1, ' if batch_axis else ''}points, channels]"
    for what, tensor in (("example", x), ("output of the module", y)):
        if tensor.ndim != (3 if batch_axis else 2) or (batch_axis and tensor.shape[0] != 1) or tensor.shape[-1] < 1:
            raise ExportError(f"the {what} has the shape {tuple(tensor.shape)}, expected {shape} (batch_axis={batch_axis})")
    if y.shape[-2] != x.shape[-2]:
        raise ExportError(f"the module maps {x.shape[-2]} rows to {y.shape[-2]} rows, expected one row per point")
    if y.dtype != x.dtype:
        raise ExportError(f"the module maps {x.dtype} to {y.dtype}, expected the same type")


def _require_independent_rows(module, x, y, bound):
    """Rows alone must give what they give among the others: this finds a network that is not per point."""
    n = x.shape[-2]
    half = _run(module, x[..., : max(n // 2, 1), :])
    difference = _distance(half, y[..., : half.shape[-2], :])
    if not difference <= bound:
        raise ExportError(
            f"per is 'point', and half of the points alone give an output that differs by {difference:.3g}: rows depend on "
            "other rows; give per='cloud'"
        )


def _compile(module, x, path, axis, min_points, max_points):
    """Exports with a dynamic number of points, and without a fixed number of threads."""
    import torch

    shapes = None
    if min_points != max_points:
        shapes = ({axis: torch.export.Dim("n_point", min=min_points, max=max_points)},)
    try:
        program = torch.export.export(module, (x,), dynamic_shapes=shapes)
        return torch._inductor.aoti_compile_and_package(
            program, package_path=path, inductor_configs={"cpp.dynamic_threads": True}
        )
    except Exception as error:  # of many classes, none of them public
        text = " ".join(str(error).split())[:1500]
        raise ExportError(f"PyTorch cannot export the module: {type(error).__name__}: {text}") from error


def torch_package(
    path,
    model,
    example=None,
    *,
    per,
    card=None,
    inputs=None,
    outputs=None,
    point_weights=None,
    batch_axis=False,
    min_points=2,
    max_points=None,
    check_sample=0,
    check_points=2048,
    overwrite=False,
    say=print,
):
    """Exports a torch.nn.Module as machine code (AOTInductor) for the family torch, and returns the card. Writes two files: the
    model file `path` and beside it the package, with the ending .pt2; keep them in one folder. Takes minutes, needs a C++
    compiler, and the package runs on processors like this one. share/doc/reference/families/torch.md describes the family.

    model         maps one tensor [points, in_dim] of normalized inputs to one tensor [points, out_dim] of normalized outputs,
                  in float32 or float64. A module with several arguments is wrapped in one that splits the channels
    example       tensor to export with, also the check case; by default it is made of `inputs`
    per           "point": each row depends on its own input row; points may be anywhere. "cloud": rows depend on all rows of
                  their cloud, and each cloud must be on one rank
    card          dict with inputs and outputs as in share/doc/reference/model-file.md, provenance; None: a bare network
    inputs,       as in export_model: arrays in the units of the card, for statistics and the check case
    outputs, point_weights, check_sample, check_points
    batch_axis    the module takes and returns [1, points, channels]
    min_points,   numbers of points the module is exported for; the same number twice exports it for this number alone
    max_points
    say           receives notes and warnings, line by line

    Raises ExportError, with nothing written, for whatever does not fit.
    """
    import torch

    try:
        import xxhash
    except ImportError:
        raise ExportError("the checksum of the package needs xxhash: pip install xxhash") from None
    package = os.path.splitext(path)[0] + ".pt2"
    for file in (path, package):
        model_file.require_writable(file, overwrite)
    if per not in ("point", "cloud"):
        raise ExportError(f"per is {per!r}, expected 'point' or 'cloud'")
    card = {"format": 1, "family": "torch", "network": {}, "provenance": {}} | copy.deepcopy(card or {})
    refuse_unknown_keys([key for key in card if key not in ("format", "family", "network")], _card_keys, "card")
    data = export.FieldArrays(card, None, inputs, outputs, say) if "inputs" in card else None
    if data is not None:
        data.add_pooled(card, point_weights, say)
    if example is None:
        if data is None:
            raise ExportError("give example, a tensor as the module takes it, or a card with inputs and their arrays")
        x, _ = export.make_check_input(card, data, check_sample, check_points)
        example = torch.from_numpy(x if batch_axis else x[0])
        kind = next((one.dtype for one in model.parameters() if one.is_floating_point()), torch.float32)
        example = example.to(kind)
    dtype = str(example.dtype).removeprefix("torch.")
    if dtype not in _bounds:
        raise ExportError(f"the example holds {dtype}, expected float32 or float64")
    x = example.detach().cpu().float().to(example.dtype).contiguous()  # the check case stores single precision
    module = copy.deepcopy(model).cpu().eval()
    y = _run(module, x)
    _require_rows(x, y, batch_axis)
    n = x.shape[-2]
    if not min_points <= n <= (max_points or n):
        raise ExportError(f"the example has {n} points, expected from min_points = {min_points} to max_points = {max_points}")
    if per == "point" and n > 1 and min_points != max_points:
        _require_independent_rows(module, x, y, _bounds[dtype])
    tensors = {"check/input/x": x.float().numpy(), "check/output/y": y.float().numpy()}
    try:
        tensors["check/output64/y"] = _run(copy.deepcopy(module).double(), x.double()).numpy()
    except RuntimeError as error:
        say(f"warning: the module does not run in double precision ({str(error).splitlines()[0][:200]})")
    if not all(np.isfinite(one).all() for one in tensors.values()):
        raise ExportError("the check input or the output of the module is not finite")
    network = {"package": os.path.basename(package), "per": per, "in_dim": x.shape[-1], "out_dim": y.shape[-1]}
    network |= {"dtype": dtype, "batch_axis": batch_axis, "min_points": min_points}
    if max_points is not None:
        network["max_points"] = max_points
    for which, width in (("inputs", x.shape[-1]), ("outputs", y.shape[-1])):
        if data is not None and len(card[which]) != width:
            raise ExportError(f"card: {len(card[which])} {which}, but the module has {width} channels")
    with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(path))) as folder:
        compiled = _compile(module, x, os.path.join(folder, os.path.basename(package)), x.ndim - 2, min_points, max_points)
        difference = _distance(_run(torch._inductor.aoti_load_package(compiled), x), y)
        if not difference <= _bounds[dtype]:
            raise ExportError(f"the package computes something else than the module, by {difference:.3g}")
        with open(compiled, "rb") as file:
            network["package_checksum"] = xxhash.xxh3_64_hexdigest(file.read())
        card["network"] = network
        export.add_provenance(card, data, None)
        tensors = {name: torch.from_numpy(np.ascontiguousarray(one)) for name, one in tensors.items()}
        card["checksums"] = model_file.checksums_of(tensors)
        os.replace(compiled, package)
    note = {"note": "computed by PyTorch on the CPU at export"}
    model_file.write(path, tensors, model_file.metadata_of(card, note), overwrite)
    say(f"wrote {path} and {package}; the package differs from the module by {difference:.2g}")
    return card
