#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# record.sh <run.sh> <folder> <ranks>: a data set written on ranks; an epoch of training reads all of it.
set -e
name=data_$3
CAVITY_DATA=../$name.h5 sh "$1" "$2" run record "$3"
cd "$2"
sed -e "s/^train = .*/train = [\"$name.h5\"]/; s/^validation = .*/validation = 0.25/; s/^epochs = .*/epochs = 1/" \
    -e "s/^folder = .*/folder = \"training_$3\"/" "$(dirname "$1")/train.toml" >"train_$3.toml"
"$SURROGATE_PROGRAM" train "train_$3.toml" --overwrite
