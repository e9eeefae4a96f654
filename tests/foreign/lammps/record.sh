#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# record.sh <examples/lammps> <folder> <ranks>: a data set written on ranks; an epoch of training reads all of it.
set -e
rm -rf "$2"
mkdir -p "$2"
cp "$1"/in.* "$1/surrogate_lammps.py" "$2"
cd "$2"
$MPIRUN -n "$3" lmp -in in.record -log none -screen none -var data gas.h5 -var n_sample 5
sed -e 's/^train = .*/train = ["gas.h5"]/; s/^validation = .*/validation = 0.2/; s/^epochs = .*/epochs = 1/' \
    -e 's/^batch = .*/batch = 1/' "$1/train.toml" >train.toml
"$SURROGATE_PROGRAM" train train.toml
