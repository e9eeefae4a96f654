#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# million_points.sh PROGRAM SURROGATE MODEL POINTS FOLDER LAUNCHER..: the example and `surrogate predict` on 1, 2 and 4
# ranks. Predictions are equal, rank 0 alone reads a serial file, memory is what the plan states. The other ranks run in
# a folder that does not have the file: a rank that opens it fails.
set -u
program=$1 surrogate=$2 model=$3 points=$4 folder=$5
shift 5
# Bytes per point that a plan of this model may state; bytes per point of the domain (coordinates, number) and of the input;
# and MB that a rank also allocates when it runs first: threads, buffers of MPI, code that is loaded on first use.
most_of_point=400 of_domain=32 most_beside=3

rm -rf "$folder"
mkdir -p "$folder/with" "$folder/without"
cd "$folder" || exit 1

fail() {
    echo "$1"
    cat "$2"
    exit 1
}

# on RANKS FOLDER LOG COMMAND..: rank 0 runs in FOLDER, the others where no mesh is
on() {
    ranks=$1 first=$2 log=$3
    shift 3
    if [ "$ranks" -eq 1 ]; then
        $launcher -n 1 -wdir "$first" "$@" > "$log" 2>&1
    else
        $launcher -n 1 -wdir "$first" "$@" : -n $((ranks - 1)) -wdir "$folder/without" "$@" > "$log" 2>&1
    fi
}
launcher=$*

# The mesh, its parts and predictions. Hence ranks have their share of the points, and plans their memory.
on 1 "$folder/with" make.log "$program" -points "$points" -seed 3000 -model "$model" -output "$folder/with" ||
    fail "the mesh was not made" make.log
for ranks in 1 2 4; do
    on $ranks "$folder/with" example_$ranks.log "$program" -mesh plate_3000.vtu -model "$model" -output "$folder/parts_$ranks" ||
        fail "the example failed on $ranks ranks" example_$ranks.log
    size=$(wc -c < with/plate_3000.vtu)
    awk -v ranks=$ranks -v points="$points" -v size="$size" -v most="$most_of_point" -v domain="$of_domain" -v beside="$most_beside" '
        $1 == "rank" { inside = 1; next }
        NF != 9 || $1 !~ /^[0-9]+$/ { inside = 0 }
        inside {
            n += $2; rows += 1
            if ($2 < 0.8 * points / ranks) wrong = "rank " $1 " has " $2 " points"
            if ($4 != "-" && $1 == 0 && $4 * 1e6 < 0.9 * size) wrong = "rank 0 has not read the file"
            if ($4 != "-" && $1 > 0 && $4 * 1e6 > 0.1 * size) wrong = "rank " $1 " has read " $4 " MB"
            if ($6 > most) wrong = "the plan states " $6 " bytes a point"
            if ($5 * 1e6 < 0.5 * most * $2) wrong = "the plan states only " $5 " MB"
            if ($7 != "-" && $7 > $5 + domain * $2 / 1e6 + beside) wrong = "the plan states " $5 " MB and took " $7
            if ($7 != "-" && $7 < 0.7 * $5) wrong = "the plan states " $5 " MB and took only " $7 ": what was measured?"
        }
        END {
            if (rows != ranks) wrong = rows " rows of ranks"
            if (n < 0.9 * points || n > 1.1 * points) wrong = n " points in all"
            if (wrong) { print wrong; exit 1 }
        }' example_$ranks.log || fail "on $ranks ranks:" example_$ranks.log
    grep '^hash' example_$ranks.log > hash_$ranks || fail "no hash on $ranks ranks" example_$ranks.log
    cmp hash_1 hash_$ranks || fail "another prediction on $ranks ranks" example_$ranks.log
    on $ranks "$folder/with" predict_$ranks.log "$surrogate" predict "$model" --mesh plate_3000.vtu \
        --out "$folder/predicted_$ranks.vtu" --reproducible ||
        fail "predict failed on $ranks ranks" predict_$ranks.log
    cmp predicted_1.vtu predicted_$ranks.vtu || fail "predict wrote another file on $ranks ranks" predict_$ranks.log
done

# The parts that four ranks wrote, read by two: points that parts share count once.
on 2 "$folder" parts.log "$surrogate" predict "$model" --mesh "$folder/parts_4/parts/step_000000.pvtu" \
    --out "$folder/again.pvtu" --reproducible || fail "predict failed on the parts" parts.log
grep -q "copies .* counted once" parts.log || fail "no point is shared by parts?" parts.log

# Without the file no rank continues, and every rank prints the reason.
on 2 "$folder/without" none.log "$program" -mesh plate_3000.vtu && fail "a mesh that is not there" none.log
grep -q "plate_3000.vtu: " none.log || fail "the file is not named" none.log
cat hash_1 example_4.log predict_4.log
