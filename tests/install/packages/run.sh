#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh <root>/usr <program> <argument>...: runs a program of the packages, and says whether the libraries of ours that it
# takes are those of the packages.
set -eu
root=$1
program=$1/bin/$2
shift 2
"$program" "$@"
sh "$(dirname "$0")/../libraries_of.sh" "$root" "$program"
