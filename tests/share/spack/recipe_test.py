# SPDX-License-Identifier: Apache-2.0
"""recipe_test.py SOURCE CMAKE_CACHE VERSION: the recipe share/spack/packages/libsurrogate/package.py, run with stand-ins
for Spack's directives. Its versions, variants, conditions and options must be those of the project."""
import itertools
import pathlib
import re
import sys
import types

source, cache, version = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
found = {"version": [], "variant": {}, "depends_on": [], "conflicts": [], "license": []}
problems = []


def expect(condition, text):
    if not condition:
        problems.append(text)


class Variant:
    def __init__(self, value):
        self.value = value


class Spec:
    """A spec with the variants given; satisfies() knows '+name' and '~name', one after another."""

    def __init__(self, on, arch=("none",)):
        self.on = set(on)
        self.variants = {"cuda_arch": Variant(arch)}

    def satisfies(self, text):
        signs = re.findall(r"([+~])([a-z0-9_]+)", text)
        return all((name in self.on) == (sign == "+") for sign, name in signs)


class CMakePackage:
    def define(self, name, value):
        return f"-D{name}:={'ON' if value is True else 'OFF' if value is False else value}"

    def define_from_variant(self, name, variant):
        expect(variant in found["variant"], f"{name} is taken from variant {variant}, which is not declared")
        return self.define(name, variant in self.spec.on)


class CudaPackage:
    cuda_arch_values = ("70", "80", "86", "87", "89", "90", "90a", "100")


def run_recipe():
    spack = types.ModuleType("spack.package")
    found["variant"].update(cuda=False, cuda_arch=None)   # of CudaPackage
    spack.version = lambda name, **_: found["version"].append(name)
    spack.variant = lambda name, default, description: found["variant"].update({name: default})
    spack.depends_on = lambda spec, type=None, when="": found["depends_on"].append((spec, when))
    spack.conflicts = lambda spec, when="", msg=None: found["conflicts"].append((spec, when))
    spack.license = lambda name: found["license"].append(name)
    spack.CMakePackage, spack.CudaPackage = CMakePackage, CudaPackage
    sys.modules.update({"spack": types.ModuleType("spack"), "spack.package": spack})
    space = {}
    text = (source / "share/spack/packages/libsurrogate/package.py").read_text()
    exec(compile(text, "package.py", "exec"), space)
    return space["Libsurrogate"]


recipe = run_recipe()
expect(found["version"] == [version], f"versions {found['version']}, the project has {version}")
expect(found["license"] == ["Apache-2.0"], f"licences {found['license']}")

# Conditions name variants that there are.
for spec, when in found["depends_on"] + found["conflicts"]:
    own = when + " " + (spec if (spec, when) in found["conflicts"] else "")
    for name in re.findall(r"[+~]([a-z0-9_]+)", own) + re.findall(r"([a-z_]+)=", own):
        expect(name in found["variant"], f"{spec!r}, {when!r}: there is no variant {name}")

# Options are equal to the build's options, and every feature of the build is a variant.
options = set(re.findall(r"^(SURROGATE_[A-Z0-9_]+):", cache.read_text(), re.M))
features = re.search(r"foreach\(feature ([A-Z0-9 ]+)\)", (source / "share/cmake/SurrogateOptions.cmake").read_text())
features = set(features.group(1).split()) - {"CCACHE"}
names = sorted(name.lower() for name in features)
n_choice = 0
for choice in itertools.product([False, True], repeat=len(names)):
    on = [name for name, is_on in zip(names, choice) if is_on]
    package = recipe()
    package.spec, package.run_tests = Spec(on, ("80", "90") if "cuda" in on else ("none",)), False
    arguments = dict(argument[2:].split(":=", 1) for argument in package.cmake_args())
    expect(not set(arguments) - options, f"{on}: no options of the build: {sorted(set(arguments) - options)}")
    for name in names:
        expect(arguments.get(f"SURROGATE_{name.upper()}") == ("ON" if name in on else "OFF"),
               f"{on}: SURROGATE_{name.upper()} is {arguments.get(f'SURROGATE_{name.upper()}')}")
    arch = arguments.get("SURROGATE_CUDA_ARCHITECTURES")
    expect(arch == ("80-real;90a-real" if "cuda" in on else None), f"{on}: architectures {arch}")
    n_choice += 1

# The packages in how-to/install.md's Spack column are the recipe's dependencies.
dependencies = {re.match(r"[a-z0-9]+(-[a-z0-9]+)*", spec).group() for spec, _ in found["depends_on"]}
rows = [line.split("|") for line in (source / "share/doc/how-to/install.md").read_text().splitlines() if line.startswith("| ")]
page = {}
for row in rows:
    if len(row) == 7 and "for the example" not in row[5]:
        page.update({name: row[1].strip() for name in re.findall(r"`([a-z0-9-]+)`", row[4])})
expect(len(page) >= 8, f"how-to/install.md names {sorted(page)}: there are more")
for name, role in page.items():
    is_there = name in dependencies or ("mpi" in dependencies and name in ("openmpi", "mpich")) or name == "gcc"
    expect(is_there, f"how-to/install.md names {name} ({role}), the recipe does not")
expect(("petsc@3.17:+mpi+double~complex", "+petsc") in found["depends_on"], "PETSc is not asked for real and double")
expect(("~mpi", "+petsc") in found["conflicts"], "PETSc without MPI is not refused")

# Debian's packages for Spack are all that the recipe depends on; Spack 0.23 has a recipe for each but tomlplusplus.
debian = (source / "share/spack/debian/packages.yaml").read_text()
externals = set(re.findall(r"^  ([a-z0-9-]+): +\{externals: \[\{spec: \1@", debian, re.M))
providers = {"mpi": "openmpi", "pkgconfig": "pkg-config"}
of_compilers = {"c", "cxx", "fortran", "cuda"}
too_old = {"py-torch"}  # 1.13 in Debian 12
for name in sorted(dependencies - of_compilers - too_old):
    expect(providers.get(name, name) in externals, f"share/spack/debian/packages.yaml has no {providers.get(name, name)}")
expect((source / "share/spack/packages/tomlplusplus/package.py").is_file(), "there is no recipe for tomlplusplus")

if problems:
    sys.exit("\n".join(dict.fromkeys(problems)))
print(f"{n_choice} choices of variants, {len(found['depends_on'])} dependencies: as the project has them")
