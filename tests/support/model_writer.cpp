// SPDX-License-Identifier: Apache-2.0
#include "tests/support/model_writer.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>

namespace surrogate::test {

using nlohmann::json;

WriterTensor float_tensor(const std::string& name, const std::vector<int64_t>& shape,
                          std::span<const float> values) {
    std::string bytes(values.size_bytes(), '\0');
    if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
    return {name, "F32", shape, bytes};
}

std::string ModelWriter::card_text() const {
    json full = card;
    if (with_checksums)
        for (const WriterTensor& tensor : tensors)
            full["checksums"][tensor.name] = checksum_text(tensor.bytes);
    return full.dump();
}

std::string ModelWriter::header_text() const {
    json header = json::object();
    for (const auto& [key, text] : metadata) header["__metadata__"][key] = text;
    if (!card.is_null()) {
        const std::string text = card_text();
        header["__metadata__"]["surrogate.card"] = text;
        if (with_checksums) header["__metadata__"]["surrogate.card_checksum"] = checksum_text(text);
    }
    size_t begin = 0;
    for (const WriterTensor& tensor : tensors) {
        const size_t end = begin + tensor.bytes.size();
        header[tensor.name] = {
            {"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {begin, end}}};
        begin = end;
    }
    return header.dump();
}

std::string ModelWriter::bytes() const {
    std::string data;
    for (const WriterTensor& tensor : tensors) data += tensor.bytes;
    return safetensors_bytes(header_text(), data);
}

std::string safetensors_bytes(std::string_view header, std::string_view data) {
    std::string file;
    for (int i = 0; i < 8; ++i) file += static_cast<char>(uint64_t{header.size()} >> (8 * i));
    return file.append(header).append(data);
}

std::string checksum_text(std::string_view bytes) {
    constexpr char digits[] = "0123456789abcdef";
    const uint64_t number = XXH3_64bits(bytes.data(), bytes.size());
    std::string text;
    for (int shift = 60; shift >= 0; shift -= 4) text += digits[number >> shift & 15];
    return text;
}

json small_card() {
    return json::parse(R"json({
        "format": 1, "family": "flare", "network": {"in_dim": 3, "out_dim": 1},
        "inputs": [
            {"name": "x", "role": "coordinate", "axis": 0, "unit": "m", "mean": 0.5, "std": 0.25,
             "min": 0, "max": 1},
            {"name": "y", "role": "coordinate", "axis": 1, "unit": "m", "mean": 0.5, "std": 0.25,
             "min": 0, "max": 1},
            {"name": "mobility", "unit": "m^2/(Pa s)", "mean": 8.1, "std": 3.4, "min": 3.0,
             "max": 12.0}],
        "outputs": [{"name": "pressure", "unit": "Pa", "mean": 0.005, "std": 0.004}],
        "provenance": {"data": "made up", "license": "Apache-2.0"}})json");
}

ModelWriter small_model() {
    std::vector<float> values;
    for (int i = 0; i < 64; ++i) values.push_back(0.125f * static_cast<float>(i) - 3.f);
    const std::span<const float> all(values);
    ModelWriter model;
    model.card = small_card();
    model.with_checksums = true;
    model.metadata["format"] = "pt";
    model.tensors = {
        float_tensor("encoder.weight", {4, 3}, all.first(12)),
        float_tensor("encoder.bias", {4}, all.subspan(12, 4)),
        float_tensor("blocks.0.empty", {0, 3}, {}),
        float_tensor("decoder.weight", {1, 4}, all.subspan(16, 4)),
        {"decoder.scale", "BF16", {2, 2}, std::string("\x80\x3f\x00\x40\x40\x40\x00\x3f", 8)},
        {"steps", "I64", {1}, std::string("\x07\0\0\0\0\0\0\0", 8)},
        float_tensor("check/input/x", {4, 3}, all.subspan(20, 12)),
        float_tensor("check/output/y", {4, 1}, all.subspan(32, 4)),
        {"head.half", "F16", {3}, std::string("\x00\x3c\x01\x00\x00\xc4", 6)},
        {"head.double",
         "F64",
         {1, 2},
         std::string("\x9a\x99\x99\x99\x99\x99\xb9\x3f\0\0\0\0\0\0\xf8\x3f", 16)}};
    return model;
}

}  // namespace surrogate::test
