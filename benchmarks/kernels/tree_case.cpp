// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/kernels/tree_case.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "libsurrogate/src/ranks/partition.hpp"
#include "libsurrogate/src/ranks/split_rules.hpp"

namespace surrogate::bench {

namespace {

/// Returns a number in 0 .. 1 that is a function of `i`.
double fraction(int64_t i, uint64_t stream) {
    uint64_t z = (static_cast<uint64_t>(i) * 4 + stream + 1) * 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return static_cast<double>((z ^ z >> 31) >> 11) * 0x1p-53;
}

struct Point {
    double x[3];
};

Point point_of(const std::string& kind, int64_t i, int64_t n) {
    if (kind == "lattice") {
        const auto edge = static_cast<int64_t>(std::ceil(std::cbrt(static_cast<double>(n))));
        return {{static_cast<double>(i % edge), static_cast<double>(i / edge % edge),
                 static_cast<double>(i / edge / edge)}};
    }
    const double a = fraction(i, 0), b = fraction(i, 1), c = fraction(i, 2);
    if (kind == "volume") return {{a, b, c}};
    // An ellipsoid, with layers whose distance to it decreases.
    const double height = std::exp(-9 * c), angle = 2 * std::numbers::pi * a, z = 2 * b - 1;
    const double r = std::sqrt(1 - z * z) * (1 + height);
    return {{4 * z * (1 + height), r * std::cos(angle), 0.4 * r * std::sin(angle)}};
}

/// Returns element i of a permutation of 0 .. n - 1.
int64_t shuffled(int64_t i, int64_t n) {
    int64_t step = n / 2 + n / 9 + 1;
    while (std::gcd(step, n) != 1) ++step;
    return static_cast<int64_t>(static_cast<uint64_t>(i) * static_cast<uint64_t>(step) %
                                static_cast<uint64_t>(n));
}

}  // namespace

TreeCase::TreeCase(const std::string& kind, int64_t n, bool is_shuffled, int rank, int size)
    : n_(n) {
    const impl::Range own = impl::balanced_range(n, rank, size);
    const auto n_own = static_cast<size_t>(own.size());
    x_.resize(3 * n_own);
    ids_.resize(n_own);
    for (size_t row = 0; row < n_own; ++row) {
        const int64_t i = own.begin + static_cast<int64_t>(row);
        const Point point = point_of(kind, i, n);
        for (size_t axis = 0; axis < 3; ++axis)
            x_[axis * n_own + row] = static_cast<float>(point.x[axis]);
        ids_[row] = is_shuffled ? shuffled(i, n) : i;
    }
}

std::vector<int64_t> TreeCase::run(impl::Communicator& comm, const kernels::Queue& queue) const {
    return impl::split_positions(comm, queue, {3, x_, ids_}, impl::BallRule(n_),
                                 impl::block_begins(n_, 256, comm.size()));
}

bool TreeCase::is_less(int axis, int64_t a, int64_t b) const {
    if (at(axis, a) != at(axis, b)) return at(axis, a) < at(axis, b);
    return ids_[static_cast<size_t>(a)] < ids_[static_cast<size_t>(b)];
}

void TreeCase::cut(std::vector<int64_t>& order, int64_t begin, int64_t n, int depth) const {
    const int64_t left = impl::BallRule(n_).left(n, depth);
    if (left == 0) return;
    const auto first = order.begin() + begin;
    int widest = 0;
    double largest = 0;
    for (int axis = 0; axis < 3; ++axis) {
        double low = at(axis, *first), high = low;
        for (auto i = first; i != first + n; ++i) {
            low = std::min(low, at(axis, *i));
            high = std::max(high, at(axis, *i));
        }
        if (high - low > largest) {
            largest = high - low;
            widest = axis;
        }
    }
    const auto less = [&](int64_t a, int64_t b) { return is_less(widest, a, b); };
    if (n <= 4) {
        std::sort(first, first + n, less);
    } else {
        std::nth_element(first, first + left, first + n, less);
    }
    cut(order, begin, left, depth + 1);
    cut(order, begin + left, n - left, depth + 1);
}

std::vector<int64_t> TreeCase::plain() const {
    std::vector<int64_t> order(ids_.size()), positions(ids_.size());
    std::iota(order.begin(), order.end(), int64_t{0});
    cut(order, 0, std::ssize(order), 0);
    for (size_t i = 0; i < order.size(); ++i)
        positions[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    return positions;
}

}  // namespace surrogate::bench
