// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/hept/hept.hpp"

namespace surrogate::kernels::hept {

void order_cell(std::span<const int32_t> members, const uint32_t* hash, int64_t first, int64_t end,
                uint64_t* scratch, int32_t* order) {
    const auto n = static_cast<int64_t>(members.size());
    for (int64_t place = 0; place < n; ++place)
        scratch[place] = uint64_t{hash[members[static_cast<size_t>(place)]]} << 32 |
                         static_cast<uint64_t>(place);
    std::sort(scratch, scratch + n);
    for (int64_t i = first; i < end; ++i)
        order[i - first] = members[static_cast<uint32_t>(scratch[i])];
}

}  // namespace surrogate::kernels::hept
