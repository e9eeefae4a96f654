// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "libsurrogate/src/ranks/split_rules.hpp"

namespace surrogate::test {

/// Points of all ranks, for tests of trees.
struct Cloud {
    int n_axis = 0;
    std::vector<double> x;     // (n_axis, n)
    std::vector<int64_t> ids;  // (n)

    int64_t n() const { return std::ssize(ids); }
    double at(int axis, int64_t i) const { return x[static_cast<size_t>(axis * n() + i)]; }
    int64_t id(int64_t i) const { return ids[static_cast<size_t>(i)]; }

    Cloud rows(const std::vector<int64_t>& rows) const {
        Cloud part{n_axis, {}, {}};
        for (int axis = 0; axis < n_axis; ++axis)
            for (const int64_t row : rows) part.x.push_back(at(axis, row));
        for (const int64_t row : rows) part.ids.push_back(id(row));
        return part;
    }
};

/// The tree as it is defined, by sorting every node: the rows in the order of the leaves.
class SplitReference {
public:
    SplitReference(const Cloud& cloud, const impl::SplitRule& rule) : cloud_(cloud), rule_(rule) {
        for (int64_t i = 0; i < cloud.n(); ++i) order_.push_back(i);
        sort(order_, -1);
        cut(order_, 0);
    }

    std::vector<int64_t> positions() const {
        std::vector<int64_t> positions(order_.size());
        for (size_t i = 0; i < order_.size(); ++i)
            positions[static_cast<size_t>(order_[i])] = static_cast<int64_t>(i);
        return positions;
    }

private:
    using Node = std::span<int64_t>;

    /// By (coordinate, id), or by id for axis -1.
    void sort(Node node, int axis) const {
        std::sort(node.begin(), node.end(), [&](int64_t a, int64_t b) {
            if (axis >= 0 && cloud_.at(axis, a) != cloud_.at(axis, b))
                return cloud_.at(axis, a) < cloud_.at(axis, b);
            return cloud_.id(a) < cloud_.id(b);
        });
    }

    int widest_axis(Node node) const {
        int best = 0;
        double largest = 0;
        for (int axis = 0; axis < cloud_.n_axis; ++axis) {
            double low = cloud_.at(axis, node[0]), high = low;
            for (const int64_t i : node) {
                low = std::min(low, cloud_.at(axis, i));
                high = std::max(high, cloud_.at(axis, i));
            }
            if (high - low > largest) {
                largest = high - low;
                best = axis;
            }
        }
        return best;
    }

    void cut(Node node, int depth) const {
        const int64_t left = rule_.left(std::ssize(node), depth);
        if (left <= 0 || left >= std::ssize(node)) {
            if (rule_.leaves_by_id()) sort(node, -1);
            return;
        }
        sort(node, widest_axis(node));
        cut(node.first(static_cast<size_t>(left)), depth + 1);
        cut(node.subspan(static_cast<size_t>(left)), depth + 1);
    }

    const Cloud& cloud_;
    const impl::SplitRule& rule_;
    std::vector<int64_t> order_;
};

/// Kinds of points that a tree may meet, each awkward in its own way.
inline const std::vector<std::string>& cloud_kinds() {
    static const std::vector<std::string> kinds{
        "uniform",  // singles
        "double",   // 64 bits count
        "lattice",  // many tied coordinates
        "copies",   // points that occur several times
        "equal",    // ids alone decide
        "one_bit",  // coordinates differ in the last bit of a double
        "sorted",  "reversed",
        "scales",   // 1e-300 .. 1e300
        "tiny",     // denormal numbers
        "zeros",    // of both signs
        "outlier",  // one point far away
        "flat",     // one axis without extent
    };
    return kinds;
}

/// Coordinate of a point of a kind; `random` is a generator of its own.
inline double cloud_coordinate(const std::string& kind, int64_t i, int axis,
                               std::mt19937_64& random) {
    const auto unit = [&] { return static_cast<double>(random() >> 40) * 0x1p-24 - 0.5; };
    const auto chance = static_cast<int64_t>(random() % 1000);
    const auto number = static_cast<double>(i);
    if (kind == "double") return unit() + unit() * 0x1p-24;
    if (kind == "lattice") return static_cast<double>(chance % 4) - 2;
    if (kind == "copies") return static_cast<double>(i % 5) * (axis == 1 ? 0.25 : 0.125);
    if (kind == "equal") return 0.375;
    if (kind == "one_bit") return chance % 2 ? 1.0 : std::nextafter(1.0, 2.0);
    if (kind == "sorted") return axis == 0 ? number : unit();
    if (kind == "reversed") return axis == 0 ? -number : unit();
    if (kind == "scales") return unit() * std::pow(10.0, static_cast<double>(chance % 601) - 300);
    if (kind == "tiny") return static_cast<double>(chance - 500) * 0x1p-1074;
    if (kind == "zeros") return chance % 3 == 0 ? -0.0 : chance % 3 == 1 ? 0.0 : 1.0;
    if (kind == "outlier") return i == 3 ? 1e30 : unit();
    if (kind == "flat") return axis == 1 ? 0.0 : unit();
    return unit();
}

/// Ids are neither contiguous nor in the order of the rows, and some are negative.
inline Cloud cloud_of(const std::string& kind, int64_t n, int n_axis, uint64_t seed = 1) {
    std::mt19937_64 random(seed * 1000003 + static_cast<uint64_t>(4 * n + n_axis));
    Cloud cloud{n_axis, {}, {}};
    for (int axis = 0; axis < n_axis; ++axis)
        for (int64_t i = 0; i < n; ++i) cloud.x.push_back(cloud_coordinate(kind, i, axis, random));
    for (int64_t i = 0; i < n; ++i) cloud.ids.push_back(3 * i - n);
    if (seed % 2 == 0) {
        for (int64_t& id : cloud.ids) id *= 1000000007;
    }
    std::shuffle(cloud.ids.begin(), cloud.ids.end(), random);
    return cloud;
}

}  // namespace surrogate::test
