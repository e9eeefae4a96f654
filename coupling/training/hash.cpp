// SPDX-License-Identifier: Apache-2.0
#include "coupling/training/hash.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <fstream>
#include <vector>

namespace surrogate::tool {

namespace {

static_assert(std::endian::native == std::endian::little);
constexpr uint64_t piece_bytes = uint64_t{64} << 20;
constexpr uint64_t read_bytes = uint64_t{1} << 20;

struct Piece {
    uint64_t number, hash;
};

uint64_t piece_hash(std::ifstream& file, uint64_t begin, uint64_t end) {
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    std::vector<char> bytes(read_bytes);
    file.seekg(static_cast<std::streamoff>(begin));
    while (begin < end) {
        const uint64_t n = std::min(read_bytes, end - begin);
        if (!file.read(bytes.data(), static_cast<std::streamsize>(n)))
            throw Failure(Exit::bad_usage, "the file became shorter while it was read");
        XXH3_64bits_update(&state, bytes.data(), n);
        begin += n;
    }
    return XXH3_64bits_digest(&state);
}

}  // namespace

std::string file_hash(const Job& job, const std::string& path) {
    std::vector<Piece> mine;
    job.agree([&] {
        std::ifstream file(path, std::ios::binary);
        std::error_code error;
        const uint64_t size = std::filesystem::file_size(path, error);
        if (!file || error) throw Failure(Exit::bad_usage, "cannot read '" + path + "'");
        const auto n_rank = static_cast<uint64_t>(job.size()),
                   rank = static_cast<uint64_t>(job.rank());
        for (uint64_t i = rank; i * piece_bytes < size; i += n_rank)
            mine.push_back(
                {i, piece_hash(file, i * piece_bytes, std::min(size, (i + 1) * piece_bytes))});
    });
    std::vector<Piece> all = job.gather(mine);
    std::sort(all.begin(), all.end(),
              [](const Piece& a, const Piece& b) { return a.number < b.number; });
    std::vector<uint64_t> hashes;
    for (const Piece& piece : all) hashes.push_back(piece.hash);
    return job.broadcast(hex(XXH3_64bits(hashes.data(), hashes.size() * sizeof(uint64_t))));
}

}  // namespace surrogate::tool
