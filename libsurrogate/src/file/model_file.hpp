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
    TensorEntry entry;  ///< of the file, but dtype that of `data`
    kernels::Buffer<std::byte> data;

    /// The numbers as float; throws Error(bad_file) naming the tensor if it is stored as something
    /// else.
    std::span<const float> floats() const;
};

/// Contents of a model file, the same on every rank.
struct ModelFile {
    std::string card_text;
    Card card;
    std::vector<TensorEntry> entries;  ///< all tensors of the file, as stored
    std::vector<Tensor> tensors;       ///< those selected
};

/// Collective. Rank 0 opens, checks and reads the source; every rank gets the selected tensors
/// (`select` by name, the same answer on all ranks). Names are without the prefixes "module." and
/// "_orig_mod." that wrapped modules leave in a file, and then as `rename` leaves them, if there is
/// one; it is called on all ranks alike. `accept` sees card and entries on rank 0
/// before any tensor is read and throws if the file cannot be used (names or shapes that do not fit
/// the architecture). Checked here: everything of read_safetensors_header and parse_card, checksums
/// of all tensors of the file (of the bytes stored) if the card has them, finiteness of the
/// selected float tensors, for those stored as F64 after rounding. Tensors outside of check/ come
/// as float whatever float type they are stored in; those of check/ as they are.
/// Memory beyond the selected tensors: at most 32 MB. Errors are agreed on: all ranks throw the
/// same.
ModelFile load_model(
    Communicator& comm, const ModelSource& source,
    const std::function<bool(std::string_view name)>& select,
    const std::function<void(const Card&, std::span<const TensorEntry>)>& accept,
    const std::function<void(const Card&, std::vector<TensorEntry>&)>& rename = {});

/// The same from a file.
inline ModelFile load_model_file(
    Communicator& comm, const FileLayer& files, const std::string& path,
    const std::function<bool(std::string_view name)>& select,
    const std::function<void(const Card&, std::span<const TensorEntry>)>& accept) {
    return load_model(comm, PathSource(files, path), select, accept);
}

/// Keys of the metadata.
constexpr const char* card_key = "surrogate.card";
constexpr const char* card_checksum_key = "surrogate.card_checksum";

/// xxh3-64 as 16 hex digits, as cards hold it.
std::string checksum_text(std::span<const std::byte> bytes);

/// Tensor names of a check case begin with this.
constexpr std::string_view check_prefix = "check/";

}  // namespace surrogate::impl
