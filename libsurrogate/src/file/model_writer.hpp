// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "libsurrogate/src/file/model_file.hpp"

namespace surrogate::impl {

struct WrittenTensor {
    TensorEntry entry;  ///< begin and end are not read
    std::span<const std::byte> data;
};

/// Writes card and tensors to a model file, which is renamed into place when it is complete. If the
/// card has checksums, they are replaced by the checksums of these tensors. Local. Throws
/// Error(io).
void save_model_file(const FileLayer& files, const std::string& path, const std::string& card,
                     std::span<const WrittenTensor> tensors);

}  // namespace surrogate::impl
