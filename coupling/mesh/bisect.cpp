// SPDX-License-Identifier: Apache-2.0
#include "coupling/mesh/bisect.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

namespace surrogate::vtk {

namespace {

class Rows {
public:
    explicit Rows(const std::vector<double>& x) : x_(x) {}

    double key(int64_t row, size_t axis) const {
        const double value = x_[3 * static_cast<size_t>(row) + axis];
        return std::isnan(value) ? -std::numeric_limits<double>::infinity() : value;
    }

    size_t longest_axis(std::span<const int64_t> rows) const {
        size_t longest = 0;
        double most = 0;
        for (size_t axis = 0; axis < 3; ++axis) {
            double low = std::numeric_limits<double>::infinity(), high = -low;
            for (const int64_t row : rows) {
                low = std::min(low, key(row, axis));
                high = std::max(high, key(row, axis));
            }
            if (high - low > most) {
                most = high - low;
                longest = axis;
            }
        }
        return longest;
    }

    /// Moves the n smallest rows to the front. The result does not depend on the algorithm, because
    /// no two keys are equal.
    void split(std::span<int64_t> rows, size_t n) const {
        const size_t axis = longest_axis(rows);
        std::nth_element(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(n), rows.end(),
                         [&](int64_t a, int64_t b) {
                             return std::pair(key(a, axis), a) < std::pair(key(b, axis), b);
                         });
    }

private:
    const std::vector<double>& x_;
};

}  // namespace

int64_t range_begin(int64_t n, int part, int n_parts) {
    return n / n_parts * part + n % n_parts * part / n_parts;
}

std::vector<std::vector<int64_t>> bisect(const std::vector<double>& x, int n_parts) {
    const Rows points(x);
    std::vector<int64_t> all(x.size() / 3);
    std::iota(all.begin(), all.end(), 0);
    std::vector<std::vector<int64_t>> parts;
    // A range of rows for n parts. On the stack, the left half of a range is above its right half.
    struct Range {
        std::span<int64_t> rows;
        int n;
    };
    std::vector<Range> ranges = {{all, n_parts}};
    while (!ranges.empty()) {
        const auto [rows, n] = ranges.back();
        ranges.pop_back();
        if (n == 1) {
            parts.emplace_back(rows.begin(), rows.end());
            std::sort(parts.back().begin(), parts.back().end());
            continue;
        }
        const int n_left = n / 2;
        const auto left = static_cast<size_t>(range_begin(int64_t(rows.size()), n_left, n));
        if (left > 0 && left < rows.size()) points.split(rows, left);
        ranges.push_back({rows.subspan(left), n - n_left});
        ranges.push_back({rows.first(left), n_left});
    }
    return parts;
}

}  // namespace surrogate::vtk
