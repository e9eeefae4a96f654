#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Bitwise identical results on arm64: cross-compiles the program `surrogate`, runs check cases under qemu-user at the levels neon and
# scalar, and compares their hashes in reproducible mode with the hashes of the native program.
#   sh tests/kernels/arm64.sh <native surrogate> <build folder> [file with a check case]...
# Packages: g++-aarch64-linux-gnu qemu-user, and after `dpkg --add-architecture arm64`: libhwy-dev:arm64. The first build
# takes about ten minutes on two cores. Without files: all check cases of tests/data and share/models.
set -eu
native=$1 build=$2
shift 2
here=$(cd "$(dirname "$0")" && pwd)
source=$here/../..
for program in aarch64-linux-gnu-g++ qemu-aarch64; do
    command -v $program >/dev/null || { echo "SKIPPED: there is no $program"; exit 0; }
done
[ -e /usr/lib/aarch64-linux-gnu/libhwy.so ] || { echo "SKIPPED: there is no libhwy-dev:arm64"; exit 0; }

cmake -S "$source" -B "$build" -G Ninja --toolchain "$source/share/cmake/aarch64-linux-gnu.cmake" -DCMAKE_BUILD_TYPE=Release \
    -DSURROGATE_MPI=OFF -DSURROGATE_PETSC=OFF -DSURROGATE_VTK=OFF -DSURROGATE_HDF5=OFF -DSURROGATE_FORTRAN=OFF \
    -DSURROGATE_CUDA=OFF -DSURROGATE_TESTS=OFF -DSURROGATE_EXAMPLES=OFF >"$build.log" 2>&1
cmake --build "$build" --target surrogate_program >>"$build.log" 2>&1

# hash_of <program and arguments of check>: prints the hash of the predictions, or why there is none. One thread: two threads
# of OpenMP can wait for each other forever under qemu-user.
hash_of() {
    if "$@" --reproducible --json "$build/report.json" --threads 1 >"$build/check.txt" 2>&1; then
        sed -n 's/.*"hash": *"\{0,1\}\([0-9a-fx]*\).*/\1/p' "$build/report.json"
    else
        tail -1 "$build/check.txt"
    fi
}

[ $# -gt 0 ] || set -- $(grep -l '"check/' "$source"/tests/data/*/*.safetensors "$source"/share/models/*.safetensors)
n_equal=0 failed=
for file; do
    wanted=$(hash_of "$native" check "$file")
    for level in neon scalar; do
        found=$(hash_of qemu-aarch64 -L /usr/aarch64-linux-gnu "$build/bin/surrogate" check "$file" --vector $level)
        if [ "$found" = "$wanted" ]; then
            n_equal=$((n_equal + 1))
        else
            failed="$failed
$file, $level: $found, expected $wanted"
        fi
    done
done
echo "$n_equal hashes are equal$failed"
[ -z "$failed" ] && [ $n_equal -gt 0 ]
