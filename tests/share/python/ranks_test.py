#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The package surrogate on ranks, with mpi4py.

ranks_test.py MODEL FILE ..: predictions are bitwise those of python_reference in FILE, and an error
of one rank is an error of all.
"""

import os
import sys
import traceback

try:
    import numpy
    from mpi4py import MPI
except ModuleNotFoundError as error:
    print(f"SKIPPED: this Python has no {error.name}")
    sys.exit(0)

sys.path.insert(0, os.path.join(os.environ["SURROGATE_SHARE"], "python"))
import surrogate  # noqa: E402

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
darcy = "models/darcy_flow.safetensors"


def check_model(context, path, file):
    """Compares predictions in an uneven partition with those of one rank in C++."""
    model = surrogate.Model(context, path if rank == 0 else None)
    fields = model.inputs + model.outputs
    kind = model.input_domain
    data = numpy.fromfile(file).reshape(len(fields), -1)
    named = dict(zip((field.name for field in fields[: len(model.inputs)]), data))
    truth = dict(zip((field.name for field in model.outputs), data[len(model.inputs) :]))
    if kind.grid:
        first, n, _, _ = surrogate.partition_sphere("uneven", kind.n_lat, kind.n_lon, rank, size)
        rows = numpy.arange(first * kind.n_lon, (first + n) * kind.n_lon)
        block = dict(first_lat=first, n_lat_local=n)
        domain = surrogate.Domain.sphere(context, *kind[:3], **block)
    else:
        rows = surrogate.partition("uneven", data.shape[1], rank, size)
        axes = [field for field in model.inputs if field.role == surrogate.Role.COORDINATE]
        x = numpy.array([named[field.name] for field in axes]).reshape(len(axes), data.shape[1]).T
        domain = surrogate.Domain(context, x[rows], global_id=rows)
    inputs = {
        field.name: named[field.name][rows]
        for field in model.inputs
        if field.role == surrogate.Role.FIELD
    }
    with surrogate.Plan(model, domain) as plan:
        for name, predicted in plan.predict(inputs).items():
            assert (predicted == truth[name][rows]).all(), f"{path}: {name} on rank {rank}"


def raised(call):
    """Returns the exception of a call, or fails."""
    try:
        call()
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


def check_errors(context, path):
    """Lets the last rank fail in each collective call."""
    model = surrogate.Model(context, path)
    is_last = rank == size - 1
    x = numpy.random.default_rng(rank).random((20 + rank, 2))
    k = numpy.full(len(x), 5.0)

    with_error = raised(lambda: surrogate.Domain(context, "x" if is_last else x))
    assert isinstance(with_error, TypeError if is_last else surrogate.CallbackError), with_error
    if not is_last:
        assert f"rank {size - 1}: TypeError" in with_error.text, with_error.text

    domain = surrogate.Domain(context, x)
    wrong = {"thread": 1} if is_last else {}
    assert isinstance(raised(lambda: surrogate.Plan(model, domain, **wrong)), surrogate.UnknownName)
    assert isinstance(raised(lambda: surrogate.Context(comm, **wrong)), surrogate.UnknownName)

    for agree in (False, True):
        plan = surrogate.Plan(model, domain, agree=agree)
        error = raised(lambda: plan.predict(mobility=k[1:] if is_last else k))
        expected = surrogate.ShapeError if is_last or agree else surrogate.NotFinite
        assert isinstance(error, expected), error
        first = plan.predict(mobility=k)["pressure"]
        assert numpy.isfinite(first).all()

    def fail_on_one_rank():
        with context.agreed():
            if is_last:
                raise KeyError("no such data")

    error = raised(fail_on_one_rank)
    assert isinstance(error, KeyError if is_last else surrogate.CallbackError), error
    assert "no such data" in str(error)
    ranks = context.reduce("sum", [1, rank])
    assert list(ranks) == [size, size * (size - 1) / 2]


try:
    with surrogate.Context(comm, reproducible=True, threads=1) as context:
        assert (context.rank, context.size) == (rank, size)
        for arguments in zip(sys.argv[1::2], sys.argv[2::2]):
            check_model(context, *arguments)
        check_errors(context, os.path.join(os.environ["SURROGATE_SHARE"], darcy))
except BaseException:
    traceback.print_exc()
    comm.Abort(1)
if rank == 0:
    print(f"{len(sys.argv) // 2} models on {size} ranks")
