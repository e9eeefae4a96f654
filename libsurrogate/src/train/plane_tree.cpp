// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/train/plane_tree.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace surrogate::impl {

/// Returns the squared distance of a point from the box, 0 inside. Rounding does not make it larger
/// than the distance of a point in the box.
double PlaneTree::Node::square(const double* at) const {
    const auto outside = [&](int a) { return std::max({low[a] - at[a], at[a] - high[a], 0.0}); };
    const double x = outside(0), y = outside(1);
    return x * x + y * y;
}

void PlaneTree::build(std::span<const double> x, std::span<const double> y) {
    const auto n = static_cast<int32_t>(x.size());
    axes_[0] = x;
    axes_[1] = y;
    order_.resize(n);
    nodes_.resize(n / 4 + 2);  // a leaf has at least most_in_leaf / 2
    std::iota(order_.begin(), order_.end(), 0);
    add(0, 0, n);
}

/// Adds a node and its children. Returns the number of the next node.
int32_t PlaneTree::add(int32_t node, int32_t first, int32_t end) {
    Node& box = nodes_[node];
    box.first = first;
    box.end = end;
    for (int a = 0; a < 2; ++a) {
        box.low[a] = std::numeric_limits<double>::infinity();
        box.high[a] = -box.low[a];
        for (int32_t i = first; i < end; ++i) {
            const double at = axes_[a][static_cast<size_t>(order_[i])];
            box.low[a] = std::min(box.low[a], at);
            box.high[a] = std::max(box.high[a], at);
        }
    }
    box.next = node + 1;
    if (box.is_leaf()) return box.next;
    const auto& axis = axes_[box.high[0] - box.low[0] < box.high[1] - box.low[1] ? 1 : 0];
    const int32_t middle = first + (end - first) / 2;
    std::nth_element(order_.begin() + first, order_.begin() + middle, order_.begin() + end,
                     [&](int32_t i, int32_t j) {
                         return axis[static_cast<size_t>(i)] < axis[static_cast<size_t>(j)];
                     });
    return box.next = add(add(node + 1, first, middle), middle, end);
}

/// State of a search: the nearest so far, and some that may be farther.
struct PlaneTree::Search {
    double at[2];
    int32_t point;
    double bound;  ///< squared; farther points are not among the nearest
    size_t n_most;
    std::span<Neighbor> found;
    size_t n = 0;

    void offer(const Neighbor& neighbor) {
        if (neighbor.square > bound) return;
        if (n == found.size()) keep_nearest();
        found[n++] = neighbor;
    }
    void keep_nearest() {
        if (n <= n_most) return;
        const auto last = found.begin() + static_cast<ptrdiff_t>(n_most) - 1;
        std::nth_element(found.begin(), last, found.begin() + static_cast<ptrdiff_t>(n));
        n = n_most;
        bound = last->square;
    }
};

int64_t PlaneTree::find(int32_t point, double radius, int64_t n_most,
                        std::span<Neighbor> found) const {
    if (n_most == 0) return 0;
    const auto at = [&](int a) { return axes_[a][static_cast<size_t>(point)]; };
    // The largest number below the squared radius.
    const double bound = std::nextafter(radius * radius, 0.0);
    Search state{{at(0), at(1)}, point, bound, static_cast<size_t>(n_most), found};
    search(0, state);
    state.keep_nearest();
    return static_cast<int64_t>(state.n);
}

void PlaneTree::search(int32_t node, Search& found) const {
    const Node& box = nodes_[node];
    if (box.square(found.at) > found.bound) return;
    if (!box.is_leaf()) {
        const int32_t left = node + 1, right = nodes_[left].next;
        const bool is_left = nodes_[left].square(found.at) <= nodes_[right].square(found.at);
        search(is_left ? left : right, found);
        return search(is_left ? right : left, found);
    }
    for (int32_t i = box.first; i < box.end; ++i) {
        const int32_t other = order_[i];
        const double x = axes_[0][static_cast<size_t>(other)] - found.at[0];
        const double y = axes_[1][static_cast<size_t>(other)] - found.at[1];
        if (other != found.point) found.offer({x * x + y * y, other});
    }
}

}  // namespace surrogate::impl
