# SPDX-License-Identifier: Apache-2.0
"""The fields of a card, their statistics, and samples of them as the network takes them."""

import math

import numpy as np

from .errors import ExportError, refuse_unknown_keys

_keys = {"inputs": ("name", "role", "axis", "unit", "mean", "std", "min", "max"), "outputs": ("name", "role", "unit", "mean", "std", "min", "max")}
_piece = 1 << 20  # numbers taken at a time: bounds the memory of statistics


def _check_text(value, where, longest):
    if not isinstance(value, str):
        raise ExportError(f"{where} is {value!r}, expected a text")
    if len(value.encode()) > longest or not value.isprintable():
        raise ExportError(f"{where}: at most {longest} bytes without control characters, found {value!r}")


def _role_of(field, where, *special):
    role = field.get("role", "field")
    if role not in (*special, "field"):
        expected = ", ".join(f'"{word}"' for word in special)
        raise ExportError(f"{where}.role is {role!r}, expected {expected} or \"field\"")
    return role


def _check_axis(field, where, axes):
    if _role_of(field, where, "coordinate", "cloud") != "coordinate":
        if "axis" in field:
            raise ExportError(f"{where}.axis: only inputs with \"role\": \"coordinate\" have an axis")
        return
    if field.get("axis") not in range(8) or isinstance(field["axis"], bool):
        raise ExportError(f"{where}.axis is {field.get('axis')!r}, expected 0 to 7")
    if field["axis"] in axes:
        raise ExportError(f"{where}.axis: axis {field['axis']} appears twice")
    axes.add(field["axis"])


def _check_class(field, where):
    """A class is the logit of the network, without unit and scale; mean and std may be left out."""
    if _role_of(field, where, "class") != "class":
        return
    for key, allowed in (("unit", ("", "1")), ("mean", (0,)), ("std", (1,)), ("min", ()), ("max", ())):
        if key in field and field[key] not in allowed:
            raise ExportError(f"{where}.{key}: a class has unit \"1\", mean 0, std 1 and no range, found {field[key]!r}")


def _check_numbers(field, where):
    for key in ("mean", "std", "min", "max"):
        value = field.get(key)
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if value is not None and not (is_number and math.isfinite(value)):
            raise ExportError(f"{where}.{key} is {value!r}, expected a finite number")
    if ("mean" in field) != ("std" in field):
        raise ExportError(f"{where}: give both mean and std, those of training, or neither")
    if field.get("std", 1) <= 0:
        raise ExportError(f"{where}.std is {field['std']!r}, expected a number above 0")
    if field.get("min", -math.inf) > field.get("max", math.inf):
        raise ExportError(f"{where}.min is above max")


def check_fields(fields, which, n_channel):
    """A list of fields (`which`: inputs or outputs), before statistics are added. n_channel: None if not known."""
    if not isinstance(fields, list) or not fields:
        raise ExportError(f"card: {which} is {fields!r}, expected a list of objects")
    names, axes = set(), set()
    for i, field in enumerate(fields):
        where = f"card: {which}[{i}]"
        if not isinstance(field, dict):
            raise ExportError(f"{where} is {field!r}, expected an object")
        refuse_unknown_keys(field, _keys[which], where)
        for key, longest in (("name", 200), ("unit", 64)):
            if key not in field:
                raise ExportError(f"{where}.{key} is missing")
            _check_text(field[key], f"{where}.{key}", longest)
        if not field["name"] or field["name"] in names:
            raise ExportError(f"{where}.name: '{field['name']}' is empty or appears twice")
        names.add(field["name"])
        if which == "inputs":
            _check_axis(field, where, axes)
        else:
            _check_class(field, where)
        _check_numbers(field, where)
    if len({field.get("role", "field") for field in fields}) > 1 and which == "outputs":
        raise ExportError("card: outputs: the role is \"class\" for all outputs or for none")
    if n_channel is not None and len(fields) != n_channel:
        raise ExportError(f"card: {len(fields)} {which}, but the network has {n_channel} channels")


def named_arrays(arrays, fields, channel_axis, which):
    """{name: array or list of arrays} of what the caller gave: the same, or one array of all channels."""
    if arrays is None:
        return {}
    names = [field["name"] for field in fields]
    if isinstance(arrays, dict):
        return {name: arrays[name] for name in names if name in arrays}
    stacked = np.asarray(arrays)
    if stacked.ndim < 2 or stacked.shape[channel_axis] != len(names):
        raise ExportError(
            f"{which}: one array of all channels has shape {stacked.shape}, expected {len(names)} channels on axis {channel_axis}"
        )
    return {name: np.take(stacked, i, axis=channel_axis) for i, name in enumerate(names)}


