#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds what is missing into build/, runs every test and closes with ctest's summary.
#
#     sh share/test.sh [ctest option]...        for instance: sh share/test.sh -R check_matrix
#
# As root, or as a user with sudo where packages are missing. About 50 minutes on two cores from nothing.
set -eu
cd "$(dirname "$0")/.."
. share/packages.sh
start_clock

build=build
n_core=$(nproc)
install_packages build test python guide

# A folder that quickstart.sh has configured keeps its flags: other flags would compile everything again. Otherwise device
# code is compiled for one architecture, which halves its time; its PTX runs on newer devices too.
new_folder=
[ -f $build/CMakeCache.txt ] || new_folder="-DSURROGATE_WERROR=ON -DSURROGATE_CUDA_ARCHITECTURES=80"
cmake --preset release -DSURROGATE_TESTS=ON -DSURROGATE_EXAMPLES=ON $new_folder
cmake --build $build -j "$n_core"

# Reports where the time of the build went, and never fails.
if command -v python3 >/dev/null; then
    python3 benchmarks/build_time.py --build $build || true
fi
print_duration "packages and build"

# A test on ranks counts as that many processors, so it does not share the machine with others.
ctest --test-dir $build --output-on-failure -j "$n_core" --output-junit ctest.xml "$@"

# Device code is compiled and emulated everywhere; what only a device can run is skipped, by name, and counted.
echo "$(grep -c '<testcase .*status="notrun"' $build/ctest.xml || true) tests skipped for want of a device:" \
    $(sed -n 's/.*<testcase name="\([^"]*\)".*status="notrun".*/\1/p' $build/ctest.xml)
print_duration "packages, build and tests"
