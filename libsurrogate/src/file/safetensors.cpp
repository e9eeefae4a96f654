// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/file/safetensors.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "kernels/base/error.hpp"
#include "libsurrogate/src/core/text.hpp"
#include "libsurrogate/src/file/bad_file.hpp"
#include "libsurrogate/src/file/foreign_file.hpp"
#include "libsurrogate/src/file/json.hpp"

namespace surrogate::impl {
namespace {

using nlohmann::json;

constexpr int64_t length_bytes = 8;
constexpr int64_t longest_header = int64_t{16} << 20;
constexpr int64_t largest_extent = int64_t{1} << 48;
constexpr size_t most_axes = 8;

struct TypeInfo {
    DType dtype;
    const char* name;
    int64_t width;
};

constexpr std::array<TypeInfo, 13> types{{{DType::float16, "F16", 2},
                                          {DType::bfloat16, "BF16", 2},
                                          {DType::float32, "F32", 4},
                                          {DType::float64, "F64", 8},
                                          {DType::int8, "I8", 1},
                                          {DType::int16, "I16", 2},
                                          {DType::int32, "I32", 4},
                                          {DType::int64, "I64", 8},
                                          {DType::uint8, "U8", 1},
                                          {DType::uint16, "U16", 2},
                                          {DType::uint32, "U32", 4},
                                          {DType::uint64, "U64", 8},
                                          {DType::boolean, "BOOL", 1}}};

const TypeInfo& info(DType dtype) {
    return types[static_cast<size_t>(dtype)];
}

DType parse_dtype(const json& value, const std::string& where) {
    const std::string& text = string_of(value, where);
    std::string all;
    for (const TypeInfo& type : types) {
        if (text == type.name) return type.dtype;
        all += (all.empty() ? "" : ", ") + std::string(type.name);
    }
    fail_bad_file(where + ": expected one of " + all + ", found " + found_text(value));
}

std::vector<int64_t> parse_shape(const json& value, const std::string& where) {
    if (!value.is_array() || value.size() > most_axes)
        fail_bad_file(where + ": expected an array of at most " + std::to_string(most_axes) +
                      " extents, found " + found_text(value));
    std::vector<int64_t> shape;
    for (const json& extent : value) shape.push_back(count_of(extent, where, largest_extent));
    return shape;
}

/// One tensor, its interval still counted from the start of the data.
TensorEntry parse_entry(std::string&& tensor, const json& value, int64_t data_bytes) {
    const std::string where = "tensor '" + printable(tensor) + "'";
    require_keys(value, where, {"dtype", "shape", "data_offsets"});
    TensorEntry entry;
    entry.name = std::move(tensor);
    entry.dtype = parse_dtype(member(value, "dtype", where), where + " key 'dtype'");
    entry.shape = parse_shape(member(value, "shape", where), where + " key 'shape'");
    const json& offsets = member(value, "data_offsets", where);
    const std::string where_offsets = where + " key 'data_offsets'";
    if (!offsets.is_array() || offsets.size() != 2)
        fail_bad_file(where_offsets + ": expected [begin, end], found " + found_text(offsets));
    entry.begin = count_of(offsets[0], where_offsets, data_bytes);
    entry.end = count_of(offsets[1], where_offsets, data_bytes);
    const int64_t expected = bytes_of(entry);
    if (entry.end - entry.begin != expected)
        fail_bad_file(where_offsets + ": expected end - begin = " + std::to_string(expected) +
                      " bytes for shape " + shape_text(entry.shape) + " of " + name(entry.dtype) +
                      ", found [" + std::to_string(entry.begin) + ", " + std::to_string(entry.end) +
                      "]");
    return entry;
}

std::map<std::string, std::string> parse_metadata(const json& value) {
    if (!value.is_object())
        fail_bad_file("header key '__metadata__': expected an object, found " + found_text(value));
    std::map<std::string, std::string> metadata;
    for (const auto& [key, text] : value.items())
        metadata[key] = string_of(text, "metadata key '" + printable(key) + "'");
    return metadata;
}

/// Sorts the tensors by offset and rejects gaps, overlaps and bytes that do not belong to a tensor.
void require_contiguous(std::vector<TensorEntry>& tensors, int64_t data_bytes) {
    std::sort(tensors.begin(), tensors.end(), [](const TensorEntry& a, const TensorEntry& b) {
        return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
    });
    int64_t expected = 0;
    for (const TensorEntry& entry : tensors) {
        if (entry.begin != expected)
            fail_bad_file("tensor '" + printable(entry.name) +
                          "' key 'data_offsets': expected begin " + std::to_string(expected) +
                          " (tensors follow each other without gap or overlap)" + ", found [" +
                          std::to_string(entry.begin) + ", " + std::to_string(entry.end) + "]");
        expected = entry.end;
    }
    if (expected != data_bytes)
        fail_bad_file("data: the tensors end at data offset " + std::to_string(expected) +
                      ", the file at data offset " + std::to_string(data_bytes) +
                      "; is the file truncated or has something been appended?");
}

/// A file whose header length cannot be: what it seems to be instead, or the numbers.
[[noreturn]] void fail_length(const File& file, uint64_t length, int64_t most) {
    const std::string where = "header length at offset 0: ";
    std::string begin(static_cast<size_t>(std::min(file.size(), foreign_file_bytes)), '\0');
    file.read(0, begin.data(), std::ssize(begin));
    if (const std::string advice = foreign_file(begin); !advice.empty())
        fail_bad_file(where + advice);
    fail_bad_file(where + "expected 2 to " + std::to_string(most) + " bytes in a file of " +
                  std::to_string(file.size()) + ", found " + std::to_string(length) +
                  "; is this a safetensors file, and complete?");
}

}  // namespace

int64_t width(DType dtype) {
    return info(dtype).width;
}

const char* name(DType dtype) {
    return info(dtype).name;
}

/// Returns the size of a tensor. Zero extents are omitted from the product of the overflow check,
/// so (2^48, 2^48, 0) is rejected like (2^48, 2^48).
int64_t bytes_of(const TensorEntry& entry) {
    int64_t product = width(entry.dtype);
    bool is_empty = false;
    for (const int64_t extent : entry.shape) {
        is_empty = is_empty || extent == 0;
        if (__builtin_mul_overflow(product, std::max<int64_t>(extent, 1), &product))
            fail_bad_file("tensor '" + printable(entry.name) + "': shape " +
                          shape_text(entry.shape) + " has more than 2^63 bytes");
    }
    return is_empty ? 0 : product;
}

SafetensorsText read_safetensors_text(const File& file) {
    const int64_t size = file.size();
    if (size < length_bytes + 2)
        fail_bad_file("header length at offset 0: the file has " + std::to_string(size) +
                      " bytes, a safetensors file at least " + std::to_string(length_bytes + 2));
    unsigned char bytes[length_bytes];
    file.read(0, bytes, length_bytes);
    uint64_t length = 0;
    for (int i = length_bytes - 1; i >= 0; --i) length = length << 8 | bytes[i];
    // By subtraction: length + 8 may wrap.
    const int64_t most = std::min(longest_header, size - length_bytes);
    // The magic bytes of other formats are lengths far beyond the longest header, so that a file
    // which could be one of ours is never taken for another.
    if (length < 2 || length > static_cast<uint64_t>(most)) fail_length(file, length, most);
    SafetensorsText text;
    text.data_begin = length_bytes + static_cast<int64_t>(length);
    text.file_size = size;
    text.json.resize(length);
    file.read(length_bytes, text.json.data(), static_cast<int64_t>(length));
    while (text.json.ends_with(' ')) text.json.pop_back();
    text.json.shrink_to_fit();
    return text;
}

SafetensorsHeader parse_safetensors_text(const SafetensorsText& text) {
    if (!text.json.starts_with('{'))
        fail_bad_file("header at offset 8: expected '{', found '" +
                      printable(text.json.substr(0, 1)) + "'");
    const int64_t data_bytes = text.file_size - text.data_begin;
    JsonTree tree(parse_json(text.json, "header"));
    json& root = tree.root();
    SafetensorsHeader header;
    // Taken out of the tree one by one: names and tree are never held twice.
    for (auto& members = root.get_ref<json::object_t&>(); !members.empty();) {
        auto member = members.extract(members.begin());
        const JsonTree value(std::move(member.mapped()));
        if (member.key() == "__metadata__")
            header.metadata = parse_metadata(*value);
        else
            header.tensors.push_back(parse_entry(std::move(member.key()), *value, data_bytes));
    }
    require_contiguous(header.tensors, data_bytes);
    for (TensorEntry& entry : header.tensors) {
        entry.begin += text.data_begin;
        entry.end += text.data_begin;
    }
    return header;
}

SafetensorsHeader read_safetensors_header(const File& file) {
    return parse_safetensors_text(read_safetensors_text(file));
}

namespace {

std::string json_text(std::string_view text) {
    std::string to = "\"";
    for (const char c : text) {
        const auto code = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') to += '\\';
        if (code < 0x20)
            to += {'\\', 'u', '0', '0', code < 0x10 ? '0' : '1', "0123456789abcdef"[code % 16]};
        else
            to += c;
    }
    return to += '"';
}

std::string entry_text(const TensorEntry& tensor, int64_t begin, int64_t end) {
    std::string shape;
    for (const int64_t extent : tensor.shape)
        shape += (shape.empty() ? "" : ",") + std::to_string(extent);
    return json_text(tensor.name) + ":{\"dtype\":\"" + name(tensor.dtype) + "\",\"shape\":[" +
           shape + "],\"data_offsets\":[" + std::to_string(begin) + "," + std::to_string(end) +
           "]}";
}

}  // namespace

std::string safetensors_header(const std::map<std::string, std::string>& metadata,
                               std::span<const TensorEntry> tensors) {
    std::string text(length_bytes, '\0');
    text += "{\"__metadata__\":{";
    for (const auto& [key, value] : metadata)
        text += (text.ends_with('{') ? "" : ",") + json_text(key) + ":" + json_text(value);
    text += '}';
    int64_t begin = 0;
    for (const TensorEntry& tensor : tensors) {
        int64_t end = 0;
        if (__builtin_add_overflow(begin, bytes_of(tensor), &end))
            fail_bad_file("tensor '" + printable(tensor.name) + "' ends beyond 2^63 bytes");
        text += "," + entry_text(tensor, begin, end);
        begin = end;
    }
    text += '}';
    text.append((length_bytes - text.size() % length_bytes) % length_bytes, ' ');
    const uint64_t length = text.size() - length_bytes;
    for (size_t i = 0; i < length_bytes; ++i) text[i] = static_cast<char>(length >> (8 * i) & 0xff);
    return text;
}

}  // namespace surrogate::impl
