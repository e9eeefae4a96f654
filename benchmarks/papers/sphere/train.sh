#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Data and models of the table of shallow water, in the current folder: two spherical models by
# surrogate train, two planar ones by PyTorch. Then the errors of all: CSV and figure in this folder.
#
#     PYTHON=venv/bin/python3 sh benchmarks/papers/sphere/train.sh [folder of the programs: build/bin]
#
# PYTHON has numpy, h5py, matplotlib and PyTorch.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
bin=$(cd "${1:-$here/../../../build/bin}" && pwd)
python=${PYTHON:-python3}
export PYTHONPATH="$here/../../../share/python" SURROGATE_LIBRARY_DIR="$bin/../lib"

"$bin/shallow_water" -data hours.h5 -runs 45 -nlat 32 -nlon 64 -L 11
"$bin/shallow_water" -data held_out.h5 -seed 101 -runs 3 -nlat 32 -nlon 64 -L 11
"$bin/surrogate" train "$here/train.toml"
sed 's/"neighborhood"/"global"/' "$here/train.toml" > global.toml
"$bin/surrogate" train global.toml
for mode in neighborhood global; do
    "$python" "$here/planar.py" hours.h5 held_out.h5 $mode planar_$mode.npy
done
"$python" "$here/shallow_water.py" held_out.h5 \
    "spherical, neighborhood=neighborhood/last.safetensors" "spherical, global=global/last.safetensors" \
    "planar, neighborhood=planar_neighborhood.npy" "planar, global=planar_global.npy" --output "$here/models"
