#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Debian's package openfoam has no headers. This script copies the headers that the function object needs from the
# distribution's source package of the same version: 45 MB to download, 40 MB in the folder. It does not change the list
# of packages on the machine.
#
#     sh headers.sh FOLDER            then: cmake .. -DOPENFOAM_DIR=FOLDER
set -eu
[ $# -eq 1 ] || { echo "usage: sh headers.sh FOLDER" >&2; exit 2; }
version=$(dpkg-query -W -f='${source:Version}' openfoam 2>/dev/null) ||
    { echo "package openfoam is not installed: apt-get install --no-install-recommends openfoam" >&2; exit 1; }
mkdir -p "$1"
folder=$(cd "$1" && pwd)
work=$folder/download
mkdir -p "$work/lists/partial" "$work/cache/archives/partial"

# The source packages are on the server of the binary packages.
uri=$(sed -n 's/^URIs: *\([^ ]*\).*/\1/p; s/^deb \(\[[^]]*\] \)\{0,1\}\([^ ]*\) .*/\2/p' /etc/apt/sources.list.d/*.sources \
    /etc/apt/sources.list 2>/dev/null | head -n 1)
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
echo "deb-src $uri $suite main" >"$work/sources.list"
apt="apt-get -q -o Dir::Etc::sourcelist=$work/sources.list -o Dir::Etc::sourceparts=- -o Dir::State::lists=$work/lists
    -o Dir::Cache=$work/cache -o APT::Sandbox::User=$(id -un)"
$apt update
(cd "$work" && $apt source --download-only "openfoam=$version")

tar -xjf "$work"/openfoam_*.orig.tar.bz2 -C "$folder" --strip-components=1 --wildcards '*/src/OpenFOAM/*' \
    '*/src/OSspecific/*' '*/src/finiteVolume/*' '*/src/meshTools/*' '*/wmake/*'
for part in OpenFOAM OSspecific/POSIX finiteVolume meshTools; do
    WM_DIR=$folder/wmake WM_PROJECT_DIR=$folder bash "$folder/wmake/wmakeLnInclude" "$folder/src/$part" >/dev/null
done
rm -r "$work"
echo "headers of openfoam $version: -DOPENFOAM_DIR=$folder"
