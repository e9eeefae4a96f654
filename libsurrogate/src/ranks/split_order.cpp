// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/ranks/split_order.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

namespace surrogate::impl {

namespace {

/// All points on every rank, cut by one recursion.
struct Cloud {
    int n_axis;
    std::vector<double> x;  // (n_axis, n)
    std::vector<int64_t> ids, order;
    const SplitRule& rule;

    int64_t n() const { return std::ssize(ids); }
    double at(int axis, int64_t i) const { return x[static_cast<size_t>(axis * n() + i)] + 0.0; }

    int widest(std::span<const int64_t> node) const {
        int best = 0;
        double largest = -1;
        for (int axis = 0; axis < n_axis; ++axis) {
            const auto [low, high] =
                std::ranges::minmax(node, {}, [&](int64_t i) { return at(axis, i); });
            const double extent = at(axis, high) - at(axis, low);
            if (extent > largest) {
                largest = extent;
                best = axis;
            }
        }
        return best;
    }

    void sort(std::span<int64_t> node, int axis) const {
        std::ranges::sort(node, [&](int64_t a, int64_t b) {
            const double xa = axis < 0 ? 0 : at(axis, a), xb = axis < 0 ? 0 : at(axis, b);
            return xa != xb ? xa < xb : ids[static_cast<size_t>(a)] < ids[static_cast<size_t>(b)];
        });
    }

    void cut(std::span<int64_t> node, int depth) const {
        const int64_t left = rule.left(std::ssize(node), depth);
        if (left <= 0 || left >= std::ssize(node)) {
            if (rule.leaves_by_id()) sort(node, -1);
            return;
        }
        sort(node, widest(node));
        cut(node.first(static_cast<size_t>(left)), depth + 1);
        cut(node.subspan(static_cast<size_t>(left)), depth + 1);
    }
};

}  // namespace

std::vector<int64_t> split_positions(Communicator& comm, const kernels::Queue&,
                                     const SplitPoints& points, const SplitRule& rule,
                                     std::span<const int64_t>) {
    const int64_t n_local = std::ssize(points.ids);
    comm.agree([&] {
        for (const double x : points.x) {
            if (!std::isfinite(x))
                throw Error(Status::invalid_argument, "a coordinate is not finite");
        }
    });
    const int64_t first = comm.exclusive_sum(n_local);
    int64_t n = n_local;
    comm.all_reduce_sum(std::span(&n, 1));
    Cloud cloud{points.n_axis, {}, {}, {}, rule};
    cloud.x.resize(static_cast<size_t>(n * points.n_axis));
    cloud.ids.resize(static_cast<size_t>(n));
    cloud.order.resize(static_cast<size_t>(n));
    for (int64_t i = 0; i < n_local; ++i) {
        const auto from = static_cast<size_t>(i);
        cloud.ids[static_cast<size_t>(first + i)] = points.ids[from];
        for (int axis = 0; axis < points.n_axis; ++axis)
            cloud.x[static_cast<size_t>(axis * n + first + i)] =
                points.x[static_cast<size_t>(axis * n_local + i)];
    }
    comm.all_reduce_sum(std::span(cloud.x));
    comm.all_reduce_sum(std::span(cloud.ids));
    std::iota(cloud.order.begin(), cloud.order.end(), 0);
    cloud.sort(cloud.order, -1);
    for (size_t i = 1; i < cloud.order.size(); ++i) {
        const int64_t id = cloud.ids[static_cast<size_t>(cloud.order[i])];
        if (cloud.ids[static_cast<size_t>(cloud.order[i - 1])] == id)
            throw Error(Status::invalid_argument,
                        "global id " + std::to_string(id) + " is given twice");
    }
    cloud.cut(cloud.order, 0);
    std::vector<int64_t> positions(static_cast<size_t>(n_local));
    for (int64_t position = 0; position < n; ++position) {
        const int64_t i = cloud.order[static_cast<size_t>(position)] - first;
        if (i >= 0 && i < n_local) positions[static_cast<size_t>(i)] = position;
    }
    return positions;
}

}  // namespace surrogate::impl
