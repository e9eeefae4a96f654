// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "kernels/base/buffer.hpp"
#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/file/model_source.hpp"

namespace surrogate::impl {

/// A file beside a model file that the card names.
struct AttachedFile {
    std::string name;       ///< without folder
    uint64_t checksum = 0;  ///< XXH3-64 of its bytes
};

/// Throws bad_file unless `name` is a file name without folders. `key` begins the message.
void require_plain_name(const std::string& name, const std::string& key);

/// Returns the bytes of the file, which rank 0 reads; null if the model is not a file. Collective.
/// Throws the same on all ranks: io, bad_file (another checksum).
std::shared_ptr<const kernels::Buffer<std::byte>> load_attached(Communicator& comm,
                                                                const ModelSource& source,
                                                                const AttachedFile& file);

}  // namespace surrogate::impl
