// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace surrogate::test {

/// A tensor to be written: the type's name as safetensors spells it ("F32"), bytes little-endian
/// and row-major.
struct WriterTensor {
    std::string name;
    std::string dtype;
    std::vector<int64_t> shape;
    std::string bytes;
};

WriterTensor float_tensor(const std::string& name, const std::vector<int64_t>& shape,
                          std::span<const float> values);

/// Writes model files for tests, and checks nothing: a broken file is often what a test wants.
struct ModelWriter {
    std::vector<WriterTensor> tensors;  ///< in the order of the data
    nlohmann::json card;                ///< null: no card
    bool with_checksums =
        false;  ///< of all tensors, into the card, and of the card, into the metadata
    std::map<std::string, std::string> metadata;  ///< more keys

    std::string card_text() const;
    std::string header_text() const;
    std::string bytes() const;
};

/// 8 bytes of length, header, data.
std::string safetensors_bytes(std::string_view header, std::string_view data);

/// xxh3-64 as 16 hex digits, as cards hold it.
std::string checksum_text(std::string_view bytes);

/// A card of family "flare" with two coordinates, a field and an output.
nlohmann::json small_card();

/// A file of about 3 kB: weights of several types, one of them empty, and a check case;
/// small_card() and checksums.
ModelWriter small_model();

}  // namespace surrogate::test
