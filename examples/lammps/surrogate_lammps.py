# SPDX-License-Identifier: Apache-2.0
"""Read by the command python of a LAMMPS input script; SURROGATE_LAMMPS is the path of the adapter.

    fix      nn all external pf/callback 100 1
    python   predict input 3 SELF nn gas.safetensors format pss file surrogate_lammps.py
    python   predict invoke
"""
import ctypes
import os


def _call(function, lammps, *arguments):
    address = ctypes.pythonapi.PyCapsule_GetPointer
    address.restype, address.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    adapter = ctypes.CDLL(os.environ.get("SURROGATE_LAMMPS", "libsurrogate_lammps.so"))
    if not hasattr(adapter, function):
        raise RuntimeError(f"{adapter._name} has no {function}: the library that it was built with has no data sets (HDF5)")
    words = [ctypes.c_char_p(word.encode()) if isinstance(word, str) else ctypes.c_int(word) for word in arguments]
    getattr(adapter, function)(ctypes.c_void_p(address(lammps, None)), *words)


def predict(lammps, fix, model):
    _call("surrogate_lammps_predict", lammps, fix, model)


def record(lammps, fix, path, compute, n_sample):
    _call("surrogate_lammps_record", lammps, fix, path, compute, n_sample)
