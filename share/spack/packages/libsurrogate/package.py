# SPDX-License-Identifier: Apache-2.0
"""Recipe for Spack: `spack repo add share/spack`, then as README.md beside it says. Read by Spack alone."""
from spack.package import *


class Libsurrogate(CMakePackage, CudaPackage):
    """Learned attention surrogates inside MPI solvers: one instance of a model spans all ranks of a communicator, and
    predictions come back in the solver's own arrays, as PETSc vectors, and in files for ParaView."""

    # Built from a checkout (spack develop): there is no archive to fetch.
    manual_download = True
    license("Apache-2.0")

    version("0.2.0")

    variant("mpi", default=True, description="Ranks of an MPI communicator")
    variant("fortran", default=True, description="Modules for Fortran")
    variant("petsc", default=False, description="PETSc vectors, DMs and solver types")
    variant("vtk", default=False, description="Series for ParaView, and `surrogate predict` on meshes")
    variant("hdf5", default=False, description="Checkpoints, data sets and `surrogate train`")
    variant("torch", default=False, description="Networks exported by PyTorch")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("highway")
    depends_on("nlohmann-json@3.9:", type="build")
    depends_on("xxhash", type="build")
    depends_on("cli11@2:", type="build")
    depends_on("googletest", type="test")

    depends_on("mpi", when="+mpi")
    depends_on("petsc@3.17:+mpi+double~complex", when="+petsc")
    depends_on("vtk@9.0:", when="+vtk")
    depends_on("hdf5@1.10:+mpi", when="+hdf5+mpi")
    depends_on("hdf5@1.10:~mpi", when="+hdf5~mpi")
    depends_on("tomlplusplus@3:", when="+hdf5")
    depends_on("py-torch@2.7:", when="+torch")
    depends_on("cuda@12.4:", when="+cuda")

    conflicts("~mpi", when="+petsc", msg="PETSc needs MPI")
    conflicts("%gcc@:10", msg="C++20 is needed")
    # Kernels use what 8.x and 9.0 have; 90 is compiled as 90a.
    for arch in CudaPackage.cuda_arch_values:
        if arch not in ("80", "86", "87", "89", "90", "90a"):
            conflicts(f"cuda_arch={arch}", when="+cuda", msg="device code is for compute capability 8.x and 9.0")

    def cmake_args(self):
        args = [self.define_from_variant(f"SURROGATE_{name.upper()}", name)
                for name in ("mpi", "fortran", "petsc", "vtk", "hdf5", "torch", "cuda")]
        args += [self.define("SURROGATE_TESTS", self.run_tests), self.define("SURROGATE_EXAMPLES", self.run_tests),
                 self.define("SURROGATE_CCACHE", False)]
        arch = [one for one in self.spec.variants["cuda_arch"].value if one != "none"] if self.spec.satisfies("+cuda") else []
        if arch:
            args.append(self.define("SURROGATE_CUDA_ARCHITECTURES",
                                    ";".join("90a-real" if one.startswith("90") else f"{one}-real" for one in arch)))
        return args

    def setup_run_environment(self, env):
        env.set("SURROGATE_MODELS", self.prefix.share.surrogate.models)
