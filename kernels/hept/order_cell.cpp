// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <utility>

#include "kernels/base/error.hpp"
#include "kernels/hept/hept.hpp"

namespace surrogate::kernels::hept {
namespace {

constexpr int n_digit = 4, n_value = 256;

/// Below this size, sorting by comparison costs less than counting digits.
constexpr int64_t least_for_digits = 32;

uint32_t digit(uint64_t entry, int d) {
    return static_cast<uint32_t>(entry >> (32 + 8 * d)) % n_value;
}

/// Returns the entries sorted by their upper halves (stable), in one of the two halves of the
/// memory.
const uint64_t* sort_by_digits(int64_t n, uint64_t* from, uint64_t* to) {
    uint32_t counts[n_digit][n_value] = {};
    for (int64_t i = 0; i < n; ++i)
        for (int d = 0; d < n_digit; ++d) ++counts[d][digit(from[i], d)];
    for (int d = 0; d < n_digit; ++d) {
        uint32_t* place = counts[d];
        if (place[digit(from[0], d)] == n) continue;  // all digits are equal
        for (uint32_t value = 0, sum = 0; value < n_value; ++value)
            sum += std::exchange(place[value], sum);
        for (int64_t i = 0; i < n; ++i) to[place[digit(from[i], d)]++] = from[i];
        std::swap(from, to);
    }
    return from;
}

}  // namespace

void order_cell(std::span<const int32_t> members, const uint32_t* hash, int64_t first, int64_t end,
                std::span<uint64_t> scratch, int32_t* order) {
    const auto n = static_cast<int64_t>(members.size());
    if (scratch.size() < 2 * members.size()) {
        throw Error(Status::internal,
                    "the order of a cell of " + std::to_string(n) +
                        " tokens needs a scratch of twice as many elements, found " +
                        std::to_string(scratch.size()));
    }
    uint64_t* const entries = scratch.data();  // hash | index
    for (int64_t place = 0; place < n; ++place) {
        const uint64_t key = hash[members[static_cast<size_t>(place)]];
        entries[place] = key << 32 | static_cast<uint64_t>(place);
    }
    const uint64_t* sorted = entries;
    if (n < least_for_digits)
        std::sort(entries, entries + n);
    else
        sorted = sort_by_digits(n, entries, entries + n);
    for (int64_t i = first; i < end; ++i)
        order[i - first] = members[static_cast<uint32_t>(sorted[i])];
}

}  // namespace surrogate::kernels::hept
