// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/core/file.hpp"
#include "libsurrogate/src/file/card.hpp"
#include "libsurrogate/src/file/model_source.hpp"
#include "libsurrogate/src/file/safetensors.hpp"

namespace surrogate::impl {

/// A tensor in memory, row-major, little-endian as in the file. Weights that are stored as F16,
/// BF16 or F64 are float32 here: the first two exactly, F64 rounded once.
struct Tensor {
    TensorEntry entry;  ///< entry of the file, with the dtype of `data`
    kernels::Buffer<std::byte> data;

    /// Returns the numbers as float; throws Error(bad_file) naming the tensor if it is stored as
    /// something else.
    std::span<const float> floats() const;
};

/// Contents of a model file, the same on every rank.
struct ModelFile {
    std::string card_text;
    Card card;
    std::vector<TensorEntry> entries;  ///< all tensors of the file, as stored
    std::vector<Tensor> tensors;       ///< those selected
    /// Bytes of the file beside it that the card names; null without one, or without a folder.
    std::shared_ptr<const kernels::Buffer<std::byte>> attached = {};
};

/// Reads a model. Rank 0 opens, checks and reads the source; every rank receives the selected
/// tensors (`select` by name, with the same result on all ranks). Names do not have the prefixes
/// "module." and "_orig_mod." that wrapped modules write to a file. `rename`, if given, then
/// changes them; it is called on all ranks. `accept` is called on rank 0 with card and entries
/// before any tensor is read, and throws if the file cannot be used (names or shapes that do not
/// fit the architecture). This function makes the checks of read_safetensors_header and parse_card,
/// compares the checksums of all tensors of the file (of the stored bytes) if the card has them,
/// and requires finite values in the selected float tensors (F64 tensors are checked after
/// rounding). Tensors outside of check/ are returned as float for every stored float type, tensors
/// in check/ as stored. Memory beyond the selected tensors: at most 32 MB. Collective; errors are
/// agreed on: all ranks throw the same.
ModelFile load_model(
    Communicator& comm, const ModelSource& source,
    const std::function<bool(std::string_view name)>& select,
    const std::function<void(const Card&, std::span<const TensorEntry>)>& accept,
    const std::function<void(const Card&, std::vector<TensorEntry>&)>& rename = {});

/// Loads a model as load_model() from a file.
inline ModelFile load_model_file(
    Communicator& comm, const FileLayer& files, const std::string& path,
    const std::function<bool(std::string_view name)>& select,
    const std::function<void(const Card&, std::span<const TensorEntry>)>& accept) {
    return load_model(comm, PathSource(files, path), select, accept);
}

/// Keys of the metadata.
constexpr const char* card_key = "surrogate.card";
constexpr const char* card_checksum_key = "surrogate.card_checksum";

/// Returns an xxh3-64 as 16 hex digits, the form in cards.
std::string checksum_text(uint64_t checksum);
std::string checksum_text(std::span<const std::byte> bytes);

/// Tensor names of a check case begin with this.
constexpr std::string_view check_prefix = "check/";

}  // namespace surrogate::impl
