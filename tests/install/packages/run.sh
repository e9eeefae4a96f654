#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh <root>/usr <program> <argument>...: runs a program of the packages, and checks that it loads our libraries from the
# packages.
set -eu
root=$1
program=$1/bin/$2
shift 2
"$program" "$@"
sh "$(dirname "$0")/../libraries_of.sh" "$root" "$program"
