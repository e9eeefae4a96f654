#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Trains the shipped emulator again, in the current folder, from the beginning: data, six epochs of
# one hour, one epoch on its own predictions. The model is rolled/average.safetensors. An hour and a
# half on a core; run it again after an interruption.
#
#     sh examples/shallow_water/train_shipped.sh [folder of the programs: build/bin]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
bin=$(cd "${1:-$here/../../build/bin}" && pwd)
. "$here/../train_or_resume.sh"

"$bin/shallow_water" -data hours.h5 -runs 40
"$bin/shallow_water" -data held_out.h5 -seed 101 -runs 3
train_or_resume "$bin/surrogate" "$here/train.toml" hour
train_or_resume "$bin/surrogate" "$here/roll_out.toml" rolled
