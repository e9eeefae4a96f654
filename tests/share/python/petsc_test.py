#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Vecs and DMs of petsc4py, and a time loop on ranks."""

import os
import sys
import traceback

try:
    import numpy
    import petsc4py
    from mpi4py import MPI

    petsc4py.init(sys.argv)
    from petsc4py import PETSc
except ModuleNotFoundError as error:
    print(f"SKIPPED: this Python has no {error.name}")
    sys.exit(0)

sys.path.insert(0, os.path.join(os.environ["SURROGATE_SHARE"], "python"))
import surrogate  # noqa: E402
from surrogate.petsc import VecField  # noqa: E402

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
models = os.path.join(os.environ["SURROGATE_SHARE"], "models")
darcy = os.path.join(models, "darcy_flow.safetensors")


def raised(call, kind):
    """Returns the exception of a call, which is a `kind`."""
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__} was raised")


def check_vecs():
    """Vecs of a DMDA give the predictions of numpy arrays, and errors are PETSc's."""
    dm = PETSc.DMDA().create([7, 9], dof=1, comm=comm)
    dm.setUniformCoordinates(0, 1, 0, 1)
    context = surrogate.Context(dm.comm, threads=1)
    domain = surrogate.petsc.domain(context, dm)
    assert (domain.n_global, domain.block) == (63, None)
    x = domain.points().x
    numpy.testing.assert_array_equal(x, dm.getCoordinates().array.reshape(-1, 2))
    plan = surrogate.Plan(surrogate.Model(context, darcy), domain)
    k, pressure = dm.createGlobalVec(), dm.createGlobalVec()
    k.array = 3 + 9 * x[:, 0]
    truth = plan.predict(mobility=k.array.copy())["pressure"]
    surrogate.petsc.run(plan, {"mobility": k}, {"pressure": pressure})
    numpy.testing.assert_array_equal(pressure.array, truth)
    both = PETSc.Vec().createMPI((2 * domain.n_local, None), bsize=2, comm=comm)
    both.array = numpy.c_[numpy.zeros(domain.n_local), k.array].ravel()
    part = VecField(both, 1, 2, "m^2/(Pa s)")
    surrogate.petsc.run(plan, {"mobility": part}, {"pressure": VecField(both, 0, 2)})
    numpy.testing.assert_array_equal(both.array[::2], truth)
    check_jacobian(dm, context, domain)
    short = PETSc.Vec().createMPI((5, None), comm=comm)
    error = raised(
        lambda: surrogate.petsc.run(plan, {"mobility": short}, {"pressure": pressure}), PETSc.Error
    )
    assert error.ierr == 60, error  # PETSC_ERR_ARG_SIZ
    # a rank without a Vec raises, and the others do not wait
    given = {"mobility": "no Vec" if rank == size - 1 else k}
    raised(lambda: surrogate.petsc.run(plan, given, {"pressure": pressure}), PETSc.Error)
    surrogate.petsc.run(plan, {"mobility": k}, {"pressure": pressure})
    numpy.testing.assert_array_equal(pressure.array, truth)


def check_jacobian(dm, context, domain):
    """w . J v of the Mat is v . J^T w, and the gradient that the plan computes."""
    options = dict(gradients="inputs", backend="ref", precision="fp64")
    plan = surrogate.Plan(surrogate.Model(context, darcy), domain, **options)
    k, pressure, v, w, jv, g = (dm.createGlobalVec() for _ in range(6))
    k.set(5)
    v.array = numpy.sin(numpy.arange(domain.n_local) + rank)
    w.array = numpy.cos(numpy.arange(domain.n_local) - rank)
    jacobian = surrogate.petsc.jacobian(plan, {"mobility": k}, {"pressure": pressure})
    assert jacobian.getRefCount() == 1
    jacobian.mult(v, jv)
    jacobian.multTranspose(w, g)
    left, right = w.dot(jv), v.dot(g)
    assert abs(left - right) < 1e-6 * abs(left), (left, right)
    again = g.duplicate()
    surrogate.petsc.run(plan, {"mobility": k}, {"pressure": pressure})
    surrogate.petsc.run_backward(plan, {"pressure": w}, {"mobility": again})
    assert again.equal(g)
    plan.bind_input("mobility", k.array.copy())
    plan.bind_output("pressure")
    plan.bind_input_tangent("mobility", v.array.copy())
    along = plan.bind_output_tangent("pressure")
    plan.run_tangent()
    numpy.testing.assert_allclose(along, jv.array, rtol=1e-10)
    jacobian.destroy()


