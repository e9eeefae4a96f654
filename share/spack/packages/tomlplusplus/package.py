# SPDX-License-Identifier: Apache-2.0
"""toml++ for Spack 0.20 to 0.23, whose own list of packages has none; from 1.0 on this recipe comes before Spack's."""
from spack.package import *


class Tomlplusplus(CMakePackage):
    """Headers that read TOML, for C++17."""

    homepage = "https://marzer.github.io/tomlplusplus"
    url = "https://github.com/marzer/tomlplusplus/archive/refs/tags/v3.4.0.tar.gz"

    license("MIT")

    version("3.4.0", sha256="8517f65938a4faae9ccf8ebb36631a38c1cadfb5efa85d9a72e15b9e97d25155")

    depends_on("cxx", type="build")
    depends_on("cmake@3.14:", type="build")
