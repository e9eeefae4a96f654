# SPDX-License-Identifier: Apache-2.0
"""python3 device_images_test.py PLUGIN ARCHITECTURE,..

Fails unless every fat binary of the plug-in contains what its list of architectures promises
(kernels/device/device_images.hpp): machine code of "80-real", PTX of "80-virtual", both of "80".
Reads the fat binaries themselves, since not every toolkit comes with cuobjdump."""
import re
import struct
import sys

MAGIC = struct.pack("<I", 0xBA55ED50)
KINDS = {1: "PTX", 2: "machine code"}


def images(data):
    """Yields for each fat binary its set of (kind, architecture)."""
    begin = data.find(MAGIC)
    while begin >= 0:
        header, size = struct.unpack_from("<HQ", data, begin + 6)
        at, end, found = begin + header, begin + header + size, set()
        while at < end:
            kind, _, entry_header, entry_size = struct.unpack_from("<HHIQ", data, at)
            found.add((KINDS.get(kind, f"kind {kind}"), struct.unpack_from("<I", data, at + 28)[0]))
            at += entry_header + entry_size
        yield found
        begin = data.find(MAGIC, end)


def main(plugin, architectures):
    promised = set()
    for one in architectures.split(","):
        number = int(re.match("[0-9]+", one).group())
        promised |= {("machine code", number)} if not one.endswith("-virtual") else set()
        promised |= {("PTX", number)} if not one.endswith("-real") else set()
    with open(plugin, "rb") as file:
        binaries = list(images(file.read()))
    print(f"{len(binaries)} fat binaries, the first with {sorted(binaries[0]) if binaries else 'nothing'}")
    lacking = [sorted(promised - found) for found in binaries if promised - found]
    if lacking:
        print(f"{len(lacking)} of them lack {lacking[0]}")
    return 1 if lacking or not binaries else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
