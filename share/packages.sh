# SPDX-License-Identifier: Apache-2.0
# Read by quickstart.sh and test.sh:  . share/packages.sh; install_packages build test python guide
# Packages of Debian 12, in one list for each purpose.

# The library, the program and the examples.
packages_build="cmake ninja-build g++ pkg-config libopenmpi-dev openmpi-bin petsc-dev libvtk9-dev libhwy-dev
    libhdf5-openmpi-dev gfortran
    nlohmann-json3-dev libcli11-dev libtomlplusplus-dev libxxhash-dev libfftw3-dev libnanoflann-dev"
# In addition, the tests.
packages_test="libgtest-dev libpetsc3.18-dev-examples dpkg-dev"
# In addition, the tests and examples of the Python package; they are skipped by name if these are missing.
packages_python="python3-numpy python3-mpi4py python3-petsc4py python3-h5py python3-meshio python3-matplotlib python3-scipy
    python3-pip python3-setuptools"
# In addition, the HTML guide (target guide) and its tests.
packages_guide="doxygen python3-sphinx python3-myst-parser python3-breathe python3-sphinx-rtd-theme"
# In addition, for two builds of one tree.
packages_twice="ccache"
# In addition, other solvers; their tests are skipped by name if these are missing.
packages_foreign="code-saturne-bin code-saturne-data code-saturne-include lammps liblammps-dev openfoam"

# start_clock; ...; print_duration <what>: prints "<what>: 6 min 5 s" for the time since start_clock.
start_clock() { clock_start=$(date +%s); }
print_duration() {
    seconds=$(($(date +%s) - clock_start))
    echo "$1: $((seconds / 60)) min $((seconds % 60)) s"
}

is_installed() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

# install_packages <list>...: installs what is missing of the lists; says what is to be done where it cannot.
install_packages() {
    wanted=
    for list in "$@"; do
        eval "wanted=\"$wanted \$packages_$list\""
    done
    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
        echo "no apt-get here: these packages of Debian 12 must be there by other means:" $wanted
        return 0
    fi
    missing=
    for package in $wanted; do
        is_installed "$package" || missing="$missing $package"
    done
    if [ -z "$missing" ]; then
        echo "all packages are there"
        return 0
    fi
    echo "installing:$missing"
    as_root=
    if [ "$(id -u)" -ne 0 ]; then
        if ! command -v sudo >/dev/null; then
            echo "neither root nor sudo; let somebody run:  apt-get install$missing" >&2
            return 1
        fi
        as_root=sudo
    fi
    $as_root apt-get update -q
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends $missing
}
