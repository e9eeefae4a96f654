# SPDX-License-Identifier: Apache-2.0
"""Domains of DMs and predictions in Vecs of petsc4py (surrogate_petsc.h).

    from petsc4py import PETSc
    import surrogate

    context = surrogate.Context(dm.comm)
    domain = surrogate.petsc.domain(context, dm)
    plan = surrogate.Plan(surrogate.Model(context, path), domain)
    surrogate.petsc.run(plan, {"source": b}, {"temperature": x})

Errors are petsc4py's PETSc.Error, with the library's text in its traceback. A Vec may also be bound
to a plan as vec.array, as long as no other code uses the Vec.
"""

from __future__ import annotations

from collections.abc import Mapping
from ctypes import PYFUNCTYPE, byref, c_char_p, c_int32, c_void_p, py_object, pythonapi
from typing import Any, NamedTuple

from . import _signatures
from ._context import Context
from ._domain import Domain
from ._errors import NotSupported
from ._library import petsc as lib
from ._plan import Plan
from ._timeloop import StepOutcome, TimeLoop

try:
    from petsc4py import PETSc
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "surrogate.petsc needs petsc4py (Debian: python3-petsc4py)", name=error.name
    ) from None

_sizes = tuple(PETSc.__dict__[name]().itemsize for name in ("ScalarType", "RealType", "IntType"))
if _sizes != (8, 8, 4):
    raise NotSupported(
        f"the PETSc of petsc4py has scalars, reals and integers of {_sizes} bytes, "
        "expected 8, 8 and 4; use a PETSc of real numbers in double precision with 32-bit integers"
    )

_name = PYFUNCTYPE(c_char_p, py_object)(("PyCapsule_GetName", pythonapi))
_pointer = PYFUNCTYPE(c_void_p, py_object, c_char_p)(("PyCapsule_GetPointer", pythonapi))


class VecField(NamedTuple):
    """A Vec that interlaces several fields: `component` of `n_component` (surrogate_vec_field).

    component -1: all components of a vector, by the name before the dot; unit None: not checked.
    """

    vec: Any
    component: int = 0
    n_component: int = 0
    unit: str | None = None


def _check(code: int) -> None:
    if code:
        raise PETSc.Error(code)


def _fields(vecs: Mapping[str, Any]) -> Any:
    """Returns an array of surrogate_vec_field."""
    found = []
    for name, one in vecs.items():
        one = one if isinstance(one, VecField) else VecField(one)
        unit = None if one.unit is None else one.unit.encode()
        handle = one.vec.handle if isinstance(one.vec, PETSc.Vec) else None  # C rejects None
        found.append(
            _signatures.VecField(name.encode(), unit, handle, one.component, one.n_component)
        )
    return (_signatures.VecField * len(found))(*found)


def domain(context: Context, dm: PETSc.DM) -> Domain:
    """Creates a domain of the points of a DMDA or DMPlex, in the order of its Vecs. Collective.

    The points are those with unknowns, at the coordinates of the DM (surrogate_domain_create_dm).
    """
    handle = _signatures.Handle()
    _check(lib.surrogate_domain_create_dm(context.handle, dm.handle, byref(handle)))
    return Domain._of(context, handle)


def domain_sphere(
    context: Context, dm: PETSc.DM, grid: str, south_to_north: bool = False
) -> Domain:
    """Creates a domain of the sphere from a DMDA of longitude and latitude. Collective."""
    handle = _signatures.Handle()
    arguments = (context.handle, dm.handle, grid.encode(), south_to_north)
    _check(lib.surrogate_domain_create_dm_sphere(*arguments, byref(handle)))
    return Domain._of(context, handle)


def run(plan: Plan, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> None:
    """Evaluates the model from Vecs to Vecs, without copies. Collective.

    inputs, outputs: a Vec or VecField for each field of the card. A rank with a wrong Vec takes
    part in the exchange, and the others raise as well (surrogate_plan_run_vec).
    """
    given, written = _fields(inputs), _fields(outputs)
    _check(lib.surrogate_plan_run_vec(plan.handle, len(given), given, len(written), written))


def run_backward(plan: Plan, weights: Mapping[str, Any], gradients: Mapping[str, Any]) -> None:
    """Computes g = J^T w of the last run from Vecs to Vecs, without copies. Collective.

    weights: w, by names of outputs; gradients: g, by names of inputs, a Vec or VecField each. The
    plan has gradients="inputs" (surrogate_plan_run_backward_vec).
    """
    given, written = _fields(weights), _fields(gradients)
    _check(
        lib.surrogate_plan_run_backward_vec(plan.handle, len(given), given, len(written), written)
    )


def jacobian(plan: Plan, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> PETSc.Mat:
    """Returns a shell Mat of the Jacobian of a plan with gradients="inputs". Collective.

    Its columns are the elements of the first Vec of `inputs`, its rows those of the first Vec of
    `outputs`. mult computes J v, multTranspose J^T w, at the present values of the Vecs; both
    unbind the arrays of the plan. Destroy it before the plan is closed (surrogate_plan_create_mat).
    """
    given, written, handle = _fields(inputs), _fields(outputs), _signatures.Handle()
    arguments = (len(given), given, len(written), written, byref(handle))
    _check(lib.surrogate_plan_create_mat(plan.handle, *arguments))
    capsule = PETSc.__pyx_capi__["PyPetscMat_New"]
    found = PYFUNCTYPE(py_object, c_void_p)(_pointer(capsule, _name(capsule)))(handle)
    found.decRef()  # PyPetscMat_New has added a reference to that of C
    found.setAttr("surrogate_plan", plan)  # keeps the plan
    return found


def step(
    loop: TimeLoop, dt_s: float, inputs: Mapping[str, Any], outputs: Mapping[str, Any]
) -> StepOutcome:
    """Makes a step of a time loop from Vecs to Vecs. Collective (surrogate_timeloop_step_vec).

    inputs: fields that are inputs only; outputs: outputs, and fields that are input and output.
    """
    given, written, outcome = _fields(inputs), _fields(outputs), c_int32()
    arguments = (len(given), given, len(written), written, byref(outcome))
    _check(lib.surrogate_timeloop_step_vec(loop.handle, dt_s, *arguments))
    return StepOutcome(outcome.value)


def register() -> None:
    """Registers the types "surrogate" of KSPGuess and SNES with PETSc."""
    _check(lib.surrogate_petsc_register())
