// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/file/model_file.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <set>
#include <utility>

#include "libsurrogate/src/core/documentation.hpp"
#include "libsurrogate/src/core/text.hpp"
#include "libsurrogate/src/file/bad_file.hpp"
#include "libsurrogate/src/file/stored_floats.hpp"

namespace surrogate::impl {
namespace {

constexpr const char* check_key = "surrogate.check";

// Tensors that only their checksum is wanted of, or that become float, pass through a window of
// this size: large enough for a disk, far below the 32 MB that reading may take.
constexpr int64_t window_bytes = int64_t{1} << 20;

using Select = std::function<bool(std::string_view)>;
using Accept = std::function<void(const Card&, std::span<const TensorEntry>)>;
using Rename = std::function<void(const Card&, std::vector<TensorEntry>&)>;

/// Results that follow from the header alone, the same on every rank.
struct Contents {
    ModelFile model;                  // tensors empty
    std::vector<uint64_t> checksums;  // of model.entries; empty if the card has none
};

/// Rejects unknown keys "surrogate.*", which are reserved for this format, and keys that resemble
/// one of its keys. Other keys ("format": "pt") are ignored.
void check_metadata_keys(const std::map<std::string, std::string>& metadata) {
    const std::vector<std::string> known{card_key, check_key, card_checksum_key};
    for (const auto& [key, text] : metadata) {
        if (std::find(known.begin(), known.end(), key) != known.end()) continue;
        if (key.starts_with("surrogate.") || !near_misses(key, known).empty())
            fail_bad_file("unknown metadata key '" + printable(key) + "'" +
                          did_you_mean(key, known));
    }
}

std::string card_text(const std::map<std::string, std::string>& metadata) {
    const auto card = metadata.find(card_key);
    if (card == metadata.end())
        fail_bad_file(
            "no model card: the metadata key 'surrogate.card' is missing. Export from Python with "
            "safetensors.torch.save_file(model.state_dict(), path, "
            "metadata={\"surrogate.card\": json.dumps(card)}); " +
            documentation("reference/model-file.md") + " describes the card");
    return card->second;
}

void check_card_checksum(const std::map<std::string, std::string>& metadata,
                         const std::string& text) {
    const auto checksum = metadata.find(card_checksum_key);
    if (checksum == metadata.end()) return;
    const std::string where = std::string("metadata key '") + card_checksum_key + "'";
    const uint64_t expected = parse_checksum(checksum->second, where);
    const uint64_t found = XXH3_64bits(text.data(), text.size());
    if (found != expected)
        fail_bad_file(where + ": the card has changed: expected " + checksum_text(expected) +
                      ", found " + checksum_text(found));
}

/// Names without what torch.compile and DataParallel put before them.
void strip_prefixes(std::vector<TensorEntry>& entries) {
    std::set<std::string_view> names;
    for (TensorEntry& entry : entries) {
        for (bool again = true; again;) {
            again = false;
            for (const std::string_view prefix : {"_orig_mod.", "module."}) {
                if (!entry.name.starts_with(prefix)) continue;
                entry.name.erase(0, prefix.size());
                again = true;
            }
        }
        if (entry.name.empty()) fail_bad_file("a tensor has an empty name");
        if (!names.insert(entry.name).second)
            fail_bad_file("two tensors are called '" + printable(entry.name) +
                          "' without the prefixes '_orig_mod.' and 'module.'");
    }
}

std::string near_checksum(const std::string& name, const std::map<std::string, uint64_t>& by_name) {
    std::vector<std::string> names;
    for (const auto& [known, checksum] : by_name) names.push_back(known);
    return did_you_mean(name, names);
}

/// Returns the checksums in the order of the entries, or an empty vector if the card has none. A
/// card with checksums must have one for every tensor of the file and for no other tensor.
std::vector<uint64_t> checksums_of(const std::vector<TensorEntry>& entries,
                                   const std::map<std::string, uint64_t>& by_name) {
    std::vector<uint64_t> checksums;
    if (by_name.empty()) return checksums;
    std::set<std::string_view> in_file;
    for (const TensorEntry& entry : entries) {
        const auto found = by_name.find(entry.name);
        if (found == by_name.end())
            fail_bad_file("card key 'checksums': tensor '" + printable(entry.name) +
                          "' of the file has none" + near_checksum(entry.name, by_name));
        checksums.push_back(found->second);
        in_file.insert(entry.name);
    }
    for (const auto& [name, checksum] : by_name)
        if (!in_file.contains(name))
            fail_bad_file("card key 'checksums': the file has no tensor '" + printable(name) + "'");
    return checksums;
}

Contents interpret(const SafetensorsText& text, const Rename& rename) {
    SafetensorsHeader header = parse_safetensors_text(text);
    check_metadata_keys(header.metadata);
    Contents contents;
    contents.model.card_text = card_text(header.metadata);
    check_card_checksum(header.metadata, contents.model.card_text);
    contents.model.card = parse_card(contents.model.card_text);
    contents.model.entries = std::move(header.tensors);
    contents.checksums = checksums_of(contents.model.entries, contents.model.card.checksums);
    strip_prefixes(contents.model.entries);
    if (rename) rename(contents.model.card, contents.model.entries);
    return contents;
}

/// Weights of another float type than ours.
bool is_converted(const TensorEntry& entry) {
    return is_float(entry.dtype) && entry.dtype != DType::float32 &&
           !entry.name.starts_with(check_prefix);
}

void allocate_tensors(ModelFile& model, const Select& select) {
    for (const TensorEntry& entry : model.entries) {
        if (!select(entry.name)) continue;
        int64_t n_byte = entry.end - entry.begin;
        if (is_converted(entry)) n_byte = n_byte / width(entry.dtype) * width(DType::float32);
        Tensor& tensor = model.tensors.emplace_back(entry, kernels::Buffer<std::byte>(n_byte));
        if (is_converted(entry)) tensor.entry.dtype = DType::float32;
    }
}

// Neither infinite nor NaN: some bit of the exponent is 0. Integers, so that no trap of the host
// can spring.
template <class Word>
int64_t first_not_finite(const std::byte* data, int64_t n, Word exponent) {
    for (int64_t i = 0; i < n; ++i) {
        Word word;
        std::memcpy(&word, data + i * static_cast<int64_t>(sizeof word), sizeof word);
        if ((word & exponent) == exponent) return i;
    }
    return -1;
}

void check_finite(const Tensor& tensor, DType stored) {
    const DType dtype = tensor.entry.dtype;
    const std::byte* data = tensor.data.data();
    const int64_t n = tensor.data.size() / width(dtype);
    int64_t index = -1;
    if (dtype == DType::float16) index = first_not_finite<uint16_t>(data, n, 0x7c00);
    if (dtype == DType::bfloat16) index = first_not_finite<uint16_t>(data, n, 0x7f80);
    if (dtype == DType::float32) index = first_not_finite<uint32_t>(data, n, 0x7f800000);
    if (dtype == DType::float64) index = first_not_finite<uint64_t>(data, n, 0x7ff0000000000000);
    if (index < 0) return;
    const bool is_rounded = stored == DType::float64 && dtype == DType::float32;
    fail_bad_file(
        "tensor '" + printable(tensor.entry.name) + "' of shape " + shape_text(tensor.entry.shape) +
        " is not finite at flat index " + std::to_string(index) +
        (is_rounded ? "; it is stored as F64, and weights are rounded to single precision, which "
                      "ends at 3.4e38"
                    : ""));
}

/// A tensor's bytes piece by piece: use(bytes, how many, how many came before). Its checksum.
template <class Use>
uint64_t read_in_pieces(const File& file, const TensorEntry& entry,
                        kernels::Buffer<std::byte>& window, Use use) {
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    for (int64_t at = entry.begin; at < entry.end; at += window.size()) {
        const int64_t count = std::min(window.size(), entry.end - at);
        file.read(at, window.data(), count);
        XXH3_64bits_update(&state, window.data(), static_cast<size_t>(count));
        use(window.data(), count, at - entry.begin);
    }
    return XXH3_64bits_digest(&state);
}

uint64_t read_as_float(const File& file, const TensorEntry& entry,
                       kernels::Buffer<std::byte>& window, Tensor& tensor) {
    const int64_t width_stored = width(entry.dtype);  // divides the window
    auto* const floats = reinterpret_cast<float*>(tensor.data.data());
    return read_in_pieces(
        file, entry, window, [&](const std::byte* bytes, int64_t count, int64_t before) {
            to_float(entry.dtype, bytes, count / width_stored, floats + before / width_stored);
        });
}

uint64_t read_as_stored(const File& file, const TensorEntry& entry, Tensor& tensor) {
    file.read(entry.begin, tensor.data.data(), tensor.data.size());
    return XXH3_64bits(tensor.data.data(), static_cast<size_t>(tensor.data.size()));
}

/// Reads the selected tensors in the order of the file, compares the checksums of all tensors, and
/// rejects numbers that are not finite.
void read_tensors(const File& file, Contents& contents) {
    ModelFile& model = contents.model;
    const bool has_checksums = !contents.checksums.empty();
    const bool has_conversion = std::ranges::any_of(model.entries, is_converted);
    kernels::Buffer<std::byte> window(has_checksums || has_conversion ? window_bytes : 0);
    std::vector<DType> stored;  // of model.tensors
    size_t next = 0;
    for (size_t i = 0; i < model.entries.size(); ++i) {
        const TensorEntry& entry = model.entries[i];
        const bool is_selected =
            next < model.tensors.size() && model.tensors[next].entry.name == entry.name;
        uint64_t found = 0;
        if (is_selected) {
            Tensor& tensor = model.tensors[next++];
            stored.push_back(entry.dtype);
            found = is_converted(entry) ? read_as_float(file, entry, window, tensor)
                                        : read_as_stored(file, entry, tensor);
        } else if (has_checksums) {
            found = read_in_pieces(file, entry, window, [](const std::byte*, int64_t, int64_t) {});
        }
        if (has_checksums && found != contents.checksums[i])
            fail_bad_file("tensor '" + printable(entry.name) + "' at offset " +
                          std::to_string(entry.begin) + " has changed: expected checksum " +
                          checksum_text(contents.checksums[i]) + ", found " + checksum_text(found));
    }
    for (size_t i = 0; i < stored.size(); ++i) check_finite(model.tensors[i], stored[i]);
}

/// All that can fail for reasons of the file, on the rank that reads it.
Contents read_model(const File& file, SafetensorsText& text, const Select& select,
                    const Accept& accept, const Rename& rename) {
    text = read_safetensors_text(file);
    Contents contents = interpret(text, rename);
    accept(contents.model.card, contents.model.entries);
    allocate_tensors(contents.model, select);
    read_tensors(file, contents);
    return contents;
}

}  // namespace

std::string checksum_text(uint64_t checksum) {
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016" PRIx64, checksum);
    return digits;
}

std::string checksum_text(std::span<const std::byte> bytes) {
    return checksum_text(XXH3_64bits(bytes.data(), bytes.size()));
}

std::span<const float> Tensor::floats() const {
    if (entry.dtype != DType::float32)
        fail_bad_file("tensor '" + printable(entry.name) + "': expected F32, found " +
                      impl::name(entry.dtype));
    return {reinterpret_cast<const float*>(data.data()), static_cast<size_t>(data.size()) / 4};
}

ModelFile load_model(Communicator& comm, const ModelSource& source, const Select& select,
                     const Accept& accept, const Rename& rename) {
    const bool is_reader = comm.rank() == 0;
    SafetensorsText text;
    Contents contents;
    comm.agree([&] {
        if (!is_reader) return;
        const std::unique_ptr<File> file = source.open();
        try {
            contents = read_model(*file, text, select, accept, rename);
        } catch (const Error& error) {
            if (error.status() == Status::io) throw;  // names the path itself
            throw Error(error.status(), source.name() + ": " + error.what());
        }
    });
    // The other ranks get the header and draw the same conclusions from it.
    int64_t sizes[] = {std::ssize(text.json), text.data_begin, text.file_size};
    comm.broadcast(sizes, sizeof sizes, 0);
    comm.agree([&] {
        if (is_reader) return;
        text.json.resize(static_cast<size_t>(sizes[0]));
        text.data_begin = sizes[1];
        text.file_size = sizes[2];
    });
    comm.broadcast(text.json.data(), sizes[0], 0);
    comm.agree([&] {
        if (is_reader) return;
        contents = interpret(text, rename);
        allocate_tensors(contents.model, select);
    });
    for (Tensor& tensor : contents.model.tensors)
        comm.broadcast(tensor.data.data(), tensor.data.size(), 0);
    return std::move(contents.model);
}

}  // namespace surrogate::impl
