#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Trains the shipped darcy_flow model again, in the current folder: data, 60 epochs on 40 x 40
# cells, 16 epochs on four resolutions. The model is darcy_resolutions/best.safetensors. About two
# hours on two cores; run it again after an interruption.
#
#     sh examples/darcy_data/train_shipped.sh [folder of the programs: build/bin]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
bin=$(cd "${1:-$here/../../build/bin}" && pwd)
. "$here/../train_or_resume.sh"

"$bin/darcy_data"
"$bin/darcy_data" -n 20,40,80,120 -seed 1000 -runs 20 -output held_out
train_or_resume "$bin/surrogate" "$here/train.toml" darcy_training
"$bin/darcy_data" -n 20,40,80 -runs 240 -seed 5000 -output multi
"$bin/darcy_data" -n 120 -runs 50 -seed 7000 -output multi
train_or_resume "$bin/surrogate" "$here/train_resolutions.toml" darcy_resolutions
