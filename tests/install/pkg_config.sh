#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sh pkg_config.sh <prefix> <libdir> <scratch folder> <program.c> <compiler> "<mpirun ..>" <component>...
# A plain compiler and pkg-config, no CMake: languages/program.c with all components, then on two ranks where there is MPI.
set -eu
prefix=$1 libdir=$2 work=$3 program=$4 compiler=$5 mpirun=$6
shift 6
export PKG_CONFIG_PATH=$prefix/$libdir/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
packages=surrogate
definitions=
for component; do
    packages="$packages surrogate_$component"
    definitions="$definitions -DWITH_$component"
done
mkdir -p "$work"
rpath=$(pkg-config --variable=libdir surrogate)
for name in models examples docdir; do
    [ -d "$(pkg-config --variable=$name surrogate)" ] || { echo "variable $name: no such folder" >&2; exit 1; }
done
$compiler -std=c99 -Wall -Wextra -pedantic $definitions "$program" -o "$work/program" $(pkg-config --cflags $packages) \
    $(pkg-config --libs $packages) "-Wl,-rpath,$rpath"
echo "surrogate $(pkg-config --modversion surrogate)"
$mpirun "$work/program"