def samples_of(name, array, grid_shape, is_per_cloud=False):
    """The samples of one field. Points: axis 0 counts samples, an array of one axis is one sample, a list has samples of
    different lengths. Grids: (sample, n_lat, n_lon) or (n_lat, n_lon). is_per_cloud: (sample), one number each."""
    if is_per_cloud:
        array = np.asarray(array)
        if array.ndim > 1:
            raise ExportError(f"array '{name}' has the role \"cloud\" and the shape {array.shape}, expected one number per sample")
        return [one for sample in array.reshape(-1) for one in samples_of(name, sample[None], None)]
    if isinstance(array, (list, tuple)):
        samples = [np.asarray(one) for one in array]
    else:
        array = np.asarray(array)
        is_one = array.ndim == (2 if grid_shape else 1)
        samples = [array] if is_one else list(array) if array.ndim > 0 else []
    for sample in samples:
        if sample.dtype.kind not in "fiub":
            raise ExportError(f"array '{name}' holds {sample.dtype}, not real numbers")
        if grid_shape and sample.shape != tuple(grid_shape):
            raise ExportError(f"array '{name}' has samples of shape {sample.shape}; the network's grid is {tuple(grid_shape)}")
        if not np.isfinite(sample).all():
            raise ExportError(f"array '{name}' has values that are not finite")
    if not samples or min(sample.size for sample in samples) == 0:
        raise ExportError(f"array '{name}' is empty")
    return samples if grid_shape else [sample.reshape(-1) for sample in samples]


def statistics(samples):
    """mean, std (of N - 1), min and max over all samples and points, summed in double precision."""
    flat = [sample.reshape(-1) for sample in samples]
    pieces = [one[i : i + _piece] for one in flat for i in range(0, one.size, _piece)]
    n = sum(piece.size for piece in pieces)
    mean = math.fsum(float(piece.sum(dtype=np.float64)) for piece in pieces) / n
    squares = math.fsum(float(np.square(piece.astype(np.float64) - mean).sum()) for piece in pieces)
    return {
        "mean": mean,
        "std": math.sqrt(squares / (n - 1)) if n > 1 else 0.0,
        "min": float(min(piece.min() for piece in pieces)),
        "max": float(max(piece.max() for piece in pieces)),
    }


def complete(field, samples, which):
    """The field with the statistics it lacks, and a word if those given are not those of the array."""
    if field.get("role") == "class":
        return {**field, "mean": 0.0, "std": 1.0}, None
    if samples is None:
        if "mean" not in field:
            raise ExportError(f"card: {which} '{field['name']}' has no mean and std, and there is no array of that name")
        return field, None
    found = statistics(samples)
    if "mean" not in field and found["std"] == 0:
        raise ExportError(
            f"array '{field['name']}' is {found['mean']} everywhere: no std can be computed; give mean and std in the card"
        )
    full = {**field, **{key: value for key, value in found.items() if key not in field}}
    is_near = abs(full["mean"] - found["mean"]) <= 0.05 * found["std"] and abs(full["std"] - found["std"]) <= 0.05 * found["std"]
    if is_near:
        return full, None
    return full, (
        f"'{field['name']}': the card says mean {full['mean']:.6g}, std {full['std']:.6g}, the array has {found['mean']:.6g}, "
        f"{found['std']:.6g}; right only if the network was trained with the numbers of the card"
    )


def common_samples(by_name):
    """The fields' samples side by side: one list of samples a field; a field of one sample belongs to all, one number to all
    points."""
    counts = {name: len(samples) for name, samples in by_name.items() if len(samples) > 1}
    if len(set(counts.values())) > 1:
        raise ExportError(f"arrays have different numbers of samples: {counts}")
    n = max(counts.values(), default=1)
    full = {name: list(samples) if len(samples) == n else samples * n for name, samples in by_name.items()}
    for i in range(n):
        shapes = {name: samples[i].shape for name, samples in full.items()}
        whole = {shape for shape in shapes.values() if shape != (1,)}
        if len(whole) > 1:
            raise ExportError(f"sample {i}: arrays have different shapes: {shapes}")
        for name, samples in full.items() if whole else ():
            samples[i] = np.broadcast_to(samples[i], next(iter(whole)))
    return full


def network_values(fields, samples, index):
    """(value - mean) / std of all channels of one sample, in double: list of arrays in the order of the fields."""
    return [(samples[f["name"]][index].astype(np.float64) - f["mean"]) / f["std"] for f in fields]
