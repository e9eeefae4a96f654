#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# libraries_of.sh <folder> <program or library>: whether the libraries of ours that it takes lie below the folder.
set -eu
ours=$(ldd "$2" | grep libsurrogate)
if echo "$ours" | grep -v "=> $1/"; then
    echo "taken from elsewhere than $1" >&2
    exit 1
fi
echo "libraries below the root"
