// SPDX-License-Identifier: Apache-2.0
#include "join.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <unordered_map>

#include "neighborhood.hpp"
#include "tree.hpp"

namespace tracking {

namespace {

/// Disjoint sets that are merged; the root of a set is its node of the smallest number.
class Sets {
public:
    explicit Sets(std::size_t n) : parent_(n) { std::iota(parent_.begin(), parent_.end(), 0u); }
    std::size_t root(std::size_t i) {
        while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
        return i;
    }
    void unite(std::size_t a, std::size_t b) {
        a = root(a), b = root(b);
        parent_[std::max(a, b)] = std::min(a, b);
    }

private:
    std::vector<std::size_t> parent_;
};

/// Returns the squared distance of two near hits, infinity for others. It is exactly symmetric, so
/// that all ranks that have both hits agree.
double distance_of(const Node& a, const Node& b, std::size_t width, double radius) {
    constexpr double far = std::numeric_limits<double>::infinity();
    if (a.layer == b.layer ||
        !(std::abs(std::remainder(a.azimuth - b.azimuth, 2 * std::numbers::pi)) < window_rad))
        return far;
    double distance = 0;
    for (std::size_t e = 0; e < width; ++e) {
        const double d = double(a.place[e]) - double(b.place[e]);
        distance += d * d;
    }
    return distance < radius * radius ? distance : far;
}

/// On each layer, the id of the nearest of the near hits; -1: there is none.
using Partners = std::array<int64_t, n_layer>;

/// Finds partners of the own nodes of one event; `which` are all its nodes.
void find_partners(const Neighborhood& near, const std::vector<std::size_t>& which,
                   std::size_t width, double radius, std::vector<Partners>* partners) {
    const std::vector<Node>& nodes = near.nodes();
    const Points points{nodes, which.data(), which.size()};
    const Tree tree(static_cast<int>(width), points);
    const auto squared = static_cast<float>(1.0001 * radius * radius);  // distance_of() decides
    std::vector<std::pair<uint32_t, float>> found;
    for (const std::size_t i : which) {
        if (i >= near.n_own()) continue;
        std::array<std::pair<double, int64_t>, n_layer> nearest;
        nearest.fill({std::numeric_limits<double>::infinity(), -1});
        tree.radiusSearch(nodes[i].place, squared, found, nanoflann::SearchParams(32, 0, false));
        for (const auto& [place, ignored] : found) {
            const Node& other = nodes[which[place]];
            const double distance = distance_of(nodes[i], other, width, radius);
            auto& best = nearest[std::size_t(other.layer)];
            if (std::isfinite(distance)) best = std::min(best, {distance, other.id});
        }
        for (std::size_t k = 0; k < n_layer; ++k) (*partners)[i][k] = nearest[k].second;
    }
}

/// Returns the partners of own nodes, followed by those for the copies. Collective.
std::vector<Partners> partners_of(const Neighborhood& near, std::size_t width, double radius) {
    const std::vector<Node>& nodes = near.nodes();
    std::vector<std::size_t> order(nodes.size());
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return nodes[a].event < nodes[b].event; });
    std::vector<Partners> partners(near.n_own());
    for (auto first = order.begin(); first != order.end();) {
        const auto last = std::find_if(first, order.end(), [&](std::size_t i) {
            return nodes[i].event != nodes[*first].event;
        });
        find_partners(near, {first, last}, width, radius, &partners);
        first = last;
    }
    const std::vector<Partners> copies = near.of_copies(partners);
    partners.insert(partners.end(), copies.begin(), copies.end());
    return partners;
}

/// Unites own nodes with their partners, own or copies, if the choice is mutual.
void link(const std::vector<Node>& nodes, const std::vector<Partners>& partners, std::size_t n_own,
          Sets* sets) {
    std::unordered_map<int64_t, std::size_t> place;
    for (std::size_t i = 0; i < nodes.size(); ++i) place[nodes[i].id] = i;
    for (std::size_t i = 0; i < n_own; ++i)
        for (const int64_t id : partners[i]) {
            if (id < 0) continue;
            const std::size_t j = place.at(id);
            if (partners[j][std::size_t(nodes[i].layer)] == nodes[i].id) sets->unite(i, j);
        }
}

/// Returns labels of sets that span ranks: each rank replaces its labels by lower ones of its
/// neighbors until none changes. The number of rounds is the number of ranks in the longest chain.
std::vector<int64_t> agree_on_labels(MPI_Comm comm, const Neighborhood& near, Sets* sets) {
    const std::size_t n = near.nodes().size();
    std::vector<int64_t> of_root(n), of_node(n);
    for (std::size_t i = 0; i < n; ++i) of_root[i] = near.nodes()[i].id;
    for (std::size_t i = 0; i < n; ++i) {
        int64_t& label = of_root[sets->root(i)];
        label = std::min(label, near.nodes()[i].id);
    }
    for (int is_changed = 1; is_changed;) {
        for (std::size_t i = 0; i < n; ++i) of_node[i] = of_root[sets->root(i)];
        const std::vector<int64_t> news = near.of_copies(of_node);
        is_changed = 0;
        for (std::size_t c = 0; c < news.size(); ++c) {
            int64_t& label = of_root[sets->root(near.n_own() + c)];
            if (news[c] >= label) continue;
            label = news[c];
            is_changed = 1;
        }
        MPI_Allreduce(MPI_IN_PLACE, &is_changed, 1, MPI_INT, MPI_MAX, comm);
    }
    of_node.resize(near.n_own());
    return of_node;
}

}  // namespace

std::vector<int64_t> join(MPI_Comm comm, const std::vector<Hit>& hits, const Embedding& embedding,
                          double radius) {
    const Neighborhood near(comm, nodes_of(hits, embedding), window_rad);
    const auto partners = partners_of(near, static_cast<std::size_t>(embedding.width), radius);
    Sets sets(near.nodes().size());
    link(near.nodes(), partners, near.n_own(), &sets);
    return agree_on_labels(comm, near, &sets);
}

}  // namespace tracking
