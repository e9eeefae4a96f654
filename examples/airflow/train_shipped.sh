#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Trains the three shipped models of airflow again, in the current folder, from the beginning: data,
# Ball Sparse Attention in two parts, Sequoia, FLARE. The models are last.safetensors in
# airflow_bsa_sizes, airflow_sequoia and airflow_flare. About 70 minutes on one core; run it again after
# an interruption.
#
#     sh examples/airflow/train_shipped.sh [folder of the programs: build/bin]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
bin=$(cd "${1:-$here/../../build/bin}" && pwd)
. "$here/../train_or_resume.sh"

"$bin/airflow" -samples train -seed 1000 -shapes 200 -sample_points 1900,3800
"$bin/airflow" -samples large -seed 1200 -shapes 60 -sample_points 1900,2500,3800,5000,7600,10000,15500
"$bin/airflow" -samples huge -seed 1260 -shapes 12 -sample_points 20000
"$bin/airflow" -samples watch -seed 2000 -shapes 4 -sample_points 1900,7600
train_or_resume "$bin/surrogate" "$here/train_bsa.toml" airflow_bsa
train_or_resume "$bin/surrogate" "$here/train_bsa_sizes.toml" airflow_bsa_sizes
train_or_resume "$bin/surrogate" "$here/train_sequoia.toml" airflow_sequoia
train_or_resume "$bin/surrogate" "$here/train_flare.toml" airflow_flare
