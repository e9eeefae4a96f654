#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bare_debian.sh <folder of .deb files> <scratch folder>: a bare Debian 12 in a folder (debootstrap), the packages installed by
# apt with what they depend on, the program run, an example built and run there. Needs root and Debian's archive; about a
# gigabyte is downloaded, so that it runs only where it is asked for (SURROGATE_TEST_BARE_DEBIAN).
set -eu
packages=$(realpath "$1")
root=$2/bare
[ "$(id -u)" -eq 0 ] && command -v debootstrap >/dev/null || { echo "SKIPPED: needs root and debootstrap"; exit 0; }

mkdir -p "$2"
[ -f "$root/etc/debian_version" ] || debootstrap --variant=minbase bookworm "$root" >"$2/debootstrap.log"
cp /etc/resolv.conf "$root/etc/"
cp -r /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/"   # a proxy, where there is one
rm -rf "$root/packages"
mkdir "$root/packages"
cp "$packages"/*.deb "$root/packages"
in_root() {
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C DEBIAN_FRONTEND=noninteractive \
        ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} chroot "$root" "$@"
}
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d" # no services are started
chmod 755 "$root/usr/sbin/policy-rc.d"

in_root apt-get update -q
in_root sh -c 'apt-get install -qy --no-install-recommends /packages/libsurrogate0*.deb /packages/surrogate-tools*.deb'
in_root surrogate info /usr/share/surrogate/models/darcy_flow.safetensors
in_root surrogate check /usr/share/surrogate/models/darcy_flow.safetensors

in_root sh -c 'apt-get install -qy --no-install-recommends /packages/libsurrogate-dev*.deb cmake make g++'
in_root cmake -S /usr/share/surrogate/examples/01_first_result -B /first
in_root cmake --build /first
in_root /first/first_result
in_root sh -c 'apt-get purge -qy libsurrogate0.2 surrogate-tools libsurrogate-dev'
if find "$root/usr" -name '*surrogate*' | grep .; then
    echo "purged, and yet there" >&2
    exit 1
fi
echo "installed, run and purged on Debian $(cat "$root/etc/debian_version")"
