#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# build_nan.sh <run.sh> <folder> <routine>: the user routines of predict and one that makes a NaN, as build/nan.
set -e
example=$(dirname "$1")
mkdir -p "$2/example"
cp -r "$example/run.sh" "$example/case" "$2/example"
mkdir -p "$2/example/nan"
cp "$example"/predict/* "$example"/adapter/* "$3" "$2/example/nan"
sh "$2/example/run.sh" "$2" build nan
