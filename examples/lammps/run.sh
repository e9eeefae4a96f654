#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a Lennard-Jones gas of LAMMPS with a surrogate of its neighbor numbers. All files are written
# to FOLDER.
#
#     sh run.sh FOLDER                   all: data of the solver's own runs, training, prediction on
#                                        2 ranks
#     sh run.sh FOLDER predict 3 [NAME]  only the prediction, on 3 ranks, with the model beside this
#                                        script
#
# SURROGATE_LAMMPS is the path of libsurrogate_lammps.so, which CMake builds here; the program
# `surrogate` is found in PATH, or set by SURROGATE_PROGRAM. GAS_MODEL and GAS_OPTIONS ("-var phase
# 0.1 ..") are used by predict.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 1 ] || { sed -n '3,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
: "${SURROGATE_LAMMPS:?the path of libsurrogate_lammps.so}"
export SURROGATE_LAMMPS
mkdir -p "$1"
cd "$1"
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}"    # the gas is too small for threads

solve() {    # <folder> <ranks> <options of lmp>...: in a folder that has the input scripts
    folder=$1
    launch=
    [ "$2" -eq 1 ] || launch="${MPIRUN:-mpirun} -n $2"
    shift 2
    rm -rf "$folder"
    mkdir "$folder"
    cp "$here"/in.* "$here/surrogate_lammps.py" "$folder"
    (cd "$folder" && $launch lmp "$@" -log none) || exit 1
    echo "written: $folder"
}

predict() {    # <folder> <ranks> <model>
    solve "$1" "$2" -in in.predict -var model "$3" ${GAS_OPTIONS:-}
}

case ${2:-all} in
    all)
        i=0
        for phase in 0.00 0.08 0.17 0.25 0.33 0.42 0.50 0.58 0.67 0.75 0.83 0.92 0.29 0.79; do    # the last two: held out
            i=$((i + 1))
            push=$(echo 0.30 0.40 0.25 0.45 | cut -d ' ' -f $((i % 4 + 1)))
            echo "lmp: phase $phase, push $push"
            solve record 1 -in in.record -screen none -var data "../gas_$phase.h5" -var phase "$phase" -var push "$push" -var seed $i
        done
        "${SURROGATE_PROGRAM:-surrogate}" train "$here/train.toml" --overwrite
        predict predict_2 2 "$PWD/training/best.safetensors" ;;
    predict) predict "${4:-predict_$3}" "$3" "${GAS_MODEL:-$here/gas.safetensors}" ;;
    *) echo "run.sh: '$2': predict" >&2; exit 2 ;;
esac
