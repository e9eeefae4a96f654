// SPDX-License-Identifier: Apache-2.0
#include "coupling/timeloop/checkpoint_seal.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "coupling/error/shared_words.hpp"
#include "coupling/timeloop/error.hpp"

namespace surrogate::timeloop {

namespace {

using Bytes = std::array<std::byte, seal_bytes>;

/// The first bytes are not valid text, and a conversion of line ends changes them.
constexpr char magic[17] = "surrogate-loop\r\n";
constexpr size_t magic_bytes = 16, hash_at = seal_bytes - 8;
constexpr uint64_t piece_bytes = uint64_t{4} << 20;

void put_word(std::byte* at, uint64_t word) {
    for (int i = 0; i < 8; ++i) at[i] = static_cast<std::byte>(word >> (8 * i));
}

uint64_t word_at(const std::byte* at) {
    uint64_t word = 0;
    for (int i = 0; i < 8; ++i) word |= static_cast<uint64_t>(at[i]) << (8 * i);
    return word;
}

[[noreturn]] void refuse(const std::string& name, const std::string& why) {
    fail(SURROGATE_BAD_FILE, "'" + name + "' " + why);
}

/// Returns the first of n pieces that `rank` of `size` reads. The rank reads up to the next rank's
/// first piece.
uint64_t first_piece(uint64_t n, int32_t rank, int32_t size) {
    const auto r = static_cast<uint64_t>(rank), s = static_cast<uint64_t>(size);
    return n / s * r + std::min(n % s, r);
}

uint64_t hash_of_piece(const h5::DiskFile& file, uint64_t file_bytes, uint64_t piece,
                       std::vector<std::byte>& buffer) {
    const uint64_t offset = seal_bytes + piece * piece_bytes;
    const uint64_t n = std::min(piece_bytes, file_bytes - offset);
    file.read(offset, buffer.data(), n);
    return XXH3_64bits(buffer.data(), n);
}

}  // namespace

Bytes Seal::bytes() const {
    Bytes bytes = {};
    std::memcpy(bytes.data(), magic, magic_bytes);
    put_word(bytes.data() + 16, format);
    put_word(bytes.data() + 24, file_bytes);
    put_word(bytes.data() + 32, content_hash);
    put_word(bytes.data() + hash_at, XXH3_64bits(bytes.data(), hash_at));
    return bytes;
}

Seal read_seal(const h5::DiskFile& file, const std::string& name) {
    const uint64_t size = file.size();
    Bytes bytes = {};
    file.read(0, bytes.data(), std::min<uint64_t>(size, seal_bytes));
    if (size < magic_bytes || std::memcmp(bytes.data(), magic, magic_bytes) != 0)
        refuse(name, "is not a checkpoint of a time loop");
    if (size < seal_bytes) refuse(name, "is cut short: it has " + std::to_string(size) + " bytes");
    if (word_at(bytes.data() + hash_at) != XXH3_64bits(bytes.data(), hash_at))
        refuse(name, "has been altered: the checksum of its first 512 bytes is wrong");
    const Seal seal = {word_at(bytes.data() + 16), word_at(bytes.data() + 24),
                       word_at(bytes.data() + 32)};
    if (seal.format > Seal::known_format)
        refuse(name, "has format " + std::to_string(seal.format) + ", and this library (" +
                         surrogate_version() + ") reads formats up to " +
                         std::to_string(Seal::known_format) + "; use a newer library");
    if (seal.file_bytes != size)
        refuse(name, std::string(size < seal.file_bytes ? "is cut short" : "has been altered") +
                         ": it was written with " + std::to_string(seal.file_bytes) +
                         " bytes and has " + std::to_string(size));
    return seal;
}

uint64_t content_hash(surrogate_context* context, const h5::DiskFile& file, uint64_t file_bytes) {
    int32_t rank = 0, size = 1;
    check(surrogate_context_rank(context, &rank, &size));
    const uint64_t n = (file_bytes - seal_bytes + piece_bytes - 1) / piece_bytes;
    SharedWords hashes;
    std::vector<std::byte> list;
    agreed(context, [&] {
        hashes.resize(n);
        list.resize(8 * n);
        std::vector<std::byte> buffer(std::min(piece_bytes, file_bytes));
        for (uint64_t i = first_piece(n, rank, size); i < first_piece(n, rank + 1, size); ++i)
            hashes[i] = hash_of_piece(file, file_bytes, i, buffer);
    });
    hashes.share(context);
    for (size_t i = 0; i < n; ++i) put_word(list.data() + 8 * i, hashes[i]);
    return XXH3_64bits(list.data(), list.size());
}

}  // namespace surrogate::timeloop
