// SPDX-License-Identifier: Apache-2.0
#include "join.hpp"

#include <algorithm>
#include <cmath>
#include <nanoflann.hpp>
#include <numbers>
#include <numeric>
#include <stdexcept>

#include "exchange.hpp"

namespace tracking {

namespace {

constexpr std::size_t most_width = 16;

/// What links need to know of a hit.
struct Node {
    int64_t id, event;
    double azimuth;
    int32_t layer;
    float place[most_width];
};

/// Sets that grow together; the root of a set is its node of the least number.
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

/// The nodes of an event as nanoflann wants to see them.
struct Points {
    const std::vector<Node>& nodes;
    const std::size_t* which;
    std::size_t n;
    std::size_t kdtree_get_point_count() const { return n; }
    float kdtree_get_pt(std::size_t i, std::size_t axis) const {
        return nodes[which[i]].place[axis];
    }
    template <class Box>
    bool kdtree_get_bbox(Box&) const {
        return false;
    }
};
using Tree =
    nanoflann::KDTreeSingleIndexAdaptor<nanoflann::L2_Simple_Adaptor<float, Points>, Points>;

/// Symmetric to the bit, so that all ranks that see both hits agree.
bool is_linked(const Node& a, const Node& b, std::size_t width, double radius) {
    double distance = 0;
    for (std::size_t e = 0; e < width; ++e) {
        const double d = double(a.place[e]) - double(b.place[e]);
        distance += d * d;
    }
    return a.layer != b.layer && distance < radius * radius &&
           std::abs(std::remainder(a.azimuth - b.azimuth, 2 * std::numbers::pi)) < window_rad;
}

/// Ranks other than this one whose sectors come within the window of an azimuth.
std::vector<int> ranks_near(double azimuth, int rank, int n_rank) {
    constexpr double margin = 1e-9;  // of rounding
    const auto sector = [&](double a) {
        return static_cast<int>(
            std::floor((a + std::numbers::pi) / (2 * std::numbers::pi) * n_rank));
    };
    const int first = sector(azimuth - window_rad - margin);
    const int last = std::min(sector(azimuth + window_rad + margin), first + n_rank - 1);
    std::vector<int> ranks;
    for (int s = first; s <= last; ++s)
        if (const int near = ((s % n_rank) + n_rank) % n_rank; near != rank) ranks.push_back(near);
    return ranks;
}

/// This rank's nodes, copies of those near its sector behind them, and who has copies of whose.
class Neighborhood {
public:
    Neighborhood(MPI_Comm comm, std::vector<Node> own) : comm_(comm), nodes_(std::move(own)) {
        const int rank = rank_of(comm), n_rank = size_of(comm);
        sent_.resize(static_cast<std::size_t>(n_rank));
        n_own_ = nodes_.size();
        for (std::size_t i = 0; i < n_own_; ++i)
            for (const int near : ranks_near(nodes_[i].azimuth, rank, n_rank))
                sent_[std::size_t(near)].push_back(i);
        const std::vector<Node> copies = exchange_rows(comm, picked(nodes_));
        nodes_.insert(nodes_.end(), copies.begin(), copies.end());
    }

    const std::vector<Node>& nodes() const { return nodes_; }
    std::size_t n_own() const { return n_own_; }

    /// Values of the copies, from those who own them. Collective.
    std::vector<int64_t> of_copies(const std::vector<int64_t>& values) const {
        return exchange_rows(comm_, picked(values));
    }

private:
    template <class Row>
    std::vector<std::vector<Row>> picked(const std::vector<Row>& rows) const {
        std::vector<std::vector<Row>> to(sent_.size());
        for (std::size_t r = 0; r < sent_.size(); ++r)
            for (const std::size_t i : sent_[r]) to[r].push_back(rows[i]);
        return to;
    }

    MPI_Comm comm_;
    std::vector<Node> nodes_;
    std::size_t n_own_ = 0;
    std::vector<std::vector<std::size_t>> sent_;  // to each rank
};

std::vector<Node> nodes_of(const std::vector<Hit>& hits, const Embedding& embedding) {
    const auto width = static_cast<std::size_t>(embedding.width);
    if (width > most_width)
        throw std::invalid_argument("an embedding of " + std::to_string(width) +
                                    " numbers; at most " + std::to_string(most_width) +
                                    " are expected");
    std::vector<Node> nodes;
    for (std::size_t i = 0; i < hits.size(); ++i) {
        nodes.push_back({hits[i].id, hits[i].event, hits[i].azimuth, hits[i].layer, {}});
        std::copy_n(&embedding.rows[i * width], width, nodes.back().place);
    }
    return nodes;
}

/// Links of one event: those of own nodes with all others.
void link_event(const Neighborhood& near, const std::vector<std::size_t>& which, std::size_t width,
                double radius, Sets* sets) {
    const std::vector<Node>& nodes = near.nodes();
    const Points points{nodes, which.data(), which.size()};
    const Tree tree(static_cast<int>(width), points);
    const auto squared = static_cast<float>(1.0001 * radius * radius);  // is_linked() decides
    std::vector<std::pair<uint32_t, float>> found;
    for (const std::size_t i : which) {
        if (i >= near.n_own()) continue;
        tree.radiusSearch(nodes[i].place, squared, found, nanoflann::SearchParams(32, 0, false));
        for (const auto& [place, distance] : found)
            if (const std::size_t j = which[place]; is_linked(nodes[i], nodes[j], width, radius))
                sets->unite(i, j);
    }
}

void link(const Neighborhood& near, std::size_t width, double radius, Sets* sets) {
    const std::vector<Node>& nodes = near.nodes();
    std::vector<std::size_t> order(nodes.size());
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return nodes[a].event < nodes[b].event; });
    for (auto first = order.begin(); first != order.end();) {
        const auto last = std::find_if(first, order.end(), [&](std::size_t i) {
            return nodes[i].event != nodes[*first].event;
        });
        link_event(near, {first, last}, width, radius, sets);
        first = last;
    }
}

/// Labels of sets that span ranks: each rank takes over the lower ones of its neighbors until none
/// changes, which takes as many rounds as the longest chain has ranks.
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
    const Neighborhood near(comm, nodes_of(hits, embedding));
    Sets sets(near.nodes().size());
    link(near, static_cast<std::size_t>(embedding.width), radius, &sets);
    return agree_on_labels(comm, near, &sets);
}

}  // namespace tracking
