#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# record.sh <examples/openfoam> <folder> <ranks>: a data set written on ranks; an epoch of training reads all of it.
set -e
SURROGATE_DATA=$2/data_$3.h5 sh "$1/run.sh" "$2" record "$3"
cd "$2"
sed -e "s/^train = .*/train = [\"data_$3.h5\"]/; s/^validation = .*/validation = 0.25/; s/^epochs = .*/epochs = 1/" \
    -e "s/^folder = .*/folder = \"training_$3\"/" "$1/train.toml" >"train_$3.toml"
"$SURROGATE_PROGRAM" train "train_$3.toml" --overwrite
