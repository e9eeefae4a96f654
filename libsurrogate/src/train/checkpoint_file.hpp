// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/core/file.hpp"
#include "libsurrogate/src/file/json.hpp"
#include "libsurrogate/src/file/safetensors.hpp"

namespace surrogate::impl {

/// One tensor of a checkpoint that is to be written.
struct CheckpointTensor {
    TensorEntry entry;  ///< begin and end are not read
    /// Its bytes on rank 0. Called twice, on all ranks, which may communicate.
    std::function<std::span<const std::byte>()> data;
};

/// Writes a checkpoint: a safetensors file whose metadata hold `about` with the checksums of all
/// tensors, and a checksum of the metadata. The file is renamed into place when it is complete.
/// Collective: rank 0 writes; errors are agreed on.
void write_checkpoint(Communicator& comm, const FileLayer& files, const std::string& path,
                      const nlohmann::json& about, std::span<const CheckpointTensor> tensors);

/// A checkpoint, read on one rank. All functions are local and throw bad_file or io.
class CheckpointFile {
public:
    CheckpointFile(const FileLayer& files, const std::string& path);

    /// Returns the writer's description, with `checksums`.
    const nlohmann::json& about() const { return *about_; }
    const std::vector<TensorEntry>& entries() const { return entries_; }

    bool has(const std::string& tensor) const;

    /// Reads the bytes of a tensor, which must have this type and shape and its checksum.
    void read(const TensorEntry& expected, std::span<std::byte> to) const;

private:
    const TensorEntry& find(const TensorEntry& expected) const;

    std::string path_;
    std::unique_ptr<File> file_;
    std::vector<TensorEntry> entries_;
    JsonTree about_;
};

}  // namespace surrogate::impl
