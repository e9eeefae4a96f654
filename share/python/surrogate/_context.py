# SPDX-License-Identifier: Apache-2.0
"""Contexts: communicator, options and log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import byref, c_double, c_int32
from typing import Any

import numpy

from ._arrays import pointer
from ._errors import Error, InvalidArgument, Status, status_of
from ._library import Object, encoded, lib, made, option, text_of
from ._signatures import Handle, LogFunction


@contextmanager
def options(values: dict[str, Any], kind: str = "surrogate_options") -> Iterator[Handle]:
    """Options of C with the values; None is left at its default."""
    handle = made(getattr(lib, kind + "_create"))
    try:
        for key, value in values.items():
            if value is not None:
                getattr(lib, kind + "_set")(handle, key.encode(), option(value))
        yield handle
    finally:
        getattr(lib, kind + "_destroy")(byref(handle))


def _fortran_handle(comm: Any) -> int:
    if hasattr(comm, "tompi4py"):  # a communicator of petsc4py
        comm = comm.tompi4py()
    if hasattr(comm, "py2f"):
        return comm.py2f()
    if isinstance(comm, int):
        return comm
    raise TypeError(
        f"comm is of type {type(comm).__name__}, expected a communicator of mpi4py or petsc4py, or "
        "the integer of MPI_Comm_c2f"
    )


class Context(Object):
    """Communicator, default options and log of a job.

    Context() is of one rank, without MPI; Context(MPI.COMM_WORLD) of the ranks of a communicator
    of mpi4py or petsc4py, or of the integer of MPI_Comm_c2f (collective). Keywords are options
    with their values as in surrogate_options_create: threads=2, reproducible=True.
    """

    def __init__(self, comm: Any = None, **values: Any):
        self._log: Any = None
        if comm is None:
            with options(values) as chosen:
                self._own(made(lib.surrogate_context_create, chosen), lib.surrogate_context_destroy)
            return
        handle = _fortran_handle(comm)
        try:
            with options(values) as chosen:
                self._create(handle, chosen)
        except Error as error:  # an option: the other ranks are in the calls below
            if self.closed:
                self._create(handle, None)
                self._agree(error)
            raise
        self._agree(None)

    def _create(self, comm: int, chosen: Handle | None) -> None:
        made_context = made(lib.surrogate_context_create_fint, comm, chosen)
        self._own(made_context, lib.surrogate_context_destroy)

    def _ranks(self) -> tuple[int, int]:
        rank, size = c_int32(), c_int32()
        lib.surrogate_context_rank(self.handle, byref(rank), byref(size))
        return rank.value, size.value

    @property
    def rank(self) -> int:
        """This rank."""
        return self._ranks()[0]

    @property
    def size(self) -> int:
        """The number of ranks."""
        return self._ranks()[1]

    def agree(self, status: int, text: str | None = None) -> None:
        """Raises the error of the first rank that failed, on all ranks. Collective.

        status: this rank's Status; text: of its failure, by default the library's last error.
        """
        lib.surrogate_context_agree(self.handle, status, encoded(text))

    def _agree(self, error: BaseException | None) -> None:
        """Raises `error` on this rank, and its text on the other ranks."""
        if error is None:
            return self.agree(Status.SUCCESS)
        try:
            self.agree(*status_of(error))
        except Error:
            pass
        raise error

    @contextmanager
    def agreed(self) -> Iterator[None]:
        """Raises an exception of the body on all ranks. Collective.

            with context.agreed():
                data = read(f"part{context.rank}.npy")   # may fail on one rank

        Its own rank raises the exception itself, the others CallbackError (or the class of the
        library's error) with its text. The body must not make collective calls that other ranks
        would wait in.
        """
        error = None
        try:
            yield
        except Exception as raised:
            error = raised
        self._agree(error)

    def reduce(self, operation: str, values: Any) -> Any:
        """Reduces numbers over the ranks: "sum", "max" or "min". Collective.

        values: a number, or an array of any shape, which is copied. Returns the same shape.
        """
        found = numpy.array(values, dtype="float64", order="C")
        operations = {"sum": 0, "max": 1, "min": 2}
        if operation not in operations:
            raise InvalidArgument(f"reduce: operation is {operation!r}, expected sum, max or min")
        address = pointer(found, c_double)
        lib.surrogate_context_reduce(self.handle, operations[operation], found.size, address)
        return found if found.ndim else found.item()

    def describe(self) -> str:
        """Returns a text for a log: version, ranks, threads, vector level, transport."""
        return text_of(lib.surrogate_context_describe, self.handle)

    def set_log(self, log: Callable[[str], None] | None) -> None:
        """Sets the function that receives the log of this rank, such as print; None: no log."""
        call = log_function(log)
        lib.surrogate_context_set_log(self.handle, call, None)
        self._log = call


def log_function(log: Callable[[str], None] | None) -> Any:
    """Returns a log function for C; the caller keeps it as long as C may call it."""
    return LogFunction() if log is None else LogFunction(lambda _, text: log(text.decode()))


def version() -> str:
    """Returns the version of the library that is loaded, "0.2.0"."""
    return lib.surrogate_version().decode()
