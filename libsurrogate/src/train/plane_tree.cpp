// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/train/plane_tree.hpp"

#include <algorithm>
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

/// State of a search: a heap of the nearest so far, the farthest in front.
struct PlaneTree::Search {
    double at[2];
    int32_t point;
    double most;  ///< squared radius
    std::span<Neighbor> heap;
    size_t n = 0;

    /// Returns a bound of the squared distance of further neighbors.
    double bound() const { return n < heap.size() ? most : heap.front().square; }
    void offer(const Neighbor& neighbor) {
        if (!(neighbor.square < most)) return;
        if (n == heap.size()) {
            if (!(neighbor < heap.front())) return;
            std::pop_heap(heap.begin(), heap.end());
            --n;
        }
        heap[n++] = neighbor;
        std::push_heap(heap.begin(), heap.begin() + static_cast<ptrdiff_t>(n));
    }
};

int64_t PlaneTree::find(int32_t point, double radius, std::span<Neighbor> nearest) const {
    const auto at = [&](int a) { return axes_[a][static_cast<size_t>(point)]; };
    Search found{{at(0), at(1)}, point, radius * radius, nearest};
    if (!nearest.empty()) search(0, found);
    return static_cast<int64_t>(found.n);
}

void PlaneTree::search(int32_t node, Search& found) const {
    const Node& box = nodes_[node];
    if (box.square(found.at) > found.bound()) return;
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
