// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "coupling/hdf5/disk_file.hpp"
#include "coupling/timeloop/checkpoint_content.hpp"

namespace surrogate::timeloop {

/// Header of a checkpoint, which is the first bytes of the file (HDF5's user block), little endian:
///   0    magic, 16 bytes
///   16   format
///   24   size of the file
///   32   hash of the content
///   40   zeros
///   504  XXH3-64 of bytes 0 .. 503
struct Seal {
    static constexpr uint64_t known_format = 1;

    uint64_t format = known_format;
    uint64_t file_bytes = 0;
    uint64_t content_hash = 0;

    std::array<std::byte, seal_bytes> bytes() const;
};

/// Returns the header of a file. Does not read the content. Throws Error(BAD_FILE) if the header is
/// incomplete, inconsistent or has an unknown format. Local.
Seal read_seal(const h5::DiskFile& file, const std::string& name);

/// Returns the hash of the content behind the header of a file of `file_bytes` bytes: the XXH3-64
/// of the XXH3-64 of its pieces of 4 MiB. Each rank reads a part of the pieces. The result is the
/// same on all ranks. Collective; throws Error, the same on all ranks.
uint64_t content_hash(surrogate_context* context, const h5::DiskFile& file, uint64_t file_bytes);

}  // namespace surrogate::timeloop
