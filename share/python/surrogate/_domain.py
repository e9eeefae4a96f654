# SPDX-License-Identifier: Apache-2.0
"""Domains: points of a solver, and their canonical ordering."""

from __future__ import annotations

from ctypes import byref, c_double, c_int64
from typing import Any, NamedTuple

import numpy

from . import _signatures
from ._arrays import Memory, pointer, vector
from ._context import Context
from ._errors import NotSupported, ShapeError
from ._library import Object, lib, made


class PointArrays(NamedTuple):
    """Points of this rank in a domain, copied; arrays that the domain does not have are None."""

    x: numpy.ndarray
    global_id: numpy.ndarray | None
    cloud: numpy.ndarray | None
    weight: numpy.ndarray | None


class Block(NamedTuple):
    """Rows and columns of this rank in a domain on the sphere, and the layout of its fields."""

    grid: str
    n_lat: int
    n_lon: int
    first_lat: int
    n_lat_local: int
    first_lon: int
    n_lon_local: int
    lat_stride: int
    lon_stride: int


def _described(x: Any, global_id: Any, cloud: Any, weight: Any):
    """Returns surrogate_points and the arrays that it refers to."""
    x = numpy.asarray(x)
    if x.dtype.name not in ("float32", "float64"):
        if x.dtype.kind not in "iuf" and x.size:
            raise TypeError(f"x is {x.dtype.name}, expected float32 or float64")
        x = x.astype("float64")
    if x.ndim == 1:
        x = x[:, None]
    if x.ndim != 2:
        raise ShapeError(f"x has shape {x.shape}, expected (n, n_axis); use .reshape(-1, n_axis)")
    ids = vector("global_id", global_id, "int64", len(x))
    clouds = vector("cloud", cloud, "int64", len(x))
    weights = vector("weight", weight, "float64", len(x))
    addresses = (pointer(ids), pointer(clouds), pointer(weights, c_double))
    return _signatures.Points(Memory("x", x).array("x"), *addresses), (x, ids, clouds, weights)


class Domain(Object):
    """Points of this rank on which models work, in any partition. Collective; arrays are copied.

    x: [n_local, 0..8] coordinates in the unit of the card, [n_local] for one axis;
    global_id: [n_local] integers, distinct over all ranks;
    cloud: [n_local] index of the cloud of each point;
    weight: [n_local] volume or area of each point (surrogate_points).
    """

    def __init__(
        self,
        context: Context,
        x: Any,
        *,
        global_id: Any = None,
        cloud: Any = None,
        weight: Any = None,
    ):
        with context.agreed():
            points, _kept = _described(x, global_id, cloud, weight)
        handle = made(lib.surrogate_domain_create_points, context.handle, byref(points))
        self._set(context, handle, None)

    def _set(self, context: Context, handle: Any, block: Block | None) -> None:
        self.context, self.block = context, block
        self._own(handle, lib.surrogate_domain_destroy)

    @classmethod
    def sphere(
        cls,
        context: Context,
        grid: str,
        n_lat: int,
        n_lon: int,
        *,
        first_lat: int = 0,
        n_lat_local: int | None = None,
        first_lon: int = 0,
        n_lon_local: int | None = None,
        latitude: Any = None,
        longitude: Any = None,
        south_to_north: bool = False,
        first_longitude: float = 0.0,
        lat_stride: int = 0,
        lon_stride: int = 0,
    ) -> Domain:
        """Creates a domain of a grid on the sphere from this rank's block. Collective.

        grid: "equiangular", "legendre-gauss", ..; by default the block is the whole grid. Arguments
        are as in surrogate_sphere; latitude [n_lat_local] and longitude [n_lon_local] in degrees.
        """
        with context.agreed():
            rows = n_lat if n_lat_local is None else n_lat_local
            columns = n_lon if n_lon_local is None else n_lon_local
            given = (
                vector("latitude", latitude, "float64", rows),
                vector("longitude", longitude, "float64", columns),
            )
            sphere = _signatures.Sphere(
                grid.encode(),
                n_lat,
                n_lon,
                first_lat,
                rows,
                first_lon,
                columns,
                *(pointer(array, c_double) for array in given),
                south_to_north,
                first_longitude,
                lat_stride,
                lon_stride,
            )
        handle = made(lib.surrogate_domain_create_sphere, context.handle, byref(sphere))
        return cls._of(context, handle)

    @classmethod
    def _of(cls, context: Context, handle: Any) -> Domain:
        """Returns the owner of a handle of C."""
        self = cls.__new__(cls)
        self._set(context, handle, None)
        found = _signatures.Sphere()
        try:
            lib.surrogate_domain_sphere(self.handle, byref(found))
        except NotSupported:  # scattered points
            return self
        numbers = (getattr(found, key) for key in Block._fields[1:])
        self.block = Block(found.grid.decode(), *numbers)
        return self

    def _counts(self) -> tuple[int, int]:
        local, everywhere = c_int64(), c_int64()
        lib.surrogate_domain_n_points(self.handle, byref(local), byref(everywhere))
        return local.value, everywhere.value

    @property
    def n_local(self) -> int:
        """The number of points of this rank."""
        return self._counts()[0]

    @property
    def n_global(self) -> int:
        """The number of points of all ranks."""
        return self._counts()[1]

    @property
    def n_clouds(self) -> int:
        """The number of clouds: 1 without indices."""
        n = c_int64()
        lib.surrogate_domain_n_clouds(self.handle, byref(n))
        return n.value

    def points(self) -> PointArrays:
        """Returns copies of this rank's points: x [n_local, n_axis] and the other arrays."""
        found = _signatures.Points()
        lib.surrogate_domain_points(self.handle, byref(found))
        n, n_axis = found.x.shape
        x = numpy.empty((n, n_axis))
        if x.size:
            source = numpy.frombuffer((c_double * x.size).from_address(found.x.data))
            strides = [8 * stride for stride in found.x.stride]
            x[:] = numpy.lib.stride_tricks.as_strided(source, x.shape, strides)
        others = (found.global_id, found.cloud, found.weight)
        copies = (
            numpy.ctypeslib.as_array(one, (n,)).copy() if one and n else None for one in others
        )
        return PointArrays(x, *copies)

    def update_points(
        self, x: Any, *, global_id: Any = None, cloud: Any = None, weight: Any = None
    ) -> None:
        """Replaces the points; plans adapt in their next run. Collective.

        Arguments as in Domain. Arrays must be bound again if this rank's number of points changes.
        """
        with self.context.agreed():
            points, _kept = _described(x, global_id, cloud, weight)
        lib.surrogate_domain_update_points(self.handle, byref(points))

    def set_edges(self, source: Any, target: Any) -> None:
        """Sets the edges of a graph by global ids, [n_edge] each. Collective.

        Each edge is passed once, by any rank (surrogate_domain_set_edges).
        """
        with self.context.agreed():
            source = vector("source", source, "int64")
            target = vector("target", target, "int64", len(source))
        lib.surrogate_domain_set_edges(self.handle, len(source), pointer(source), pointer(target))


