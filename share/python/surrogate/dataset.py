# SPDX-License-Identifier: Apache-2.0
"""Data sets for training, written and read by h5py (page reference/dataset-format.md).

    surrogate.dataset.write(
        "train.h5",
        {"mobility": (mobility, "m^2/(Pa s)"), "pressure": (pressure, "Pa")},
        {"x": (x, "m"), "y": (y, "m")},
    )

with fields [n_sample, n_point] and coordinates [n_point]. `surrogate train` reads the file. On
several ranks one rank writes all samples.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy

from ._errors import BadFile, InvalidArgument, NotFinite, ShapeError

try:
    import h5py
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "surrogate.dataset needs h5py (Debian: python3-h5py)", name=error.name
    ) from None

_cf_axes = ("X", "Y", "Z", "4", "5", "6", "7", "8")


class Variable(NamedTuple):
    """A variable of a data set: axes are the names of its axes, unit is "" if it has none."""

    values: numpy.ndarray
    unit: str
    axes: tuple[str, ...]


def _split(name: str, variable: Any) -> tuple[numpy.ndarray, str | None]:
    values, unit = variable if isinstance(variable, tuple) else (variable, None)
    values = numpy.asarray(values)
    if values.dtype.kind in "iub":
        values = values.astype("int64")
    elif values.dtype.name not in ("float32", "float64"):
        raise TypeError(f"'{name}' is {values.dtype.name}, expected float32, float64 or integers")
    if values.dtype.kind == "f" and not numpy.isfinite(values).all():
        place = tuple(int(i) for i in numpy.argwhere(~numpy.isfinite(values))[0])
        raise NotFinite(f"'{name}' has {values[place]} at {place}, expected finite numbers")
    return values, unit


def write(
    path: str | os.PathLike,
    fields: Mapping[str, Any],
    coordinates: Mapping[str, Any],
    *,
    axes: tuple[str, ...] | None = None,
    numbers: Mapping[str, Any] | None = None,
    weight: Any = None,
    time: Any = None,
    grid: str | None = None,
    overwrite: bool = False,
    **attributes: str,
) -> None:
    """Writes a data set. Each variable is an array, or a pair (array, unit).

    fields: [n_sample, n_point], or [n_sample, *shape] with the points of a structured grid; with
    `time` [n_sample, n_time, ..]. Integers are labels or tokens.
    coordinates: in the order of the axes X, Y, ..: [n_point], [n_sample, n_point], or for a
    structured grid the axes themselves, by their names: {"x": [n_x], "y": [n_y]}.
    axes: names of the axes of the points; by default ("point",), or the coordinates' of a grid.
    numbers: numbers per sample, [n_sample], or [n_sample, n_time].
    weight: [n_point] or the shape of the points, with samples before it if they differ.
    time: [n_time] seconds, equally spaced; grid: of the sphere, with coordinates lat and lon.
    attributes: texts of the file, such as title= and source=.
    """
    if os.path.exists(path) and not overwrite:
        raise InvalidArgument(f"'{path}' exists, expected a new file; pass overwrite=True")
    given = {name: _split(name, one) for name, one in fields.items()}
    places = {name: _split(name, one) for name, one in coordinates.items()}
    if not given:
        raise InvalidArgument("fields has no entry, expected at least one field")
    shape = next(iter(given.values()))[0].shape
    n_leading = 1 if time is None else 2
    if axes is None:
        is_grid = len(shape) - n_leading == len(places) and len(places) > 1
        axes = tuple(places) if is_grid else ("point",)
    leading = ("sample", "time")[:n_leading]
    extents = dict(zip((*leading, *axes), shape))
    if len(shape) != n_leading + len(axes):
        raise ShapeError(f"the first field has shape {shape}, expected axes {(*leading, *axes)}")
    variables: dict[str, tuple[numpy.ndarray, str | None, tuple[str, ...], str | None]] = {}
    for name, (values, unit) in given.items():
        variables[name] = (values, unit, (*leading, *axes), None)
    for cf_axis, (name, (values, unit)) in zip(_cf_axes, places.items()):
        own = (name,) if name in axes else None
        marks = {"lat": "Y", "lon": "X"} if grid else {}
        units = {"lat": "degrees_north", "lon": "degrees_east"} if grid else {}
        names = own or _axes_of(name, values, extents, leading, axes)
        variables[name] = (values, units.get(name, unit), names, marks.get(name, cf_axis))
    for name, one in (numbers or {}).items():
        values, unit = _split(name, one)
        variables[name] = (values, unit, leading[: values.ndim], None)
    if weight is not None:
        values, unit = _split("weight", weight)
        names = _axes_of("weight", values, extents, leading, axes)
        variables["weight"] = (values, unit, names, None)
    if time is not None:
        variables["time"] = (_split("time", time)[0], "s", ("time",), None)
    for name, (values, _, names, _) in variables.items():
        expected = tuple(extents[axis] for axis in names)
        if values.shape != expected:
            raise ShapeError(f"'{name}' has shape {values.shape}, expected {expected}: {names}")
    texts = {**({"grid": grid} if grid else {}), **attributes}
    temporary = os.fspath(path) + ".surrogate.tmp"
    try:
        with h5py.File(temporary, "w") as file:
            _write(file, extents, variables, texts)
        os.replace(temporary, path)
    except BaseException:
        if os.path.exists(temporary):
            os.remove(temporary)
        raise


def _axes_of(name, values, extents, leading, axes) -> tuple[str, ...]:
    """Returns the axes of a variable over the points, with samples and times if it has them."""
    n = values.ndim - len(axes)
    if 0 <= n <= len(leading):
        return (*leading[:n], *axes)
    raise ShapeError(f"'{name}' has shape {values.shape}, expected {tuple(map(extents.get, axes))}")


def _write(file: Any, extents: Mapping, variables: Mapping, attributes: Mapping) -> None:
    texts = {"Conventions": "CF-1.8", "created_by": "surrogate.dataset", **attributes}
    for key, text in texts.items():
        file.attrs[key] = numpy.bytes_(str(text))
    file.attrs["surrogate_dataset"] = numpy.int64(1)
    for name, (values, unit, _, cf_axis) in variables.items():
        data = file.create_dataset(name, data=values, track_times=False)
        for key, text in (("units", unit), ("axis", cf_axis)):
            if text is not None:
                data.attrs[key] = numpy.bytes_(text)
    for axis, n in extents.items():
        if axis in file:
            file[axis].make_scale(axis)
        else:  # a dimension of netCDF without a variable
            scale = file.create_dataset(axis, shape=(n,), dtype=">f4", track_times=False)
            scale.make_scale(f"This is a netCDF dimension but not a netCDF variable.{n:10d}")
    for name, (_, _, names, _) in variables.items():
        if names == (name,):
            continue
        for index, axis in enumerate(names):
            file[name].dims[index].attach_scale(file[axis])


def read(path: str | os.PathLike) -> dict[str, Variable]:
    """Returns the variables of a data set by name. Read trusted files only."""
    found = {}
    with h5py.File(path, "r") as file:
        if int(file.attrs.get("surrogate_dataset", 0)) != 1:
            raise BadFile(f"'{path}' has no attribute surrogate_dataset = 1; is this a data set?")
        for name, data in file.items():
            is_scale = data.attrs.get("CLASS", b"") == b"DIMENSION_SCALE"
            if is_scale and data.attrs["NAME"].startswith(b"This is a netCDF dimension"):
                continue
            if is_scale:
                axes = (name,)
            else:
                axes = tuple(
                    dimension[0].name.lstrip("/") if len(dimension) else ""
                    for dimension in data.dims
                )
            unit = data.attrs.get("units", b"")
            unit = unit.decode() if isinstance(unit, bytes) else str(unit)
            found[name] = Variable(data[()], unit, axes)
    return found
