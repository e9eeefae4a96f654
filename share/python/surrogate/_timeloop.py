# SPDX-License-Identifier: Apache-2.0
"""A surrogate in a solver's time loop."""

from __future__ import annotations

import os
from collections.abc import Callable
from ctypes import byref, c_double, c_int32, c_int64
from enum import IntEnum
from typing import Any, NamedTuple

from . import _signatures
from ._arrays import Memory, pointer, vector
from ._context import log_function
from ._errors import Error, Status, status_of
from ._library import Object, encoded, lib, made, option, text_of, timeloop
from ._plan import Binder, Plan


class StepOutcome(IntEnum):
    """Outcome of a step: of the surrogate, of the fallback function, or none."""

    ACCEPTED = 0
    CORRECTED = 1
    FALLBACK = 2
    REJECTED = 3
    STOPPED = 4


class Guard(NamedTuple):
    """Result of a guard in the last step (surrogate_guard_info)."""

    n_violations: int
    field: str
    fraction: float
    value: float
    limit: float


class TimeLoop(Object):
    """Advances fields by a plan, checks each step with guards, and can return to a state.

        loop = surrogate.TimeLoop(plan, range="fallback")
        loop.bind("height", height, "m")            # input and output: advanced in place
        loop.set_fallback(lambda time_s, dt_s: my_step(height, dt_s))
        while loop.time < end:
            loop.step(dt_s)

    Keywords are options with their values as in surrogate_timeloop_set. Collective; do not bind
    arrays on the plan while the loop exists.
    """

    _library = timeloop

    def __init__(self, plan: Plan, **values: Any):
        self.plan = plan
        self._log: Any = None
        self._call: Any = None
        self._raised: BaseException | None = None
        handle = made(timeloop.surrogate_timeloop_create, plan.handle)
        self._own(handle, timeloop.surrogate_timeloop_destroy, plan)
        fields = plan.model.inputs + plan.model.outputs
        self._binder = Binder(fields, plan.input_domain)
        for key, value in values.items():
            self.set(key, value)

    def set(self, key: str, value: Any) -> None:
        """Sets an option between steps. Collective."""
        timeloop.surrogate_timeloop_set(self.handle, key.encode(), option(value))

    def set_log(self, log: Callable[[str], None] | None) -> None:
        """Sets the function that receives the lines of guards on rank 0, such as print."""
        call = log_function(log)
        timeloop.surrogate_timeloop_set_log(self.handle, call, None)
        self._log = call

    def bind(self, name: str, array: Any, unit: str | None = None) -> Any:
        """Binds a field, input or output or both, to an array as on a plan; returns it."""
        outputs = [field.name for field in self.plan.model.outputs]
        writes = any(name in (one, one.split(".")[0]) for one in outputs)
        return self._binder.bind("surrogate_timeloop_bind", self, name, array, unit, writes)

    def bind_state(
        self, name: str, array: Any, unit: str | None = None, *, block: bool = False
    ) -> Any:
        """Adds an array of the solver to the state, [n_local] or [n_local, n_component].

        block: the array is a field in the interior of a larger array. Returns the array.
        """
        what = f"the array of '{name}'"
        memory = Memory(what, array, writes=True)
        if block:
            call, described = timeloop.surrogate_timeloop_bind_state_block, memory.block(what)
        else:
            call, described = timeloop.surrogate_timeloop_bind_state, memory.array(what)
        call(self.handle, name.encode(), encoded(unit), byref(described))
        self._binder.kept["state", name] = memory
        return array

    def unbind(self) -> None:
        """Removes the bindings of all fields; connections and state arrays are kept."""
        timeloop.surrogate_timeloop_unbind(self.handle)
        clouds = {field.name for field in self.plan.model.inputs if field.role == 3}
        kept = self._binder.kept
        self._binder.kept = {
            key: kept[key] for key in kept if key[0] == "state" or key[1] in clouds
        }

    def connect(self, output: str, input: str) -> None:
        """Connects an output to an input of the next evaluation."""
        timeloop.surrogate_timeloop_connect(self.handle, output.encode(), input.encode())

    def set_bounds(self, output: str, min: float, max: float) -> None:
        """Sets the bounds of an output; -inf, inf: none."""
        timeloop.surrogate_timeloop_set_bounds(self.handle, output.encode(), min, max)

    def conserve(self, name: str, field: str, tolerance: float, weight: Any = None) -> None:
        """Declares an integral that steps must conserve. Collective.

        weight: [n_local], copied; None: the weights of the domain (surrogate_timeloop_conserve).
        """
        with self.plan.context.agreed():
            given = vector("weight", weight, "float64", self.plan.output_domain.n_local)
        names, address = (name.encode(), field.encode()), pointer(given, c_double)
        timeloop.surrogate_timeloop_conserve(self.handle, *names, address, tolerance)

    def add_source(self, name: str, amount: float) -> None:
        """Declares a known change of an integral in the next step."""
        timeloop.surrogate_timeloop_add_source(self.handle, name.encode(), amount)

    def set_fallback(self, step: Callable[[float, float], Any] | None) -> None:
        """Sets the function of time and step in s that makes the solver's own step.

        An exception in it is an error of step() on all ranks; its own rank raises it again. None:
        the step is rejected, and the caller makes it.
        """
        call = _signatures.FallbackFunction()
        if step is not None:

            def call_step(_, time_s: float, dt_s: float) -> int:
                try:
                    step(time_s, dt_s)
                    return Status.SUCCESS
                except BaseException as error:
                    self._raised = error
                    status, text = status_of(error)
                    return lib.surrogate_context_fail(None, status, text.encode())

            call = _signatures.FallbackFunction(call_step)
        timeloop.surrogate_timeloop_set_fallback(self.handle, call, None)
        self._call = call

    def _with_own_error(self, call: Callable[..., None], *arguments: Any) -> None:
        """Calls a function of C; raises the exception of the fallback function itself."""
        try:
            call(self.handle, *arguments)
        except Error:
            raised, self._raised = self._raised, None
            if raised is not None:
                raise raised
            raise

    def step(self, dt_s: float) -> StepOutcome:
        """Makes one step of dt_s seconds. Collective (surrogate_timeloop_step)."""
        outcome = c_int32()
        self._with_own_error(timeloop.surrogate_timeloop_step, dt_s, byref(outcome))
        return StepOutcome(outcome.value)

    def step_with_error(self, error: BaseException | str) -> None:
        """Takes part in a step that this rank cannot make, and raises the error. Collective."""
        if isinstance(error, str):
            status, text = Status.CALLBACK, error
        else:
            status, text = status_of(error)
        try:
            timeloop.surrogate_timeloop_step_with_error(self.handle, status, text.encode())
        except Error:
            if isinstance(error, str):
                raise
            raise error from None

    def rollout(self, n_step: int, dt_s: float) -> tuple[int, StepOutcome]:
        """Makes up to n_step steps; returns the steps made and the last outcome. Collective."""
        n_done, outcome = c_int64(), c_int32()
        arguments = (n_step, dt_s, byref(n_done), byref(outcome))
        self._with_own_error(timeloop.surrogate_timeloop_rollout, *arguments)
        return n_done.value, StepOutcome(outcome.value)

    def advance(self, dt_s: float) -> None:
        """Reports a step of dt_s seconds that the caller has made itself. Collective."""
        timeloop.surrogate_timeloop_advance(self.handle, dt_s)

    def _time(self) -> tuple[float, int]:
        time_s, step = c_double(), c_int64()
        timeloop.surrogate_timeloop_time(self.handle, byref(time_s), byref(step))
        return time_s.value, step.value

    @property
    def time(self) -> float:
        """The current time in s."""
        return self._time()[0]

    @property
    def n_step(self) -> int:
        """The step number."""
        return self._time()[1]

    def set_time(self, time_s: float, step: int) -> None:
        """Sets time in s and step number, the same on all ranks."""
        timeloop.surrogate_timeloop_set_time(self.handle, time_s, step)

    def snapshot(self) -> None:
        """Stores the state in memory. Collective."""
        timeloop.surrogate_timeloop_snapshot(self.handle)

    def rollback(self) -> None:
        """Restores the state of the last snapshot. Collective."""
        timeloop.surrogate_timeloop_rollback(self.handle)

    def save(self, path: str | os.PathLike) -> None:
        """Writes a checkpoint, an HDF5 file. Collective."""
        timeloop.surrogate_timeloop_save(self.handle, os.fsencode(path))

    def restore(self, path: str | os.PathLike) -> None:
        """Reads a checkpoint, on any number of ranks. Collective."""
        timeloop.surrogate_timeloop_restore(self.handle, os.fsencode(path))

    def reason(self) -> str:
        """Returns one line per guard that triggered in the last step."""
        return text_of(timeloop.surrogate_timeloop_reason, self.handle)

    def report(self) -> str:
        """Returns a table of the run so far."""
        return text_of(timeloop.surrogate_timeloop_report, self.handle)

    def guard(self, name: str) -> Guard:
        """Returns the result of range, distance, finite, bounds or drift in the last step."""
        info = _signatures.GuardInfo()
        timeloop.surrogate_timeloop_guard(self.handle, name.encode(), byref(info))
        field = (info.field or b"").decode()
        return Guard(info.n_violations, field, info.fraction, info.value, info.limit)

    def counter(self, key: str) -> int:
        """Returns a counter: steps, accepted, corrected, fallback, rejected, .."""
        value = c_int64()
        timeloop.surrogate_timeloop_counter(self.handle, key.encode(), byref(value))
        return value.value
