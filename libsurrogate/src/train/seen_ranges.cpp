// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/train/seen_ranges.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace surrogate::impl {

namespace {

constexpr int64_t n_chunk = 512;  // 4 KB of stack

}  // namespace

void SeenRanges::note(size_t field, const Column& column, NumberKind kind, int64_t n) {
    std::array<double, n_chunk> values;
    Column plain = column;
    plain.mean = 0;
    plain.std = 1;
    Outside outside;
    for (int64_t first = 0; first < n; first += n_chunk) {
        const int64_t count = std::min(n_chunk, n - first);
        if (kind == NumberKind::integer) {
            for (int64_t i = 0; i < count; ++i)
                values[static_cast<size_t>(i)] =
                    static_cast<double>(load_integer(column, first + i));
        } else {
            gather(std::span(&plain, 1), first, count, values.data(), 1, count, &outside);
        }
        note(field, values.data(), nullptr, count);
    }
}

void SeenRanges::note(size_t field, const double* values, const double* weights, int64_t n) {
    FieldRange& range = step_[field];
    for (int64_t i = 0; i < n; ++i) {
        if (weights && weights[i] == 0) continue;
        if (std::isfinite(values[i])) range.note(values[i]);
    }
}

void SeenRanges::end_step(bool is_complete) {
    for (size_t i = 0; i < step_.size(); ++i) {
        if (is_complete) complete_[i].join(step_[i]);
        step_[i] = {};
    }
}

}  // namespace surrogate::impl
