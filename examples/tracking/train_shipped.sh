#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Trains the three shipped models of tracking and pileup again, in the current folder, from the
# beginning: data, single collisions, many collisions, pile-up. The models are average.safetensors
# in training, training_many_collisions and training_pileup. Half an hour on one core; run it again
# after an interruption.
#
#     sh examples/tracking/train_shipped.sh [folder of the programs: build/bin]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
bin=$(cd "${1:-$here/../../build/bin}" && pwd)
. "$here/../train_or_resume.sh"

"$bin/tracking" -samples hits_1000.h5 -seed 10000 -events 1000 -hits 1000
"$bin/tracking" -samples hits_3000.h5 -seed 20000 -events 500 -hits 3000
"$bin/tracking" -samples pileup_3000.h5 -seed 40000 -events 250 -hits 3000 -pileup 20
"$bin/tracking" -samples watched.h5 -seed 2000 -events 8 -hits 3000
train_or_resume "$bin/surrogate" "$here/train.toml" training
"$bin/tracking" -samples hits_10000.h5 -seed 30000 -events 60 -hits 10000
"$bin/tracking" -samples collisions_10000.h5 -seed 50000 -events 40 -hits 10000 -pileup 20
"$bin/tracking" -samples collisions_3000.h5 -seed 60000 -events 700 -hits 3000 -pileup 20
"$bin/tracking" -samples watched_collisions.h5 -seed 2500 -events 8 -hits 3000 -pileup 20
train_or_resume "$bin/surrogate" "$here/train_many_collisions.toml" training_many_collisions
"$bin/pileup" -samples pileup.h5 -seed 10000 -events 250
"$bin/pileup" -samples pileup_small.h5 -seed 1000 -particles 300 -pileup 2
"$bin/pileup" -samples pileup_watched.h5 -seed 2000 -events 10
train_or_resume "$bin/surrogate" "$here/pileup/train.toml" training_pileup
