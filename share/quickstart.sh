#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# From a fresh Debian 12 to a first result: installs what is missing, builds the library, the program `surrogate` and the
# examples darcy_flow, shallow_water and airflow into build/, and runs them. Can be run again; only what is missing is done.
#
#     sh share/quickstart.sh            as root, or as a user with sudo
set -eu
cd "$(dirname "$0")/.."
. share/packages.sh

build=build
car=$build/airflow
results=$build/darcy_flow
weather=$build/shallow_water

say() { printf '\n== %s\n' "$*"; }

start_clock
say "1/5 packages"
install_packages build

# Build: the folder that share/test.sh uses too; what one of them has compiled the other does not compile again.
say "2/5 building the library, the program and the examples into $build/"
if [ -f $build/CMakeCache.txt ]; then
    cmake --preset release
else
    cmake --preset release -DSURROGATE_TESTS=OFF
fi
cmake --build $build -j "$(nproc)" --target surrogate_program airflow darcy_flow shallow_water

# Run: more ranks than cores is fine here, waiting ranks give way.
export OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none   # containers forbid it, with a warning a rank
export OPENBLAS_NUM_THREADS=1
mpirun="mpirun --oversubscribe"
if [ "$(id -u)" -eq 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    mpirun="$mpirun --allow-run-as-root"
fi
say "3/5 the pressure on a car: a trained surrogate beside a panel method with more and fewer panels, on 1 rank"
$mpirun -n 1 $build/bin/airflow -sweep -seed 3001 -sweep_points 3800 -sweep_panels 2000,4000,6000,8000 -near 3 -ksp_rtol 1e-4 \
    -sweep_rounds 1 -surrogate_threads 1
$mpirun -n 1 $build/bin/airflow -seed 3001 -shapes 1 -points 3800 -surrogate_threads 1 -output $car

say "4/5 a flow solver with a trained surrogate for its pressure, on 4 ranks, four ways"
$mpirun -n 4 $build/bin/darcy_flow -compare -output $results

say "5/5 weather on a sphere: a spectral solver with a trained emulator beside it, on 4 ranks"
mkdir -p $weather
$mpirun -n 4 $build/bin/shallow_water -truncate -days 1 -output $weather

say "$(print_duration "done")"
echo "The car:           $car/cars.pvd (ParaView); a picture: $car/car_3001.png"
echo "Fields in time:    $results/solver.pvd and $results/surrogate.pvd (ParaView); a picture: $results/fields.png"
echo "And on the globe:  $weather/solver.pvd and $weather/surrogate.pvd; a picture: $weather/vorticity.png"
echo "Where it pays:     \"at equal error\" above, and share/doc/tutorials/airflow.md"
echo "Look at the model: $build/bin/surrogate info share/models/darcy_flow.safetensors   (and: surrogate check)"
echo "Try next:          $mpirun -n 4 $build/bin/darcy_flow -tolerances   then read share/doc/how-to/initial-guess.md"
