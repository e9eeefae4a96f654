#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the lid-driven cavity of code_saturne with a surrogate of its pressure. All files are written
# to FOLDER.
#
#     sh run.sh FOLDER                       all: data of the solver's own runs, training,
#     prediction
#                                            on 2 ranks
#     sh run.sh FOLDER run predict 3 [NAME]  one run on 3 ranks, with the model beside this script;
#                                            also predict_fortran, record
#     sh run.sh FOLDER build predict         only compiles its user routines
#
# libsurrogate is found by pkg-config (PKG_CONFIG_PATH), or set by SURROGATE_CFLAGS and
# SURROGATE_LIBS; the program `surrogate` is found in PATH, or set by SURROGATE_PROGRAM. CAVITY_LID
# (m/s), CAVITY_STEPS, CAVITY_MODEL have the defaults 0.9, 100, cavity.safetensors.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 1 ] || { sed -n '3,10s/^# \{0,1\}//p' "$0" >&2; exit 2; }
mkdir -p "$1"
cd "$1"
action=${2:-all}

tried=6.0
found=$(code_saturne info --version | sed 's/.*: *//') || { echo "run.sh: code_saturne was not found" >&2; exit 1; }
case $found in
    $tried|$tried.*) ;;
    *) echo "run.sh: tested with code_saturne $tried; this is $found, which is untested" >&2 ;;
esac

export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}"    # the cavity is too small for threads
mpirun=${MPIRUN:-mpirun}

build() {    # <folder of user routines>: build/<folder>/cs_solver
    packages=surrogate_mpi
    [ "$1" != record ] || packages="$packages surrogate_dataset"
    [ "$1" != predict_fortran ] || packages="$packages surrogate_fortran"
    if [ -z "${SURROGATE_LIBS:-}" ]; then
        SURROGATE_CFLAGS=$(pkg-config --cflags $packages)
        SURROGATE_LIBS="$(pkg-config --libs $packages) -Wl,-rpath,$(pkg-config --variable=libdir surrogate)"
    fi
    fortran_mpi=
    [ "$1" != predict_fortran ] || fortran_mpi=$(mpif90 --showme:compile | sed 's/-pthread//')
    rm -rf "build/$1" "source/$1"
    mkdir -p "build/$1" "source/$1"
    cp "$here"/case/*.[cfh]* "$here/$1"/* "source/$1"
    [ "$1" != predict ] || cp "$here"/adapter/* "source/$1"
    code_saturne compile -s "source/$1" -d "build/$1" --cflags="$SURROGATE_CFLAGS" --libs="$SURROGATE_LIBS" \
        --fcflags="$SURROGATE_CFLAGS $fortran_mpi" >"build/$1.log" 2>&1 || { cat "build/$1.log" >&2; exit 1; }
    [ -e mesh_input ] || {
        python3 "$here/case/cavity_mesh.py" 32 cavity.msh
        "${CS_PREPROCESS:-/usr/lib/code_saturne/cs_preprocess}" cavity.msh -o mesh_input >preprocess.log
    }
}

solve() {    # <stage> <ranks> <folder of the run>
    [ -x "build/$1/cs_solver" ] || build "$1"
    rm -rf "$3"
    mkdir "$3"
    cp mesh_input "$3"
    launch=
    [ "$2" -eq 1 ] || launch="$mpirun -n $2"
    (cd "$3" && $launch "../build/$1/cs_solver") || { cat "$3"/error* >&2; exit 1; }
    echo "written: $3"
}

record() {
    for lid in 0.4 0.6 0.8 1.0 1.1 1.2 1.4 1.6; do
        echo "code_saturne: lid at $lid m/s"
        CAVITY_LID=$lid CAVITY_DATA=../lid_$lid.h5 solve record 1 record
    done
}

case $action in
    all)
        record
        "${SURROGATE_PROGRAM:-surrogate}" train "$here/train.toml" --overwrite
        CAVITY_LID=0.9 CAVITY_MODEL=$PWD/training/best.safetensors solve predict 2 predict_2 ;;
    build) build "$3" ;;
    run) CAVITY_LID=${CAVITY_LID:-0.9} CAVITY_MODEL=${CAVITY_MODEL:-$here/cavity.safetensors} solve "$3" "$4" "${5:-$3_$4}" ;;
    *) echo "run.sh: '$action': build or run" >&2; exit 2 ;;
esac
