#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# installed.sh <installed library folder> <model> <launcher and ex45>: the plug-in that pkg-config names.
set -eu
libdir=$1 model=$2
shift 2
export PKG_CONFIG_PATH=$libdir/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
plugin=$(pkg-config --variable=plugin surrogate_petsc)
[ -f "$plugin" ] || { echo "no file: '$plugin'" >&2; exit 1; }
"$@" -dll_append "$plugin" -ksp_guess_type surrogate -surrogate_box 0,1,0,1,0,1 -surrogate_view -surrogate_model "$model"