class Ordering(Object):
    """Points of a domain in the canonical ordering, which does not depend on the partition.

    row_bytes: size of the largest row that will be sent. Collective (surrogate_ordering_create).
    """

    def __init__(self, domain: Domain, row_bytes: int):
        handle = made(lib.surrogate_ordering_create, domain.handle, row_bytes)
        self._own(handle, lib.surrogate_ordering_destroy)
        self.domain = domain

    def _range(self) -> tuple[int, int]:
        first, n = c_int64(), c_int64()
        lib.surrogate_ordering_range(self.handle, byref(first), byref(n))
        return first.value, n.value

    @property
    def first(self) -> int:
        """The first position of this rank's range."""
        return self._range()[0]

    @property
    def n(self) -> int:
        """The number of positions of this rank's range."""
        return self._range()[1]

    def _send(self, function, data: Any, n_from: int, n_to: int) -> numpy.ndarray:
        with self.domain.context.agreed():
            found = numpy.ascontiguousarray(data)
            if len(found) != n_from:
                raise ShapeError(f"data has {len(found)} rows, expected {n_from}")
            result = numpy.empty((n_to, *found.shape[1:]), found.dtype)
            row_bytes = found.dtype.itemsize * int(numpy.prod(found.shape[1:], dtype="int64"))
        function(self.handle, row_bytes, found.ctypes.data, result.ctypes.data)
        return result

    def to_canonical(self, data: Any) -> numpy.ndarray:
        """Returns the rows [n, ..] of this rank's range from data [n_local, ..]. Collective."""
        send = lib.surrogate_ordering_to_canonical
        return self._send(send, data, self.domain.n_local, self.n)

    def to_local(self, data: Any) -> numpy.ndarray:
        """Returns the rows [n_local, ..] of this rank's points from data [n, ..]. Collective."""
        return self._send(lib.surrogate_ordering_to_local, data, self.n, self.domain.n_local)


class Nodes(NamedTuple):
    """Nodes of a grid on the sphere: degrees, and the fraction of the area of a point of a row."""

    latitude: numpy.ndarray
    longitude: numpy.ndarray
    weight: numpy.ndarray


def sphere_nodes(grid: str, n_lat: int, n_lon: int) -> Nodes:
    """Returns latitude [n_lat] from north to south, longitude [n_lon] and weight [n_lat]."""
    nodes = Nodes(numpy.empty(n_lat), numpy.empty(n_lon), numpy.empty(n_lat))
    addresses = (pointer(array, c_double) for array in nodes)
    lib.surrogate_sphere_nodes(grid.encode(), n_lat, n_lon, *addresses)
    return nodes


def partition(kind: str, n_rows: int, rank: int, size: int) -> numpy.ndarray:
    """Returns the rows of 0 .. n_rows - 1 that `rank` of `size` owns.

    kind: "contiguous", "scattered" or "uneven" (surrogate_partition).
    """
    n = c_int64()
    arguments = (kind.encode(), n_rows, rank, size)
    lib.surrogate_partition(*arguments, None, byref(n))
    rows = numpy.empty(n.value, "int64")
    lib.surrogate_partition(*arguments, pointer(rows), byref(n))
    return rows


def partition_sphere(
    kind: str, n_lat: int, n_lon: int, rank: int, size: int
) -> tuple[int, int, int, int]:
    """Returns first row, rows, first column and columns of the block of `rank` of `size`."""
    block = (c_int64 * 4)()
    lib.surrogate_partition_sphere(kind.encode(), n_lat, n_lon, rank, size, block)
    return tuple(block)
