// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

namespace surrogate::kernels {

/// Returns the size of the next block when n items are cut into nearly equal blocks of at most
/// `most` items. The rows of a register block hide each other's latency, so that 8 rows are cut
/// into 4 + 4 and not into 6 + 1 + 1.
constexpr int64_t block_size(int64_t n, int64_t most) {
    const int64_t n_block = (n + most - 1) / most;
    return (n + n_block - 1) / n_block;
}

/// Calls body(first, size) for blocks of at most 6 of n things; size is a constant of the compiler.
template <class Body>
void for_blocks_of_6(int64_t n, const Body& body) {
    for (int64_t first = 0, size; first < n; first += size) {
        size = block_size(n - first, 6);
        switch (size) {
            case 6: body(first, std::integral_constant<int, 6>()); break;
            case 5: body(first, std::integral_constant<int, 5>()); break;
            case 4: body(first, std::integral_constant<int, 4>()); break;
            case 3: body(first, std::integral_constant<int, 3>()); break;
            case 2: body(first, std::integral_constant<int, 2>()); break;
            default: body(first, std::integral_constant<int, 1>());
        }
    }
}

/// Calls body(first, size) for blocks of at most 12 of n things: 12 or 8 as long as no small block
/// is left over, then for_blocks_of_6(). size is a constant of the compiler.
template <class Body>
void for_blocks_of_12(int64_t n, const Body& body) {
    int64_t first = 0;
    for (; n - first == 12 || n - first > 16; first += 12)
        body(first, std::integral_constant<int, 12>());
    if (n - first == 8 || n - first > 12) {
        body(first, std::integral_constant<int, 8>());
        first += 8;
    }
    for_blocks_of_6(n - first, [&](int64_t i, auto size) { body(first + i, size); });
}

}  // namespace surrogate::kernels
