# SPDX-License-Identifier: Apache-2.0
"""Plans: a model on a domain, ready to run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from ctypes import byref, c_int64
from typing import Any, NamedTuple

import numpy

from . import _signatures
from ._arrays import Memory
from ._context import Context, options
from ._domain import Domain
from ._errors import InvalidArgument, ShapeError, Status, status_of
from ._library import Object, encoded, lib, made, text_of
from ._model import Field, Location, Model


class Range(NamedTuple):
    """Count of this rank's values of an input outside the card's range (surrogate_range_info)."""

    name: str
    min: float
    max: float
    n_points: int
    n_outside: int
    worst: float


class Binder:
    """Describes arrays of fields to C, and keeps them alive as long as they are bound."""

    def __init__(self, fields: Iterable[Field], domain: Domain):
        self._scalars, self._domain = {field.name for field in fields}, domain
        self.kept: dict[Any, Any] = {}

    def bind(
        self, function, owner: Object, name: str, data: Any, unit: str | None, writes: bool
    ) -> Any:
        """Calls function(owner, name, unit, array), for blocks `.._block`; returns `data`."""
        if isinstance(data, (int, float, numpy.number)) and not writes:
            data = numpy.array([[float(data)]])
        what = f"the array of '{name}'"
        memory = Memory(what, data, writes)
        key, n_axis = (function, name), len(memory.shape)
        if name in self._scalars and n_axis > 1 and (n_axis > 2 or memory.shape[1] != 1):
            block = self._domain.block
            if block is None:
                described, function = memory.block(what), function + "_block"
            else:
                n = (block.n_lat_local, block.n_lon_local)
                if memory.shape[-2:] != n:
                    expected = f"(.., {n[0]}, {n[1]})"
                    raise ShapeError(f"{what} has shape {memory.shape}, expected {expected}")
                described = memory.grid(what, *n, block.lat_stride, block.lon_stride)
        else:
            described = memory.array(what)
        call = getattr(owner._library, function)
        call(owner.handle, name.encode(), encoded(unit), byref(described))
        self.kept[key] = memory
        return data


class Plan(Object):
    """A model on a domain, created once and run in every step. Collective.

    Plan(model, domain) has input and output on one domain, Plan(model, input, output) on two.
    Keywords are options with their values as in surrogate_options_create: gradients="inputs".

    Arrays are bound without copies and kept alive as long as the plan: numpy arrays with any
    strides, and arrays of other packages through DLPack, such as torch tensors on the host.
      [n_local]                  a field, float32 or float64
      [n_local, n_component]     a vector by the name before the dot: "velocity" of velocity.x, ..
      [n_0, .., n_k]             a field in the interior of a larger array, such as u[1:-1, 1:-1];
                                 its points in C order are the domain's
      [n_lat_local, n_lon_local] a field on the sphere
      a number                   an input of role CLOUD
    """

    _library = lib

    def __init__(self, model: Model, domain: Domain, output: Domain | None = None, **values: Any):
        output = domain if output is None else output
        self.model, self.input_domain, self.output_domain = model, domain, output
        self.context: Context = model.context
        with ExitStack() as stack:
            with self.context.agreed():
                self._inputs = Binder(model.inputs, domain)
                self._outputs = Binder(model.outputs, output)
                chosen = stack.enter_context(options(values)) if values else None
                domains = (domain.handle, output.handle)
            handle = made(lib.surrogate_plan_create, model.handle, *domains, chosen)
        self._own(handle, lib.surrogate_plan_destroy)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike | None,
        x: Any,
        *,
        comm: Any = None,
        global_id: Any = None,
        cloud: Any = None,
        weight: Any = None,
        **values: Any,
    ) -> Plan:
        """Creates context, model, domain and plan in one call. Collective over comm.

        path: the model file, which rank 0 reads; x, ..: as in Domain; comm and keywords as in
        Context. The parts are plan.context, plan.model and plan.input_domain.
        """
        context = Context(comm, **values)
        domain = Domain(context, x, global_id=global_id, cloud=cloud, weight=weight)
        return cls(Model(context, path), domain)

    def bind_input(self, name: str, array: Any, unit: str | None = None) -> Any:
        """Binds an array to an input field; every later run reads it. Returns the array.

        unit: of the array, which must equal the card's; None: not checked.
        """
        return self._inputs.bind("surrogate_plan_bind_input", self, name, array, unit, False)

    def bind_output(self, name: str, array: Any = None, unit: str | None = None) -> Any:
        """Binds an array to an output field; every later run writes it. Returns the array.

        array: None creates one of float64, [n] (surrogate_plan_bind_output).
        """
        if array is None:
            array = numpy.zeros(self._n_rows(name))
        return self._outputs.bind("surrogate_plan_bind_output", self, name, array, unit, True)

    def bind_output_gradient(self, name: str, array: Any = None, unit: str | None = None) -> Any:
        """Binds dL/d(output), which backward runs read; None creates zeros. Returns the array.

        The plan has gradients="inputs". Outputs without an array have 0.
        """
        if array is None:
            array = numpy.zeros(self._n_rows(name))
        call = "surrogate_plan_bind_output_gradient"
        return self._outputs.bind(call, self, name, array, unit, False)

    def bind_input_gradient(self, name: str, array: Any = None, unit: str | None = None) -> Any:
        """Binds dL/d(input), which backward runs write; None creates one. Returns the array.

        array: as the input is bound; [1, 1] or [n_clouds, 1] for inputs of role CLOUD.
        """
        if array is None:
            array = numpy.zeros(self._n_rows(name))
        call = "surrogate_plan_bind_input_gradient"
        return self._inputs.bind(call, self, name, array, unit, True)

    def bind_input_tangent(self, name: str, array: Any = None, unit: str | None = None) -> Any:
        """Binds the direction v of an input, which run_tangent reads; None creates zeros.

        The plan has gradients="inputs". Inputs without an array have 0. Returns the array.
        """
        if array is None:
            array = numpy.zeros(self._n_rows(name))
        call = "surrogate_plan_bind_input_tangent"
        return self._inputs.bind(call, self, name, array, unit, False)

    def bind_output_tangent(self, name: str, array: Any = None, unit: str | None = None) -> Any:
        """Binds J v of an output, which run_tangent writes; None creates one. Returns the array."""
        if array is None:
            array = numpy.zeros(self._n_rows(name))
        call = "surrogate_plan_bind_output_tangent"
        return self._outputs.bind(call, self, name, array, unit, True)

    def unbind(self) -> None:
        """Removes all bound arrays except numbers per cloud."""
        lib.surrogate_plan_unbind(self.handle)
        clouds = {field.name for field in self.model.inputs if field.role == 3}
        kept = self._inputs.kept
        self._inputs.kept = {key: kept[key] for key in kept if key[1] in clouds}
        self._outputs.kept = {}

    def run(self) -> None:
        """Evaluates the model on the bound fields. Collective.

        A rank with an error takes part in all exchanges and raises; the others raise NotFinite,
        with agree=True the error of the first rank that failed (surrogate_plan_run).
        """
        lib.surrogate_plan_run(self.handle)

    def run_backward(self) -> None:
        """Computes the bound gradients of inputs from those of outputs, after run. Collective.

        The plan has gradients="inputs" (surrogate_plan_run_backward).
        """
        lib.surrogate_plan_run_backward(self.handle)

    def run_tangent(self) -> None:
        """Computes J v, the derivative of outputs along the bound directions. Collective.

        The plan has gradients="inputs" (surrogate_plan_run_tangent).
        """
        lib.surrogate_plan_run_tangent(self.handle)

    def run_with_error(self, error: BaseException | str) -> None:
        """Takes part in a run that this rank cannot make, and raises the error. Collective."""
        if isinstance(error, BaseException):
            status, text = status_of(error)
            try:
                lib.surrogate_plan_run_with_error(self.handle, status, text.encode())
            except Exception:
                pass
            raise error
        lib.surrogate_plan_run_with_error(self.handle, Status.CALLBACK, error.encode())

    def predict(self, inputs: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        """Binds inputs, runs, and returns new arrays of all outputs by name. Collective.

            pressure = plan.predict(mobility=k)["pressure"]

        Inputs are converted to float64 if they are lists or of another type than floats. If one
        rank passes wrong inputs, all ranks raise.
        """
        try:
            for name, array in {**(inputs or {}), **more}.items():
                if isinstance(array, (list, tuple)):
                    array = numpy.asarray(array)
                if isinstance(array, numpy.ndarray) and array.dtype.kind in "iu":
                    if name not in self._integers():
                        array = array.astype("float64")
                self.bind_input(name, array)
            outputs = {field.name: self.bind_output(field.name) for field in self.model.outputs}
        except Exception as error:
            self.run_with_error(error)
        self.run()
        return outputs

    def run_network(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> None:
        """Evaluates the bare network on tensors by port, [n, n_channel]. Collective.

        inputs, outputs: arrays by name of Model.ports; coordinates are not passed.
        """
        try:
            described = [_named(inputs, False), _named(outputs, True)]
        except Exception as error:
            self.run_with_error(error)
        counts = (len(inputs), len(outputs))
        lib.surrogate_plan_run_network(
            self.handle, counts[0], described[0], counts[1], described[1]
        )

    def set_stream(self, stream: int | None) -> None:
        """Sets the stream of a plan with backend="cuda": the integer of a cudaStream_t."""
        lib.surrogate_plan_set_stream(self.handle, stream)

    def wait(self) -> None:
        """Waits for runs that were enqueued on a stream, and raises their first error."""
        lib.surrogate_plan_wait(self.handle)

    def option(self, key: str) -> str:
        """Returns the value in force of an option, such as option("threads")."""
        return text_of(lib.surrogate_plan_option, self.handle, key.encode())

    def counter(self, key: str) -> int:
        """Returns a counter of this rank: bytes_sent, runs, workspace_bytes, flops, .."""
        value = c_int64()
        lib.surrogate_plan_counter(self.handle, key.encode(), byref(value))
        return value.value

    def range(self, name: str | int) -> Range:
        """Returns the extrapolation of an input in the last run, by name or index."""
        if isinstance(name, str):
            names = [field.name for field in self.model.inputs]
            if name not in names:
                raise InvalidArgument(f"range: the input is '{name}', expected one of {names}")
            name = names.index(name)
        info = _signatures.RangeInfo()
        lib.surrogate_plan_range(self.handle, name, byref(info))
        numbers = (info.min, info.max, info.n_points, info.n_outside, info.worst)
        return Range(info.name.decode(), *numbers)

    def describe(self) -> str:
        """Returns a table for a log: points, options, ranges, costs of the layers."""
        return text_of(lib.surrogate_plan_describe, self.handle)

    def _ports_of(self, is_output: bool) -> list:
        """Returns the port of each field of the card: its channels are the fields, in order."""
        ports = [port for port in self.model.ports if port.is_output == is_output]
        return [port for port in ports for _ in range(port.n_channel)]

    def _integers(self) -> set[str]:
        fields = zip(self.model.inputs, self._ports_of(False))
        return {field.name for field, port in fields if port.is_integer}

    def _n_rows(self, name: str) -> int:
        """Returns the number of rows of an array that is created for a field."""
        for is_output, fields in ((True, self.model.outputs), (False, self.model.inputs)):
            ports = self._ports_of(is_output)
            for index, field in enumerate(fields):
                if field.name != name:
                    continue
                location = ports[index].location if index < len(ports) else Location.ON_INPUT
                if location == Location.ON_NODES:
                    return self.counter("nodes")
                n_state = int(self.option("states"))
                if location == Location.ON_CLOUDS or field.role == 3:
                    return n_state * self.input_domain.n_clouds
                domain = self.output_domain if is_output else self.input_domain
                return n_state * domain.n_local
        return self.output_domain.n_local  # an unknown name, which C reports


def _named(arrays: Mapping[str, Any], writes: bool):
    described = []
    for name, data in arrays.items():
        what = f"the array of '{name}'"
        array = Memory(what, data, writes).array(what)
        described.append(_signatures.NamedArray(name.encode(), array))
    return (_signatures.NamedArray * len(described))(*described)
