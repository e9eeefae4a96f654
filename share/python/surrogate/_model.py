# SPDX-License-Identifier: Apache-2.0
"""Models and check cases."""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Mapping
from ctypes import byref, c_double, c_int32, c_uint64
from enum import IntEnum
from typing import Any, NamedTuple

import numpy

from ._arrays import dtypes, names_of_dtypes
from ._context import Context
from ._errors import ShapeError
from ._library import Object, lib, made, text_of
from ._signatures import DomainInfo, FieldInfo, InputStatistics, PortInfo, Tensor


class Role(IntEnum):
    """Role of a field."""

    FIELD = 0
    COORDINATE = 1
    CLASS = 2
    CLOUD = 3


class Location(IntEnum):
    """Rows of a port."""

    ON_INPUT = 0
    ON_OUTPUT = 1
    ON_CLOUDS = 2
    ON_NODES = 3
    COORDINATES = 4


class Field(NamedTuple):
    """An input or output field of the card (surrogate_field_info)."""

    name: str
    unit: str
    role: Role
    axis: int
    mean: float
    std: float
    min: float
    max: float


class Port(NamedTuple):
    """A tensor of the bare network (surrogate_port_info)."""

    name: str
    n_channel: int
    is_output: bool
    location: Location
    is_integer: bool
    is_optional: bool


class DomainKind(NamedTuple):
    """Kind of domain that a model works on: grid is "" for scattered points."""

    grid: str
    n_lat: int
    n_lon: int
    keeps_clouds: bool


class Statistics(NamedTuple):
    """Distribution of pooled training inputs (surrogate_input_statistics)."""

    mean: numpy.ndarray
    covariance: numpy.ndarray
    quantile: float
    distance: float
    n_samples: int


def _number(function, handle, type_=c_int32):
    value = type_()
    function(handle, byref(value))
    return value.value


