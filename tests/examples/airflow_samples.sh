#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# airflow_samples.sh AIRFLOW FOLDER LAUNCHER..: data sets have the same bytes on one and three ranks.
set -eu
airflow=$1 folder=$2
shift 2
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
for ranks in 1 3; do
    "$@" -n $ranks "$airflow" -samples ranks_$ranks -panels 500 -shapes 2 -sample_points 600,900
done
for n in 600 900; do cmp ranks_1/cars_$n.h5 ranks_3/cars_$n.h5; done
