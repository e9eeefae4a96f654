// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libsurrogate/src/core/file.hpp"

namespace surrogate::impl {

enum class DType {
    float16,
    bfloat16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
    boolean
};

/// Returns the bytes of one element.
int64_t width(DType dtype);
const char* name(DType dtype);

/// Location of a tensor in the file: bytes [begin, end) counted from the start of the file.
struct TensorEntry {
    std::string name;
    DType dtype = DType::float32;
    std::vector<int64_t> shape;
    int64_t begin = 0, end = 0;
};

/// Returns width times shape. Throws Error(bad_file) naming the tensor beyond 2^63; no extent is
/// negative.
int64_t bytes_of(const TensorEntry& entry);

/// The header of a safetensors file: 8 bytes length, JSON, data. Tensors in order of their data.
struct SafetensorsHeader {
    std::map<std::string, std::string> metadata;
    std::vector<TensorEntry> tensors;
};

/// Reads and checks the header of an untrusted file. When this returns, every size and offset is
/// validated: shapes times widths equal the intervals, which are sorted, contiguous and end with
/// the file. Allocates memory for the header only (at most 16 MB). Throws Error(bad_file) or
/// Error(io). Source: github.com/huggingface/safetensors, format of version 0.4.
SafetensorsHeader read_safetensors_header(const File& file);

/// The same in two steps, for a rank that gets the text from another one.
struct SafetensorsText {
    std::string json;  ///< without the blanks that pad its end
    int64_t data_begin = 0;
    int64_t file_size = 0;
};
SafetensorsText read_safetensors_text(const File& file);
SafetensorsHeader parse_safetensors_text(const SafetensorsText& text);

/// Returns the bytes before the data of a file that holds `tensors` one after the other, each of
/// bytes_of() it (begin and end are not read). Texts are UTF-8 that the reader checks; they are
/// written as given.
std::string safetensors_header(const std::map<std::string, std::string>& metadata,
                               std::span<const TensorEntry> tensors);

}  // namespace surrogate::impl