def check_affine():
    """Vecs and a time loop of a linear map have the values of its matrix."""
    fields = [{"name": name, "unit": "K", "mean": 0, "std": 1} for name in ("u", "v")]
    network = {"matrix": [[0.5, 0.25], [0, 1]], "offset": [1, 0]}
    card = {"format": 1, "family": "affine", "network": network}
    context = surrogate.Context(comm, threads=1)
    dm = PETSc.DMDA().create([7, 9], dof=1, comm=comm)
    dm.setUniformCoordinates(0, 1, 0, 1)
    domain = surrogate.petsc.domain(context, dm)
    model = surrogate.Model.initialize(context, {**card, "inputs": fields, "outputs": fields})
    vecs = {name: dm.createGlobalVec() for name in ("u", "v", "p", "q")}
    vecs["u"].array = numpy.cos(numpy.arange(domain.n_local) + rank)
    vecs["v"].set(3)
    u = vecs["u"].array.copy()
    outputs = {"u": vecs["p"], "v": vecs["q"]}
    plan = surrogate.Plan(model, domain)
    surrogate.petsc.run(plan, {"u": vecs["u"], "v": vecs["v"]}, outputs)
    numpy.testing.assert_array_equal(vecs["p"].array, 1 + 0.5 * u + 0.25 * 3)
    numpy.testing.assert_array_equal(vecs["q"].array, vecs["v"].array)
    loop = surrogate.TimeLoop(surrogate.Plan(model, domain), step_s=1, distance="off")
    state = {"u": u.copy(), "v": numpy.full(domain.n_local, 3.0)}
    for name, array in state.items():
        loop.bind(name, array)
    loop.step(3)
    for _ in range(3):
        u = 1 + 0.5 * u + 0.25 * 3
    numpy.testing.assert_array_equal(state["u"], u)


def check_loop():
    """An exception of the fallback function on one rank is an error on all."""
    context = surrogate.Context(comm, threads=1, reproducible=True)
    model = surrogate.Model(context, os.path.join(models, "shallow_water.safetensors"))
    kind = model.input_domain
    first, n, _, _ = surrogate.partition_sphere("contiguous", kind.n_lat, kind.n_lon, rank, size)
    domain = surrogate.Domain.sphere(context, *kind[:3], first_lat=first, n_lat_local=n)
    plan = surrogate.Plan(model, domain)
    loop = surrogate.TimeLoop(plan, range="fallback", distance="off", bounds="off")
    state = {one.name: numpy.full((n, kind.n_lon), one.mean) for one in model.inputs}
    for name, array in state.items():
        loop.bind(name, array)
    assert loop.step(600) == surrogate.StepOutcome.ACCEPTED
    state["vorticity"][:] = 1

    def fallback(time_s, dt_s):
        if rank == size - 1:
            raise KeyError("no solver here")

    loop.set_fallback(fallback)
    error = raised(lambda: loop.step(600), Exception)
    assert isinstance(error, KeyError if rank == size - 1 else surrogate.CallbackError), error
    assert "no solver here" in str(error), error
    loop.set_fallback(lambda time_s, dt_s: None)
    assert loop.step(600) == surrogate.StepOutcome.FALLBACK
    error = raised(
        lambda: loop.step_with_error(KeyError("no data")) if rank == size - 1 else loop.step(600),
        Exception,
    )
    assert "no data" in str(error), error
    assert loop.n_step == 2
    trained = surrogate.Plan(model, domain, gradients=True)
    wrong = {"learning_rat": 1} if rank == size - 1 else {}
    raised(lambda: surrogate.Trainer(trained, **wrong), surrogate.UnknownName)


try:
    check_vecs()
    check_affine()
    check_loop()
except BaseException:
    traceback.print_exc()
    comm.Abort(1)
if rank == 0:
    print(f"Vecs and a loop on {size} ranks")
