# SPDX-License-Identifier: Apache-2.0
"""Trainers: optimizer, schedule and losses of the model of a plan."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from ctypes import byref, c_double, c_int32, c_int64
from typing import Any, NamedTuple

import numpy

from . import _signatures
from ._arrays import Memory, pointer, vector
from ._context import Context, options
from ._errors import InvalidArgument
from ._library import Object, encoded, lib, made, text_of
from ._model import json_of
from ._plan import Binder, Plan

_weight_sets = {"weights": 0, "ema": 1, "best": 2}


class StepReport(NamedTuple):
    """Result of an optimizer step (surrogate_step_report)."""

    step: int
    samples: int
    loss: float
    gradient_norm: float
    learning_rate: float
    beta1: float
    was_skipped: bool


def _report(found: _signatures.StepReport) -> StepReport:
    numbers = (getattr(found, key) for key in StepReport._fields[:-1])
    return StepReport(*numbers, bool(found.was_skipped))


class Trainer(Object):
    """Optimizer, schedule and losses of the model of a plan with gradients=True. Collective.

        plan = surrogate.Plan(model, domain, gradients=True)
        plan.bind_input("mobility", mobility)
        trainer = surrogate.Trainer(plan, learning_rate=1e-3)
        trainer.bind_target("pressure", solved)
        report = trainer.step()                      # report.loss, ..

    data_parallel: context of all ranks that train this model together, None: the plan's.
    Keywords are settings with their values as in surrogate_trainer_options_create. Arrays are bound
    without copies, as on a plan, and kept alive.
    """

    _library = lib

    def __init__(self, plan: Plan, data_parallel: Context | None = None, **settings: Any):
        self.plan, self.data_parallel = plan, data_parallel
        context = data_parallel or plan.context
        handle = None if data_parallel is None else data_parallel.handle
        with ExitStack() as stack:
            with context.agreed():
                chosen = stack.enter_context(options(settings, "surrogate_trainer_options"))
            made_trainer = made(lib.surrogate_trainer_create, plan.handle, handle, chosen)
        self._own(made_trainer, lib.surrogate_trainer_destroy, plan)
        self._targets = Binder(plan.model.outputs, plan.output_domain)

    def bind_target(self, name: str, array: Any, unit: str | None = None) -> Any:
        """Binds the target of an output, as Plan.bind_output; every step reads it."""
        call = "surrogate_trainer_bind_target"
        return self._targets.bind(call, self, name, array, unit, False)

    def bind_gradient(self, name: str, array: Any, unit: str | None = None) -> Any:
        """Binds the derivatives of the caller's own loss (loss="custom") by an output."""
        call = "surrogate_trainer_bind_gradient"
        return self._targets.bind(call, self, name, array, unit, False)

    def bind_labels(self, labels: Any) -> Any:
        """Binds classes or ids of particles: [n_local] of int32 or int64, -100: ignored."""
        memory = Memory("the array of labels", labels)
        lib.surrogate_trainer_bind_labels(self.handle, byref(memory.array("labels")))
        self._targets.kept["labels"] = memory
        return labels

    def set_class_weights(self, weights: Any) -> None:
        """Sets the weights of classes, [n_class]."""
        given = vector("weights", weights, "float64")
        address = pointer(given, c_double)
        lib.surrogate_trainer_set_class_weights(self.handle, address, len(given))

    def set_point_weights(self, weights: Any | None) -> None:
        """Sets the weights of points in losses and errors, [n_local], copied; None: all equal."""
        if weights is None:
            lib.surrogate_trainer_set_point_weights(self.handle, None)
            return
        given = vector("weights", weights, "float64")
        array = Memory("weights", given).array("weights")
        lib.surrogate_trainer_set_point_weights(self.handle, byref(array))

    def set_scale(self, output: str, scale: float) -> None:
        """Sets the divisor of the errors of an output, in its unit."""
        lib.surrogate_trainer_set_scale(self.handle, output.encode(), scale)

    def set_grid_shape(self, n_x: int, n_y: int) -> None:
        """Declares that the points are a structured grid, for loss="gradient_l2"."""
        lib.surrogate_trainer_set_grid_shape(self.handle, n_x, n_y)

    def accumulate(self) -> float:
        """Adds the gradient of the bound sample to the step; returns its loss. Collective."""
        loss = c_double()
        lib.surrogate_trainer_accumulate(self.handle, byref(loss))
        return loss.value

    def forward(self) -> None:
        """Evaluates the bound inputs for loss="custom". Collective."""
        lib.surrogate_trainer_forward(self.handle)

    def backward(self, loss: float) -> None:
        """Runs the backward pass with the bound derivatives, after forward. Collective."""
        lib.surrogate_trainer_backward(self.handle, loss)

    def apply(self) -> StepReport:
        """Makes an optimizer step with the accumulated gradients. Collective."""
        found = _signatures.StepReport()
        lib.surrogate_trainer_apply(self.handle, byref(found))
        return _report(found)

    def step(self) -> StepReport:
        """Accumulates the bound sample, and makes the optimizer step when it is due. Collective."""
        found = _signatures.StepReport()
        lib.surrogate_trainer_step(self.handle, byref(found))
        return _report(found)

    def validate(self) -> tuple[float, numpy.ndarray]:
        """Returns loss and error of each output of the bound sample. Collective."""
        loss, errors = c_double(), numpy.zeros(len(self.plan.model.outputs))
        lib.surrogate_trainer_validate(self.handle, byref(loss), pointer(errors, c_double))
        return loss.value, errors

    def add_validation_loss(self, loss: float) -> None:
        """Adds the caller's own loss of a sample to the validation. Collective."""
        lib.surrogate_trainer_add_validation_loss(self.handle, loss)

    def end_validation(self) -> tuple[float, bool]:
        """Ends a validation; returns the mean loss, and True if it is the smallest. Collective."""
        loss, is_best = c_double(), c_int32()
        lib.surrogate_trainer_end_validation(self.handle, byref(loss), byref(is_best))
        return loss.value, bool(is_best.value)

    def reservoir_add(self) -> int:
        """Copies the bound sample into the reservoir; returns the samples in it. Collective."""
        n = c_int64()
        lib.surrogate_trainer_reservoir_add(self.handle, byref(n))
        return n.value

    def reservoir_step(self, n_steps: int = 1) -> StepReport:
        """Makes steps on samples of the reservoir. Collective."""
        found = _signatures.StepReport()
        lib.surrogate_trainer_reservoir_step(self.handle, n_steps, byref(found))
        return _report(found)

    def widen_ranges(self) -> int:
        """Extends the card's ranges to the trained samples; returns their number. Collective."""
        n = c_int32()
        lib.surrogate_trainer_widen_ranges(self.handle, byref(n))
        return n.value

    def save_model(
        self,
        path: str | os.PathLike,
        which: str = "weights",
        card: Mapping | str | None = None,
    ) -> None:
        """Writes a model file with the "weights", their "ema", or the "best". Collective."""
        if which not in _weight_sets:
            raise InvalidArgument(f"save_model: which is {which!r}, expected weights, ema or best")
        number, text = _weight_sets[which], json_of(card)
        lib.surrogate_trainer_save_model(self.handle, number, text, os.fsencode(path))

    def save(self, path: str | os.PathLike, note: str | None = None) -> None:
        """Writes a checkpoint; note: text kept with it. Collective."""
        lib.surrogate_trainer_save(self.handle, encoded(note), os.fsencode(path))

    def restore(self, path: str | os.PathLike) -> str:
        """Restores a checkpoint, and returns its note. Collective."""
        lib.surrogate_trainer_restore(self.handle, os.fsencode(path))
        return text_of(lib.surrogate_trainer_note, self.handle)

    def describe(self) -> str:
        """Returns a table for a log: parameters, memory, samples per step."""
        return text_of(lib.surrogate_trainer_describe, self.handle)

    def counter(self, key: str) -> int:
        """Returns a counter of this rank: steps, bytes, samples_stored, .."""
        value = c_int64()
        lib.surrogate_trainer_counter(self.handle, key.encode(), byref(value))
        return value.value
