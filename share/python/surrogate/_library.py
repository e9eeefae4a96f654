# SPDX-License-Identifier: Apache-2.0
"""The shared libraries: found, loaded at the first call, and called with errors as exceptions."""

from __future__ import annotations

import ctypes
import os
from ctypes import byref

from . import _signatures
from ._errors import Error, InvalidArgument, error_of
from ._signatures import Handle, Status, __version__

_soname = ".so." + ".".join(__version__.split(".")[:2])


def _folders() -> list[str]:
    """Returns the folders to search: SURROGATE_LIBRARY_DIR, or the installation's."""
    folder = os.environ.get("SURROGATE_LIBRARY_DIR")
    if folder:
        return [folder]
    try:
        from . import _installed  # written by `cmake --install`
    except ImportError:
        return []
    here = os.path.dirname(os.path.realpath(__file__))
    return [os.path.normpath(os.path.join(here, _installed.relative)), _installed.absolute]


def _load(name: str) -> ctypes.CDLL:
    tried = []
    for folder in _folders():
        path = os.path.join(folder, "lib" + name + _soname)
        if os.path.exists(path):
            return ctypes.CDLL(path)
        tried.append(path)
    if not os.environ.get("SURROGATE_LIBRARY_DIR"):
        tried.append("lib" + name + _soname)  # LD_LIBRARY_PATH and the folders of the system
        try:
            return ctypes.CDLL(tried[-1])
        except OSError as error:
            if "cannot open shared object file" not in str(error):
                raise
    raise ImportError(
        f"the library of the package surrogate {__version__} is not found, "
        f"expected {' or '.join(tried)}; set SURROGATE_LIBRARY_DIR to its folder "
        "(pkg-config --variable=libdir surrogate), which also holds the parts petsc and timeloop"
    )


def last_error() -> str:
    """Returns the text of the last failed call of this thread."""
    return lib.surrogate_error(None).decode()


def _check(status: int, function, arguments) -> None:
    if status:
        raise error_of(status, last_error())


class Library:
    """One shared library, which is loaded when its first function is used."""

    def __init__(self, name: str, has_status: bool = True):
        """has_status: results are those of surrogate.h, otherwise of PETSc."""
        self._name, self._has_status = name, has_status

    def __getattr__(self, function: str):
        if function.startswith("__"):
            raise AttributeError(function)
        if self._name != "surrogate":
            lib.surrogate_version  # names the missing library itself, before one that needs it
        loaded = _load(self._name)
        for name, (result, *arguments) in _signatures.functions[self._name].items():
            try:
                entry = getattr(loaded, name)
            except AttributeError:  # a library without MPI has no functions of surrogate_mpi.h
                continue
            entry.restype, entry.argtypes = result, arguments
            if result is Status and self._has_status and name != "surrogate_context_fail":
                entry.errcheck = _check
            setattr(self, name, entry)
        if self._name == "surrogate":
            found = self.surrogate_version().decode()
            if found.split(".")[:2] != __version__.split(".")[:2]:
                raise ImportError(f"the library has version {found}, expected {__version__}")
        try:
            return self.__dict__[function]
        except KeyError:
            raise error_of(
                6, f"{function}: the library is built without it; build it with SURROGATE_MPI=ON"
            ) from None


lib = Library("surrogate")
timeloop = Library("surrogate_timeloop")
petsc = Library("surrogate_petsc", has_status=False)


def text_of(copy, *arguments) -> str:
    """Returns the text that copy(*arguments, text, n_text) gives."""
    size = ctypes.c_int64(0)
    copy(*arguments, None, byref(size))
    text = ctypes.create_string_buffer(size.value)
    copy(*arguments, text, byref(size))
    return text.value.decode()


def encoded(text: str | None) -> bytes | None:
    """Returns a text for C, or None."""
    return None if text is None else text.encode()


def option(value) -> bytes:
    """Returns the value of an option for C: true, false, or its text."""
    return (str(value).lower() if isinstance(value, bool) else str(value)).encode()


class _Shared:
    """A handle of C that several objects use; the last release() destroys it."""

    def __init__(self, handle: Handle, destroy):
        self.handle, self.destroy, self.n_users = handle, destroy, 1

    def release(self) -> None:
        self.n_users -= 1
        if self.n_users == 0:
            self.destroy(byref(self.handle))


class Object:
    """Owner of an object of C: a context manager. Calls after close() raise InvalidArgument."""

    _shared: _Shared | None = None

    def _own(self, handle: Handle, destroy, *users: "Object") -> None:
        """Takes a handle; `users` are objects that C needs as long as it exists."""
        self._shared = _Shared(handle, destroy)
        self._needs = [user._shared for user in users]
        for needed in self._needs:
            needed.n_users += 1

    @property
    def handle(self) -> Handle:
        """The handle of the C interface, borrowed."""
        if self._shared is None:
            raise InvalidArgument(f"the {type(self).__name__} is closed; create it again")
        return self._shared.handle

    @property
    def closed(self) -> bool:
        """True after close()."""
        return self._shared is None

    def close(self) -> None:
        """Destroys the object, which may be done in any order; a second call does nothing.

        The last close() of a context and its objects is collective (surrogate_context_destroy).
        """
        shared, self._shared = self._shared, None
        if shared is not None:
            shared.release()
            for needed in self._needs:
                needed.release()

    def __enter__(self):
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


def made(create, *arguments) -> Handle:
    """Returns the handle that create(*arguments, &handle) makes."""
    handle = Handle()
    create(*arguments, byref(handle))
    return handle


__all__ = ["Error", "Object", "encoded", "lib", "made", "option", "petsc", "text_of", "timeloop"]
