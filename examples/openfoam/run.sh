#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the lid-driven cavity of OpenFOAM (icoFoam) with a surrogate of its pressure. All files are
# written to FOLDER.
#
#     sh run.sh FOLDER                      all: data of the solver's own runs, training, prediction
#     on
#                                           2 ranks
#     sh run.sh FOLDER predict 3 [NAME]     only the prediction, on 3 ranks, with the model beside
#     this
#                                           script
#     sh run.sh FOLDER record 3             only a data set, SURROGATE_DATA
#
# libsurrogateFoam.so must be in the search path of the loader (LD_LIBRARY_PATH); the program
# `surrogate` is found in PATH, or set by SURROGATE_PROGRAM. CAVITY_LID (m/s), CAVITY_END (s),
# CAVITY_MODEL are used by predict.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 1 ] || { sed -n '3,10s/^# \{0,1\}//p' "$0" >&2; exit 2; }
mkdir -p "$1"
cd "$1"
export WM_PROJECT_DIR="${WM_PROJECT_DIR:-/usr/share/openfoam}"
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}"    # the cavity is too small for threads

solve() {    # <folder> <ranks> <functions> <lid> <end>
    rm -rf "$1"
    cp -r "$here/cavity" "$1"
    (
        cd "$1"
        mv "system/$3" system/functions
        echo "LID $4;" >system/lid
        echo "END $5;" >system/end
        echo "RANKS $2;" >system/ranks
        blockMesh >log.blockMesh || { cat log.blockMesh >&2; exit 1; }
        launch= parallel=
        if [ "$2" -gt 1 ]; then
            decomposePar >log.decomposePar || { cat log.decomposePar >&2; exit 1; }
            launch="${MPIRUN:-mpirun} -n $2" parallel=-parallel
        fi
        $launch icoFoam $parallel >log.icoFoam 2>&1 || { cat log.icoFoam >&2; exit 1; }
        [ "$2" -eq 1 ] || reconstructPar -latestTime >log.reconstructPar
        grep '^trapFpe' log.icoFoam
        grep -A 12 -i warning log.icoFoam >&2 || true
        awk '/^Time = / {time = $3}
             /^surrogate: / {
                 line = "t = " time " s: " substr($0, 12)
                 is_shown = time * 10 % 4 < 1e-6
                 if (is_shown) print line
             }
             END {if (line != "" && !is_shown) print line}' log.icoFoam
    ) || exit 1
    echo "written: $1"
}

predict() {    # <folder> <ranks> <model>
    SURROGATE_MODEL=$3 solve "$1" "$2" predict "${CAVITY_LID:-0.9}" "${CAVITY_END:-2}"
}

case ${2:-all} in
    all)
        for lid in 0.4 0.6 0.8 1.0 1.1 1.2 1.4 1.6; do
            echo "icoFoam: lid at $lid m/s"
            SURROGATE_DATA=$PWD/lid_$lid.h5 solve record 1 record $lid 2
        done
        "${SURROGATE_PROGRAM:-surrogate}" train "$here/train.toml" --overwrite
        predict predict_2 2 "$PWD/training/best.safetensors" ;;
    record) SURROGATE_DATA=${SURROGATE_DATA:-$PWD/lid.h5} solve "record_$3" "$3" record "${CAVITY_LID:-0.9}" 2 ;;
    predict) predict "${4:-predict_$3}" "$3" "${CAVITY_MODEL:-$here/cavity.safetensors}" ;;
    *) echo "run.sh: '$2': record or predict" >&2; exit 2 ;;
esac
