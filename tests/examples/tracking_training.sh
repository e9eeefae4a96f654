#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tracking_training.sh TRACKING PILEUP SURROGATE EXAMPLE FOLDER LAUNCHER..: the recipes of the example with little data.
# Data sets have the same bytes on one and two ranks; the programs run with the trained models, and `surrogate evaluate`
# computes the same scores.
set -u
tracking=$1 pileup=$2 surrogate=$3 example=$4 folder=$5
shift 5
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder" || exit 1

fail() {
    echo "$1"
    shift
    cat "$@"
    exit 1
}

# same_data PROGRAM NAME OPTION..: writes NAME.h5 on one rank, and again on two
same_data() {
    program=$1 name=$2
    shift 2
    "$program" -samples "$name.h5" "$@" > data.log 2>&1 || fail "$name.h5 was not written" data.log
    $launcher -n 2 "$program" -samples again.h5 "$@" > data.log 2>&1 || fail "$name.h5, two ranks" data.log
    cmp "$name.h5" again.h5 || fail "other bytes on two ranks" data.log
}
launcher=$*

# recipe FILE TRAIN HELD_OUT: the recipe with one epoch of these data
recipe() {
    sed -e "s/^train = .*/train = [\"$2.h5\"]/" -e "s/^validation = .*/validation = [\"$3.h5\"]/" \
        -e "s/^epochs = .*/epochs = 1/" "$example/$1" > recipe.toml
    "$surrogate" train recipe.toml > train.log 2>&1 || fail "$1 cannot be trained" train.log
}

# same_score NAME PROGRAM'S JSON'S: percent in run.log, fraction in NAME.json
same_score() {
    ours=$(sed -n "s/$2/\\1/p" run.log)
    theirs=$(tr -d ' \n' < "$1.json" | sed "s/$3/\\n\\1\\n/" | sed -n 2p)
    awk -v a="$ours" -v b="$theirs" 'BEGIN { exit !(a > 0 && a - 100 * b < 0.2 && 100 * b - a < 0.2) }' ||
        fail "$1 is '$ours' percent here and '$theirs' there" run.log "$1.json"
}

same_data "$tracking" hits -hits 400 -events 4 -seed 100
same_data "$tracking" watched -hits 300 -events 2 -seed 200
recipe train.toml hits watched
model=training/average.safetensors
"$tracking" -model $model -hits 300 -events 2 -seed 200 > run.log 2>&1 || fail "tracking" run.log
grep -q "seconds: plan" run.log || fail "the model was not used" run.log
"$surrogate" evaluate $model --data watched.h5 --particles particle --min-pt 0.9 --json accuracy.json > evaluate.log 2>&1 ||
    fail "evaluate" evaluate.log
same_score accuracy '.*accuracy@k \([0-9.]*\) %.*' '{"accuracy":\([0-9.e-]*\),.*'
"$surrogate" check $model > check.log 2>&1 || fail "check" check.log

# The second recipe goes on with the model of the first.
recipe train_many_collisions.toml hits watched
"$surrogate" check training_many_collisions/average.safetensors > check.log 2>&1 || fail "check" check.log

same_data "$pileup" particles -particles 1500 -pileup 15 -events 4 -seed 100
same_data "$pileup" watched_particles -particles 1500 -pileup 15 -events 2 -seed 200
recipe pileup/train.toml particles watched_particles
model=training_pileup/average.safetensors
"$pileup" -model $model -particles 1500 -pileup 15 -events 2 -seed 200 -output . > run.log 2>&1 || fail "pileup" run.log
test -s pileup.png || fail "no picture" run.log
"$surrogate" evaluate $model --data watched_particles.h5 --labels label --json precision.json > evaluate.log 2>&1 ||
    fail "evaluate" evaluate.log
same_score precision ' *surrogate *\([0-9.]*\) %' '.*"average_precision":\([0-9.e-]*\),[^}]*"name":"primary".*'
"$surrogate" check $model > check.log 2>&1 || fail "check" check.log
cat run.log
