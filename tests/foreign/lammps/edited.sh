#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# edited.sh <examples/lammps> <folder> <ranks> <sed script>: runs in.predict after the edit.
set -e
rm -rf "$2"
mkdir -p "$2"
cp "$1"/in.* "$1/surrogate_lammps.py" "$2"
cd "$2"
sed -i "$4" in.predict
$MPIRUN -n "$3" lmp -in in.predict -log none -var model "$1/gas.safetensors" -var steps 2 -var thermostat none
