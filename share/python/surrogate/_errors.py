# SPDX-License-Identifier: Apache-2.0
"""Exceptions: one class for each status of the library, with the library's text."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    """Status of a call: the values of surrogate.h (page reference/status-codes.md)."""

    SUCCESS = 0
    INVALID_ARGUMENT = 1
    UNKNOWN_NAME = 2
    SHAPE = 3
    IO = 4
    BAD_FILE = 5
    NOT_SUPPORTED = 6
    NO_MEMORY = 7
    NOT_FINITE = 8
    LIMIT = 9
    MPI = 10
    BROKEN = 11
    INTERNAL = 12
    DEVICE = 13
    OUT_OF_RANGE = 14
    CALLBACK = 15


class Error(RuntimeError):
    """A call failed. `status` is the Status, `text` the library's text; str() gives both."""

    status = Status.INTERNAL

    def __init__(self, text: str):
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f"{self.status.name}: {self.text}"


class InvalidArgument(Error, ValueError):
    """Wrong order of calls, an object that is closed, or a value that is not allowed."""

    status = Status.INVALID_ARGUMENT


class UnknownName(Error, LookupError):
    """No such field, option or tensor; the text lists near misses."""

    status = Status.UNKNOWN_NAME


class ShapeError(Error, ValueError):
    """Extents, strides or counts that do not fit."""

    status = Status.SHAPE


class FileError(Error, OSError):
    """A file cannot be opened, read or written."""

    status = Status.IO


class BadFile(Error, ValueError):
    """A file was read and is not valid."""

    status = Status.BAD_FILE


class NotSupported(Error, NotImplementedError):
    """Valid, but not built or not possible here."""

    status = Status.NOT_SUPPORTED


class OutOfMemory(Error, MemoryError):
    """An allocation failed."""

    status = Status.NO_MEMORY


class NotFinite(Error, ArithmeticError):
    """NaN or infinity in a field, or from another rank."""

    status = Status.NOT_FINITE


class LimitExceeded(Error, OverflowError):
    """A count does not fit the type that must carry it."""

    status = Status.LIMIT


class MpiError(Error):
    """An MPI call failed on this rank; the other ranks may wait for it until MPI.Comm.Abort."""

    status = Status.MPI


class BrokenContext(Error):
    """The context is unusable since an earlier failure."""

    status = Status.BROKEN


class InternalError(Error):
    """A defect of the library."""

    status = Status.INTERNAL


class DeviceError(Error):
    """A call of the device's runtime failed."""

    status = Status.DEVICE


class OutOfRange(Error, ValueError):
    """An input is outside the card's range (range=error)."""

    status = Status.OUT_OF_RANGE


class CallbackError(Error):
    """A function of the caller raised an exception, on this or another rank."""

    status = Status.CALLBACK


_classes = {kind.status: kind for kind in Error.__subclasses__()}


def error_of(status: int, text: str) -> Error:
    """Returns the exception of a status."""
    return _classes.get(status, InternalError)(text)


def status_of(error: BaseException) -> tuple[Status, str]:
    """Returns status and text by which other ranks see an exception of this rank."""
    if isinstance(error, Error):
        return error.status, error.text
    return Status.CALLBACK, f"{type(error).__name__}: {error}"


__all__ = ["Error", "Status", *(kind.__name__ for kind in Error.__subclasses__())]
