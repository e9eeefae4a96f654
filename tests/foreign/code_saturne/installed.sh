#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# installed.sh <run.sh> <folder> <stage> <libraries_of.sh> <prefix>: the user routines of a stage, compiled with what pkg-config
# says; the solver must take the libraries of the prefix.
set -e
sh "$1" "$2" build "$3"
sh "$4" "$5" "$2/build/$3/cs_solver"
