#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares surrogate/_signatures.py with the headers of the C interface: functions, structs, enums.

Needs no library and no numpy: signatures_test.py SOURCES
"""

import ctypes
import importlib.util
import os
import re
import sys

root = sys.argv[1]
package = os.path.join(root, "share/python/surrogate")
coupling = "coupling/{0}/include/surrogate/surrogate_{0}.h"
headers = {
    "surrogate": [
        f"libsurrogate/include/surrogate/{name}.h"
        for name in ("surrogate", "surrogate_mpi", "surrogate_train")
    ],
    "surrogate_timeloop": [coupling.format("timeloop")],
    "surrogate_petsc": [coupling.format("petsc")],
}
numbers = {
    "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64,
    "double": ctypes.c_double,
    "int": ctypes.c_int,
    "surrogate_status": ctypes.c_int32,
    "MPI_Fint": ctypes.c_int,
    "MPI_Comm": ctypes.c_void_p,
    "PetscErrorCode": ctypes.c_int,
    "PetscInt": ctypes.c_int32,
    "PetscBool": ctypes.c_int,
    "PetscReal": ctypes.c_double,
}


def load(name):
    """Returns a module of the package, imported alone."""
    spec = importlib.util.spec_from_file_location(name, os.path.join(package, name + ".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


signatures = load("_signatures")
problems = []


def read(name):
    """Returns a header without comments and directives."""
    with open(os.path.join(root, name), encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", " ", file.read(), flags=re.DOTALL)
    return re.sub(r"^#.*(\\\n.*)*", "", text, flags=re.MULTILINE)


text = "".join(read(name) for names in headers.values() for name in names)
structs = dict(
    (name, body)
    for body, name in re.findall(r"typedef struct \w+ \{(.*?)\} (\w+);", text, re.DOTALL)
)
callbacks = dict(
    (name, (result, arguments))
    for result, name, arguments in re.findall(r"typedef (\w+) \(\*(\w+)\)\((.*?)\);", text)
)


def class_of(name):
    """Returns the class of a struct: surrogate_field_info is FieldInfo."""
    return getattr(signatures, name.removeprefix("surrogate_").title().replace("_", ""), None)


def expected(declaration):
    """Returns the ctypes type of a C type, with * or [n] behind it."""
    words = re.sub(r"\bconst\b", "", declaration)
    base, stars = re.match(r"\s*(\w+)\s*([\s*]*)$", words).groups()
    depth = stars.count("*")
    if base in ("Vec", "DM", "Mat"):
        return ctypes.POINTER(ctypes.c_void_p) if depth else ctypes.c_void_p
    if base == "void":
        return ctypes.c_void_p if depth else None
    if base == "char":
        return ctypes.c_char_p
    if base in callbacks:
        return getattr(signatures, base.removeprefix("surrogate_").title().replace("_", ""))
    if base in structs:
        return ctypes.POINTER(class_of(base)) if depth else class_of(base)
    if base in numbers:
        return ctypes.POINTER(numbers[base]) if depth else numbers[base]
    if depth == 1:
        return ctypes.c_void_p  # a handle
    return ctypes.POINTER(ctypes.c_void_p)


def split(parameter):
    """Returns type, name and extent of `type name`, `type name[n]`."""
    kind, name, extent = re.match(
        r"(.*?[\s*])(\w+)\s*(?:\[(\d*)\])?$", parameter.strip(), re.DOTALL
    ).groups()
    return kind, name, extent


def parameters(text):
    """Returns the types of a list of parameters."""
    if text.strip() == "void":
        return []
    found = []
    for parameter in text.split(","):
        kind, _, extent = split(parameter)
        found.append(expected(kind + ("*" if extent is not None else "")))
    return found


for library, names in headers.items():
    declared = {}
    for name in names:
        for result, function, arguments in re.findall(
            r"SURROGATE_API\s+([\w\s*]+?)(surrogate_\w+)\((.*?)\);", read(name), re.DOTALL
        ):
            declared[function] = (expected(result), *parameters(arguments))
    table = signatures.functions[library]
    problems += [f"{name} is in a header, not in the table" for name in declared.keys() - table]
    problems += [f"{name} is in the table, not in a header" for name in table.keys() - declared]
    for name in declared.keys() & table.keys():
        if declared[name] != table[name]:
            problems.append(f"{name}: the header has {declared[name]}, the table {table[name]}")

for name, body in structs.items():
    kind = class_of(name)
    if kind is None:
        problems.append(f"{name} has no class")
        continue
    fields = []
    for member in re.findall(r"([^;]+);", body):
        declaration, member_name, extent = split(member)
        type_ = expected(declaration)
        fields.append((member_name, type_ * int(extent) if extent else type_))
    if fields != kind._fields_:
        problems.append(f"{name}: the header has {fields}, the class {kind._fields_}")

status = re.search(r"enum \{\s*SURROGATE_SUCCESS.*?\}", text, re.DOTALL).group()
values = {name: int(value) for name, value in re.findall(r"SURROGATE_(\w+) = (\d+)", status)}
if {one.name: one.value for one in load("_errors").Status} != values:
    problems.append("class Status is not the enum of surrogate.h")
with open(os.path.join(root, "CMakeLists.txt"), encoding="utf-8") as file:
    version = re.search(r"VERSION (\d+\.\d+\.\d+)", file.read().split("project(")[1]).group(1)
if version != signatures.__version__:
    problems.append(f"the package has version {signatures.__version__}, the project {version}")

print("\n".join(sorted(problems)))
n_functions = sum(len(table) for table in signatures.functions.values())
print(f"{n_functions} functions, {len(structs)} structs, {len(problems)} problems")
sys.exit(bool(problems) or n_functions < 100)
