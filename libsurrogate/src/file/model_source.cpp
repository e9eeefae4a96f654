// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/file/model_source.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "kernels/base/error.hpp"
#include "libsurrogate/src/core/text.hpp"
#include "libsurrogate/src/file/model_file.hpp"
#include "libsurrogate/src/file/safetensors.hpp"

namespace surrogate::impl {
namespace {

using kernels::Error;
using kernels::Status;

using Piece = std::span<const std::byte>;

/// A file in memory: a text of its own, then pieces of the caller's.
class MemoryFile final : public File {
public:
    MemoryFile(std::string head, std::vector<Piece> pieces)
        : head_(std::move(head)), pieces_(std::move(pieces)) {
        pieces_.insert(pieces_.begin(), std::as_bytes(std::span(head_)));
        for (const Piece& piece : pieces_) size_ += std::ssize(piece);
    }

    int64_t size() const override { return size_; }

    void read(int64_t offset, void* to, int64_t n_byte) const override {
        if (offset < 0 || n_byte < 0 || offset > size_ || n_byte > size_ - offset)
            throw Error(Status::io, "a model in memory ends at offset " + std::to_string(size_));
        auto* next = static_cast<std::byte*>(to);
        for (const Piece& piece : pieces_) {
            const int64_t begin = std::min(offset, std::ssize(piece));
            const int64_t count = std::min(n_byte, std::ssize(piece) - begin);
            if (count > 0) std::memcpy(next, piece.data() + begin, static_cast<size_t>(count));
            next += count;
            n_byte -= count;
            offset -= begin;
        }
    }

private:
    std::string head_;
    std::vector<Piece> pieces_;
    int64_t size_ = 0;
};

[[noreturn]] void fail(Status status, const std::string& text) {
    throw Error(status, text);
}

DType dtype_of(const surrogate_tensor& tensor, const std::string& what) {
    switch (tensor.dtype) {
        case SURROGATE_FLOAT32: return DType::float32;
        case SURROGATE_FLOAT64: return DType::float64;
        case SURROGATE_INT32: return DType::int32;
        case SURROGATE_INT64: return DType::int64;
        case SURROGATE_UINT8: return DType::uint8;
        default: break;
    }
    fail(Status::invalid_argument, what + ": dtype " + std::to_string(tensor.dtype) +
                                       " does not exist; weights are SURROGATE_FLOAT32 or "
                                       "SURROGATE_FLOAT64");
}

/// Name, type and shape, checked as far as memory is concerned; the reader checks the rest.
TensorEntry entry_of(const surrogate_tensor& tensor, int32_t index) {
    if (!tensor.name)
        fail(Status::invalid_argument, "name of tensor " + std::to_string(index) + " is NULL");
    const std::string what = "tensor '" + printable(tensor.name) + "'";
    constexpr auto most_axes = static_cast<int32_t>(std::size(surrogate_tensor{}.shape));
    if (tensor.n_dim < 0 || tensor.n_dim > most_axes)
        fail(Status::shape,
             what + ": n_dim is " + std::to_string(tensor.n_dim) + ", expected 0 to 8");
    TensorEntry entry{
        tensor.name, dtype_of(tensor, what), {tensor.shape, tensor.shape + tensor.n_dim}};
    for (const int64_t extent : entry.shape) {
        if (extent < 0)
            fail(Status::shape, what + ": shape " + shape_text(entry.shape) + " is negative");
    }
    entry.end = bytes_of(entry);
    if (entry.end > 0 && !tensor.data)
        fail(Status::invalid_argument,
             what + ": data is NULL, but the shape is " + shape_text(entry.shape));
    return entry;
}

}  // namespace

std::string PathSource::name() const {
    return "model file '" + printable(path_, 300) + "'";
}

std::unique_ptr<File> PathSource::open_beside(const std::string& file) const {
    return files_.open(path_.substr(0, path_.rfind('/') + 1) + file);
}

std::string BytesSource::name() const {
    return "model file in memory";
}

std::unique_ptr<File> BytesSource::open() const {
    if (n_byte_ < 0) fail(Status::shape, "n_bytes is " + std::to_string(n_byte_));
    if (!bytes_) fail(Status::invalid_argument, "argument 'bytes' is NULL on rank 0");
    const Piece all(static_cast<const std::byte*>(bytes_), static_cast<size_t>(n_byte_));
    return std::make_unique<MemoryFile>("", std::vector<Piece>{all});
}

std::string TensorsSource::name() const {
    return "model from tensors";
}

std::unique_ptr<File> TensorsSource::open() const {
    if (!card_) fail(Status::invalid_argument, "argument 'card' is NULL on rank 0");
    if (n_tensor_ < 0) fail(Status::shape, "n_tensors is " + std::to_string(n_tensor_));
    if (!tensors_ && n_tensor_ > 0)
        fail(Status::invalid_argument, "argument 'tensors' is NULL on rank 0");
    std::vector<TensorEntry> entries;
    std::vector<Piece> pieces;
    for (int32_t i = 0; i < n_tensor_; ++i) {
        entries.push_back(entry_of(tensors_[i], i));
        pieces.emplace_back(static_cast<const std::byte*>(tensors_[i].data),
                            static_cast<size_t>(entries.back().end));
    }
    return std::make_unique<MemoryFile>(safetensors_header({{card_key, card_}}, entries),
                                        std::move(pieces));
}

}  // namespace surrogate::impl
