#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the shipped darcy_flow model anew, in the present folder: data, 60 epochs on 40 x 40 cells, 16 epochs on four resolutions.
# The model is darcy_resolutions/best.safetensors. About two hours on two cores; after an interruption run it again.
#
#     sh examples/darcy_data/train_shipped.sh [folder of the programs: build/bin]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
bin=$(cd "${1:-$here/../../build/bin}" && pwd)
. "$here/../train_or_go_on.sh"

"$bin/darcy_data"
"$bin/darcy_data" -n 20,40,80,120 -seed 1000 -runs 20 -output held_out
train_or_go_on "$bin/surrogate" "$here/train.toml" darcy_training
"$bin/darcy_data" -n 20,40,80 -runs 240 -seed 5000 -output multi
"$bin/darcy_data" -n 120 -runs 50 -seed 7000 -output multi
train_or_go_on "$bin/surrogate" "$here/train_resolutions.toml" darcy_resolutions
