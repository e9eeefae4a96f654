#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# million_points.sh PROGRAM SURROGATE MODEL FOLDER [POINTS]: measures time and memory of
# examples/million_points and of `surrogate predict` on its serial file, on 1, 2 and 4 ranks, for
# the tables of share/doc/tutorials/million_points.md. Ends with status 1 if predictions differ. The mesh is
# created once. About 2 GB of memory and 1 GB of disk for a million points.
set -eu
program=$1 surrogate=$2 model=$3 folder=$4 points=${5:-1000000}
mkdir -p "$folder"
export OMP_WAIT_POLICY=passive OMPI_MCA_rmaps_base_oversubscribe=1
log() { echo "$folder/$1_$2.log"; }

echo "$(nproc) cores, $(grep -m1 'model name' /proc/cpuinfo | sed 's/.*: //'), load $(cut -d' ' -f1 /proc/loadavg)"
mpirun -n 1 "$program" -points "$points" -model "$model" -output "$folder" > "$(log example 1)"
mesh=$folder/plate_1.vtu
for ranks in 2 4; do
    mpirun -n $ranks "$program" -mesh "$mesh" -model "$model" -output "$folder/parts_$ranks" > "$(log example $ranks)"
done
echo
echo '| ranks | make | read | to all ranks | solve | plan | predict | plan states, B a point | plan took | peak, rank 0 | peak, others | error |'
echo '| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |'
for ranks in 1 2 4; do
    awk -v ranks=$ranks '
        $1 == "rank" { inside = 1; next }
        inside && NF == 9 && $1 == 0 { stated = $6; took = $8; first = $9 }
        inside && NF == 9 && $1 > 0 && $9 > others { others = $9 }
        !inside && NF == 15 && $10 > 0 { row = $4 " s | " $5 " s | " $6 " s | " $7 " s | " $9 " s | " $10 " s"; error = $11 }
        END { printf "| %d | %s | %s | %s | %s MB | %s | %s %% |\n", ranks, row, stated, took, first,
                  others ? others " MB" : "-", error }' "$(log example $ranks)"
done
echo
echo '| ranks | `surrogate predict` on the serial file | memory, at most of a rank |'
echo '| --- | --- | --- |'
for ranks in 1 2 4; do
    begin=$(date +%s.%N)
    mpirun -n $ranks "$surrogate" predict "$model" --mesh "$mesh" --out "$folder/predicted_$ranks.vtu" --overwrite \
        --reproducible > "$(log predict $ranks)"
    end=$(date +%s.%N)
    memory=$(sed -n 's/ *memory: at most \(.*\) on a rank/\1/p' "$(log predict $ranks)")
    echo "| $ranks | $(echo "$begin $end" | awk '{ printf "%.1f", $2 - $1 }') s | $memory |"
done
grep '^hash' "$(log example 1)" > "$folder/hash"
for ranks in 2 4; do
    grep '^hash' "$(log example $ranks)" | cmp - "$folder/hash"
    cmp "$folder/predicted_1.vtu" "$folder/predicted_$ranks.vtu"
done
echo
echo "equal on 1, 2 and 4 ranks: $(cat "$folder/hash")"
