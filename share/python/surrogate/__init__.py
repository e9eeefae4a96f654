# SPDX-License-Identifier: Apache-2.0
"""Learned attention surrogates inside MPI solvers: the C interface of libsurrogate for Python.

    import numpy, surrogate

    with surrogate.Plan.open("model.safetensors", x) as plan:    # x: [n, 2] coordinates
        pressure = plan.predict(mobility=k)["pressure"]          # k: [n]

Shapes, units, collective calls and errors are those of surrogate.h; a call that fails raises
surrogate.Error or one of its subclasses, with the text of the library. The shared library is
loaded at the first call. `surrogate.export` makes model files of PyTorch modules and needs torch,
but not the library. share/doc/how-to/python.md shows the use.
"""

import importlib as _importlib

from ._context import Context, version
from ._domain import Block, Domain, Nodes, Ordering, PointArrays, partition, partition_sphere
from ._domain import sphere_nodes
from ._errors import *  # noqa: F403
from ._errors import Error, Status
from ._model import CheckCase, DomainKind, Field, Location, Model, Port, Role, Statistics
from ._plan import Plan, Range
from ._signatures import __version__
from ._timeloop import Guard, StepOutcome, TimeLoop
from ._trainer import StepReport, Trainer

_modules = ("dataset", "export", "mesh", "petsc")


def __getattr__(name: str):
    """Imports a module with dependencies of its own when it is used."""
    if name in _modules:
        return _importlib.import_module("." + name, __name__)
    raise AttributeError(f"module 'surrogate' has no attribute '{name}'")


__all__ = [
    "Block",
    "CheckCase",
    "Context",
    "Domain",
    "DomainKind",
    "Error",
    "Field",
    "Guard",
    "Location",
    "Model",
    "Nodes",
    "Ordering",
    "Plan",
    "PointArrays",
    "Port",
    "Range",
    "Role",
    "Statistics",
    "Status",
    "StepOutcome",
    "StepReport",
    "TimeLoop",
    "Trainer",
    "__version__",
    "partition",
    "partition_sphere",
    "sphere_nodes",
    "version",
]
__all__ += [kind.__name__ for kind in Error.__subclasses__()]
for _name in __all__:  # errors and reprs show surrogate.Plan
    if isinstance(globals()[_name], type):
        globals()[_name].__module__ = __name__
