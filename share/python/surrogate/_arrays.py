# SPDX-License-Identifier: Apache-2.0
"""Memory of numpy, DLPack and CUDA arrays as the C interface describes it, without copies."""

from __future__ import annotations

from ctypes import POINTER, c_int64
from typing import Any

import numpy

from ._errors import LimitExceeded, ShapeError
from ._signatures import Array, Block

dtypes = {"float32": 0, "float64": 1, "int32": 2, "int64": 3, "uint8": 4}
names_of_dtypes = {code: name for name, code in dtypes.items()}
_cpu = 1  # kDLCPU of DLPack
_expected = (
    "expected a numpy array, or an array with __dlpack__ on the host or __cuda_array_interface__"
)


class Memory:
    """Address, extents and strides in elements of an array; keeps the array alive."""

    def __init__(self, what: str, data: Any, writes: bool = False):
        """Describes `data`, named `what` in errors; writes: the library writes it."""
        self.owner, self.space = data, 0
        if hasattr(data, "__cuda_array_interface__") and not isinstance(data, numpy.ndarray):
            found = data.__cuda_array_interface__
            self.space, self.address, readonly = 1, *found["data"]
            self.shape, dtype, strides = (
                tuple(found["shape"]),
                numpy.dtype(found["typestr"]),
                found.get("strides"),
            )
            if strides is None:
                strides = numpy.lib.stride_tricks.as_strided(
                    numpy.empty(1, dtype), self.shape
                ).strides
        else:
            if not isinstance(data, numpy.ndarray):
                data = _from_dlpack(what, data)
            if isinstance(data, numpy.ma.MaskedArray):
                raise TypeError(f"{what} is a masked array, {_expected}; pass its .data")
            self.owner = data if data is self.owner else (self.owner, data)
            self.address, self.shape = data.__array_interface__["data"][0], data.shape
            dtype, strides = data.dtype, data.strides
            readonly = isinstance(self.owner, numpy.ndarray) and not data.flags.writeable
        if dtype.name not in dtypes or not dtype.isnative:
            found_type = dtype.name if dtype.isnative else f"{dtype.name} of another byte order"
            raise TypeError(
                f"{what} is {found_type}, expected float32, float64, int32 or int64; use .astype"
            )
        if writes and readonly:
            raise ValueError(
                f"{what} is read-only, expected an array that can be written; use .copy()"
            )
        if any(stride % dtype.itemsize for stride in strides):
            raise ShapeError(
                f"{what} has strides of {tuple(strides)} bytes, "
                f"expected multiples of {dtype.itemsize}; use .copy()"
            )
        self.dtype = dtypes[dtype.name]
        self.stride = tuple(stride // dtype.itemsize for stride in strides)

    def array(self, what: str) -> Array:
        """Returns surrogate_array of [n] or [n, n_component]."""
        if len(self.shape) not in (1, 2):
            raise ShapeError(
                f"{what} has {len(self.shape)} axes, expected 1 or 2: [n] or [n, n_component]"
            )
        shape, stride = (*self.shape, 1)[:2], (*self.stride, 1)[:2]
        return Array(self.address, shape, stride, self.dtype, self.space)

    def block(self, what: str) -> Block:
        """Returns surrogate_block, whose first axis is the fastest: the last axis of numpy."""
        n = len(self.shape)
        if not 1 <= n <= 4:
            raise ShapeError(f"{what} has {n} axes, expected 1 to 4")
        shape, stride = (*self.shape[::-1], 0, 0, 0)[:4], (*self.stride[::-1], 0, 0, 0)[:4]
        return Block(self.address, shape, stride, n, self.dtype, self.space, 0)

    def grid(
        self, what: str, n_row: int, n_column: int, row_stride: int, column_stride: int
    ) -> Array:
        """Returns surrogate_array of a grid: [.., n_row, n_column] in the domain's layout."""
        ratio = self.stride[-1] // column_stride if column_stride else 1
        expected = [ratio * column_stride, ratio * row_stride, ratio * n_row * n_column, 0]
        if any(e != s for e, s, n in zip(expected, self.stride[::-1], self.shape[::-1]) if n > 1):
            raise ShapeError(
                f"{what} has strides {self.stride}, expected multiples of the domain's lat_stride "
                f"{row_stride} and lon_stride {column_stride}; copy the array, or set these when "
                "the domain is created"
            )
        n = int(numpy.prod(self.shape, dtype=numpy.int64))
        return Array(self.address, (n, 1), (ratio, 1), self.dtype, self.space)


def _from_dlpack(what: str, data: Any) -> numpy.ndarray:
    if not hasattr(data, "__dlpack__"):
        raise TypeError(f"{what} is of type {type(data).__name__}, {_expected}; use numpy.asarray")
    device, index = data.__dlpack_device__()
    if device != _cpu:
        raise TypeError(f"{what} is on DLPack device ({int(device)}, {index}), {_expected}")
    return numpy.from_dlpack(data)


def vector(what: str, data: Any, dtype: str, n: int | None = None) -> numpy.ndarray | None:
    """Returns `data` as contiguous [n] of `dtype`, copied if necessary; None stays None."""
    if data is None:
        return None
    found = numpy.asarray(data)
    if dtype == "int64" and found.size and found.dtype.kind not in "iu":
        raise TypeError(f"{what} is {found.dtype.name}, expected integers")
    if dtype == "int64" and found.dtype == numpy.uint64 and found.size and found.max() > 2**63 - 1:
        raise LimitExceeded(f"{what} holds {found.max()}, expected at most 2^63 - 1")
    found = numpy.ascontiguousarray(found, dtype)
    if found.ndim != 1 or n not in (None, found.size):
        raise ShapeError(f"{what} has shape {found.shape}, expected ({'n' if n is None else n},)")
    return found


def pointer(data: numpy.ndarray | None, type_=c_int64):
    """Returns the address of an array for ctypes; None stays None."""
    return None if data is None else data.ctypes.data_as(POINTER(type_))