class Model(Object):
    """Network, weights and model card.

    Model(context, path) loads a model file, which rank 0 reads. Collective.
    """

    def __init__(self, context: Context, path: str | os.PathLike | None):
        with context.agreed():
            name = os.fsencode("" if path is None else path)  # rank 0 reads it
        self._set(context, made(lib.surrogate_model_load, context.handle, name))

    def _set(self, context: Context, handle: Any) -> None:
        self.context = context
        self._own(handle, lib.surrogate_model_destroy)
        self._fields: dict[str, list[Field]] = {}

    @classmethod
    def _of(cls, context: Context, handle: Any) -> Model:
        self = cls.__new__(cls)
        self._set(context, handle)
        return self

    @classmethod
    def from_bytes(cls, context: Context, data: bytes | None) -> Model:
        """Loads a model from the bytes of a model file on rank 0. Collective."""
        data = data or b""
        return cls._of(
            context, made(lib.surrogate_model_load_memory, context.handle, data, len(data))
        )

    @classmethod
    def create(
        cls, context: Context, card: Mapping | str | None, tensors: Mapping[str, Any] | None
    ) -> Model:
        """Creates a model from a card and its weights on rank 0. Collective.

        card: a dict, or JSON (page reference/model-file.md); tensors: an array of float32 or
        float64 for each official name. Other ranks may pass None.
        """
        with context.agreed():
            arrays = {
                key: numpy.asarray(value, order="C") for key, value in (tensors or {}).items()
            }
            described = (Tensor * len(arrays))(*(_tensor(*item) for item in arrays.items()))
        handle = made(
            lib.surrogate_model_create, context.handle, json_of(card), len(arrays), described
        )
        return cls._of(context, handle)

    @classmethod
    def initialize(
        cls, context: Context, card: Mapping | str | None, seed: int = 0, output_scale: float = 1.0
    ) -> Model:
        """Creates a model for training, with weights drawn from the seed. Collective.

        card: a dict, or JSON, on rank 0 (surrogate_model_initialize_scaled).
        """
        with context.agreed():
            text = json_of(card)
        handle = made(
            lib.surrogate_model_initialize_scaled, context.handle, text, seed, output_scale
        )
        return cls._of(context, handle)

    def save(self, path: str | os.PathLike) -> None:
        """Writes a model file, without check case. Collective; rank 0 writes."""
        lib.surrogate_model_save(self.handle, os.fsencode(path))

    def _fields_of(self, kind: str) -> list[Field]:
        found = []
        for index in range(_number(getattr(lib, f"surrogate_model_n_{kind}s"), self.handle)):
            info = FieldInfo()
            getattr(lib, f"surrogate_model_{kind}")(self.handle, index, byref(info))
            numbers = (info.axis, info.mean, info.std, info.min, info.max)
            found.append(Field(info.name.decode(), info.unit.decode(), Role(info.role), *numbers))
        return found

    @property
    def inputs(self) -> list[Field]:
        """The input fields of the card."""
        return self._fields_of("input")

    @property
    def outputs(self) -> list[Field]:
        """The output fields of the card."""
        return self._fields_of("output")

    @property
    def ports(self) -> list[Port]:
        """The tensors of the bare network, for Plan.run_network."""
        found = []
        for index in range(_number(lib.surrogate_model_n_ports, self.handle)):
            info, optional = PortInfo(), c_int32()
            lib.surrogate_model_port(self.handle, index, byref(info))
            lib.surrogate_model_port_is_optional(self.handle, index, byref(optional))
            location = Location(info.location)
            flags = (bool(info.is_output), location, info.kind == 1, bool(optional.value))
            found.append(Port(info.name.decode(), info.n_channel, *flags))
        return found

    def _domain(self, is_output: int) -> DomainKind:
        info = DomainInfo()
        lib.surrogate_model_domain(self.handle, is_output, byref(info))
        return DomainKind(info.grid.decode(), info.n_lat, info.n_lon, bool(info.keeps_clouds))

    @property
    def input_domain(self) -> DomainKind:
        """The kind of the input domain."""
        return self._domain(0)

    @property
    def output_domain(self) -> DomainKind:
        """The kind of the output domain."""
        return self._domain(1)

    @property
    def family(self) -> str:
        """The family of the card, such as "flare"."""
        return text_of(lib.surrogate_model_family, self.handle)

    def describe(self) -> dict[str, Any]:
        """Returns family, parameters, card, weights, .. (surrogate_model_describe)."""
        return json.loads(text_of(lib.surrogate_model_describe, self.handle))

    @property
    def card(self) -> dict[str, Any]:
        """The model card."""
        return self.describe()["card"]

    @property
    def hash(self) -> int:
        """A number that identifies card and weights, the same on every rank and machine."""
        return _number(lib.surrogate_model_hash, self.handle, c_uint64)

    def input_statistics(self) -> Statistics | None:
        """Returns the distribution of the training inputs, copied; None if the card has none."""
        info = InputStatistics()
        lib.surrogate_model_input_statistics(self.handle, byref(info))
        n = info.n_feature
        if n == 0:
            return None
        mean = numpy.ctypeslib.as_array(info.mean, (n,)).copy()
        covariance = numpy.ctypeslib.as_array(info.covariance, (n, n)).copy()
        return Statistics(mean, covariance, info.quantile, info.distance, info.n_samples)

    def check_bound(self, precision: str, is_double: bool, official: float = float("nan")) -> float:
        """Returns the error that `surrogate check` allows (surrogate_model_check_bound)."""
        bound = c_double()
        lib.surrogate_model_check_bound(
            self.handle, precision.encode(), is_double, official, byref(bound)
        )
        return bound.value


def json_of(card: Mapping | str | None) -> bytes | None:
    if card is None:
        return None
    return (card if isinstance(card, str) else json.dumps(card)).encode()


def _tensor(name: str, data: numpy.ndarray) -> Tensor:
    if data.dtype.name not in ("float32", "float64"):
        raise TypeError(f"tensor '{name}' is {data.dtype.name}, expected float32 or float64")
    if data.ndim > 8:
        raise ShapeError(f"tensor '{name}' has {data.ndim} axes, expected at most 8")
    shape = (*data.shape, *[0] * 8)[:8]
    return Tensor(name.encode(), data.ctypes.data, shape, data.ndim, dtypes[data.dtype.name])


class CheckCase(Object):
    """Stored inputs and outputs of a model file. Collective; every rank holds them completely."""

    def __init__(self, context: Context, path: str | os.PathLike | None):
        with context.agreed():
            name = os.fsencode("" if path is None else path)  # rank 0 reads it
        self.context = context
        handle = made(lib.surrogate_check_case_load, context.handle, name)
        self._own(handle, lib.surrogate_check_case_destroy)

    def tensors(self) -> dict[str, numpy.ndarray]:
        """Returns copies of the tensors by name: "input/x", "output/y", "output64/y"."""
        found = {}
        for index in range(_number(lib.surrogate_check_case_n_tensors, self.handle)):
            one = Tensor()
            lib.surrogate_check_case_tensor(self.handle, index, byref(one))
            array = numpy.empty(one.shape[: one.n_dim], names_of_dtypes[one.dtype])
            ctypes.memmove(array.ctypes.data, one.data, array.nbytes)
            found[one.name.decode()] = array
        return found
