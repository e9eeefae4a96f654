// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <span>

#include "kernels/sphere/stencil.hpp"

namespace surrogate::kernels::sphere {

/// A strip as the neighbors of two query rows: columns first .. first + count - 1, of which row l
/// attends to the offsets [from[l], to[l]).
struct PairStrip {
    int64_t row = 0, first = 0, count = 0;
    int64_t from[2] = {}, to[2] = {};
    int64_t common_from = 0, common_to = 0;  ///< offsets of all rows that share the strip
    bool shared = false;

    /// Returns true if the strip is processed as a band. Long strips are: the columns that any lane
    /// attends to are each broadcast to all lanes, with masks at both ends. Shorter strips are
    /// processed by offset: lane i is combined with column i + offset. Results of both are bitwise
    /// identical.
    bool is_band() const { return count >= band_from; }
    int n_line() const { return shared ? 2 : 1; }
    int line() const { return to[0] > from[0] ? 0 : 1; }  ///< row of a strip that is not shared

    static constexpr int64_t band_from = 24;
};

/// Iterates over the strips of two rows in the order of key rows. A strip of both rows is shared
/// unless that would compute too many pairs that neither row needs; each row keeps its own order.
class PairWalk {
public:
    PairWalk(std::span<const Strip> first, std::span<const Strip> second) : rest_{first, second} {}

    bool is_at_end() const { return rest_[0].empty() && rest_[1].empty(); }

    /// Returns the next strip. Must not be called at the end.
    PairStrip peek() const {
        const int line = next_line();
        return line == both ? share(rest_[0][0], rest_[1][0]) : alone(rest_[line][0], line);
    }
    void step() {
        const int line = next_line();
        if (line == both) {
            for (auto& rest : rest_) rest = rest.subspan(1);
        } else {
            rest_[line] = rest_[line].subspan(1);
        }
    }

private:
    static constexpr int both = 2;

    int next_line() const {
        if (rest_[1].empty()) return 0;
        if (rest_[0].empty()) return 1;
        const Strip &first = rest_[0][0], &second = rest_[1][0];
        if (first.row == second.row && is_worth_sharing(first, second)) return both;
        return first.row <= second.row ? 0 : 1;
    }

    /// Returns true if sharing pays: a strip for one row leaves half of the sums idle, a quarter of
    /// the time; short strips also have latency.
    static bool is_worth_sharing(const Strip& a, const Strip& b) {
        const int64_t first = std::min(a.first, b.first);
        const int64_t end = std::max(a.first + a.count, b.first + b.count);
        return 8 * (end - first) <= 5 * (a.count + b.count) + 16;
    }

    static PairStrip alone(const Strip& strip, int line) {
        PairStrip pair{.row = strip.row, .first = strip.first, .count = strip.count};
        pair.to[line] = pair.common_to = strip.count;
        return pair;
    }

    static PairStrip share(const Strip& a, const Strip& b) {
        const int64_t first = std::min(a.first, b.first);
        const int64_t end = std::max(a.first + a.count, b.first + b.count);
        PairStrip pair{.row = a.row, .first = first, .count = end - first};
        for (int l = 0; l < 2; ++l) {
            const Strip& strip = l == 0 ? a : b;
            pair.from[l] = strip.first - first;
            pair.to[l] = pair.from[l] + strip.count;
        }
        pair.common_from = std::max(pair.from[0], pair.from[1]);
        pair.common_to = std::min(pair.to[0], pair.to[1]);
        pair.shared = true;
        return pair;
    }

    std::span<const Strip> rest_[2];
};

}  // namespace surrogate::kernels::sphere
