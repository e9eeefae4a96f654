// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/domain/nearest_edges.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <tuple>
#include <vector>

#include "libsurrogate/src/ranks/send_rows.hpp"

namespace surrogate::impl {

namespace {

using Position = std::array<float, 3>;  // axes that the points do not have are 0
constexpr float infinite = std::numeric_limits<float>::infinity();

/// A point, with its rank and row among the points of the caller.
struct Site {
    Position x{};
    int32_t rank = 0;
    int64_t row = 0, id = 0;
};

/// Neighbor of a point.
struct Neighbor {
    double square = 0;  ///< of the distance; -1 for the point itself
    int64_t id = 0, row = 0;
    int32_t rank = -1;  ///< -1: none
    bool operator<(const Neighbor& other) const {
        return std::tie(square, id) < std::tie(other.square, other.id);
    }
};

/// Box of points; without points its distance is infinite.
struct Box {
    Position low{infinite, infinite, infinite}, high{-infinite, -infinite, -infinite};

    void add(const Position& x) {
        for (size_t a = 0; a < 3; ++a) {
            low[a] = std::min(low[a], x[a]);
            high[a] = std::max(high[a], x[a]);
        }
    }
    /// Returns the square of the distance, rounded as the squares of distances of its points are:
    /// none of them is smaller.
    double square(const Position& x) const {
        double sum = 0;
        for (size_t a = 0; a < 3; ++a) {
            const double d =
                std::max({static_cast<double>(low[a]) - static_cast<double>(x[a]),
                          static_cast<double>(x[a]) - static_cast<double>(high[a]), 0.0});
            sum += d * d;
        }
        return sum;
    }
};

double square_of(const Position& x, const Position& y) {
    double sum = 0;
    for (size_t a = 0; a < 3; ++a) {
        const double d = static_cast<double>(x[a]) - static_cast<double>(y[a]);
        sum += d * d;
    }
    return sum;
}

/// The k nearest points found so far, in ascending order.
class Nearest {
public:
    Nearest(Neighbor* list, int64_t k) : list_(list), k_(k) {}

    /// Returns the squared distance beyond which points are not among the nearest.
    double bound() const {
        return n_ < k_ ? std::numeric_limits<double>::infinity() : list_[n_ - 1].square;
    }
    void offer(const Neighbor& neighbor) {
        if (n_ == k_ && !(neighbor < list_[n_ - 1])) return;
        if (n_ < k_) ++n_;
        Neighbor* const place = std::upper_bound(list_, list_ + n_ - 1, neighbor);
        std::move_backward(place, list_ + n_ - 1, list_ + n_);
        *place = neighbor;
    }

private:
    Neighbor* list_;
    int64_t k_, n_ = 0;
};

/// k-d tree of sites.
class SiteTree {
public:
    /// Reorders the sites, which must outlive the tree.
    explicit SiteTree(std::vector<Site>& sites) : sites_(sites) {
        if (!sites.empty()) add(0, std::ssize(sites));
    }

    Box box() const { return nodes_.empty() ? Box() : nodes_.front().box; }

    /// Offers the points at most `limit` (squared distance) from x that may be among the nearest,
    /// except the point `self`. May be called by several threads.
    void find(const Position& x, int64_t self, double limit, Nearest& nearest) const {
        if (!nodes_.empty()) search(0, x, self, limit, nearest);
    }

private:
    struct Node {
        Box box;
        int64_t first, end;  ///< sites
        size_t next;         ///< node after this one and its children; children follow a node
    };
    static constexpr int64_t most_in_leaf = 16;

    size_t add(int64_t first, int64_t end) {
        const size_t node = nodes_.size();
        nodes_.push_back({{}, first, end, 0});
        Box box;
        for (int64_t i = first; i < end; ++i) box.add(sites_[static_cast<size_t>(i)].x);
        nodes_[node].box = box;
        if (end - first > most_in_leaf) {
            size_t axis = 0;
            for (size_t a = 1; a < 3; ++a)
                if (box.high[a] - box.low[a] > box.high[axis] - box.low[axis]) axis = a;
            const int64_t middle = first + (end - first) / 2;
            std::nth_element(
                sites_.begin() + first, sites_.begin() + middle, sites_.begin() + end,
                [axis](const Site& a, const Site& b) { return a.x[axis] < b.x[axis]; });
            add(first, middle);
            add(middle, end);
        }
        return nodes_[node].next = nodes_.size();
    }

    void search(size_t node, const Position& x, int64_t self, double limit,
                Nearest& nearest) const {
        const Node& at = nodes_[node];
        if (at.box.square(x) > std::min(limit, nearest.bound())) return;
        if (at.end - at.first > most_in_leaf) {
            const size_t left = node + 1, right = nodes_[left].next;
            const bool is_left = nodes_[left].box.square(x) <= nodes_[right].box.square(x);
            search(is_left ? left : right, x, self, limit, nearest);
            return search(is_left ? right : left, x, self, limit, nearest);
        }
        for (int64_t i = at.first; i < at.end; ++i) {
            const Site& site = sites_[static_cast<size_t>(i)];
            const double square = square_of(site.x, x);
            if (square <= limit && site.id != self)
                nearest.offer({square, site.id, site.row, site.rank});
        }
    }

    std::vector<Site>& sites_;
    std::vector<Node> nodes_;
};

/// A search on another rank, and one point that it returns.
struct Query {
    Position x{};
    int32_t to = 0;     ///< rank that searches
    int32_t from = 0;   ///< rank of the site
    int64_t index = 0;  ///< of the site there
    int64_t id = 0;     ///< of the site
    double limit = 0;
};
struct Answer {
    Neighbor neighbor;
    int64_t index = 0;
    int32_t to = 0;
};

/// Sends the points of this rank in the caller's order to the ranks of the ordering. Collective.
std::vector<Site> sites_of(Communicator& comm, const TreePoints& points, int64_t n_axis,
                           const RowRoute& route) {
    const int64_t n = route.n_origin();
    std::vector<Site> given, scratch, sites;
    comm.agree([&] {
        given.resize(static_cast<size_t>(n));
        for (int64_t i = 0; i < n; ++i) {
            Site& site = given[static_cast<size_t>(i)];
            site = {{}, comm.rank(), i, points.ids[i]};
            for (int64_t a = 0; a < n_axis; ++a)
                site.x[static_cast<size_t>(a)] = points.x[a * n + i];
        }
        scratch.resize(static_cast<size_t>(route.scratch_rows()));
        sites.resize(static_cast<size_t>(route.target_rows().size()));
        route.reserve(comm, sizeof(Site));
    });
    route.to_target(comm, given.data(), scratch.data(), sites.data(), sizeof(Site));
    return sites;
}

/// Searches the points of other ranks. Collective.
///   found  (n_site, k) the nearest points of this rank; becomes the nearest of all ranks
void search_others(Communicator& comm, const kernels::Queue& queue, const std::vector<Site>& sites,
                   const SiteTree& tree, int64_t k, std::vector<Neighbor>& found) {
    const Box own = tree.box();
    std::vector<Box> boxes;
    comm.agree([&] { boxes.resize(static_cast<size_t>(comm.size())); });
    comm.all_gather(&own, boxes.data(), sizeof(Box));
    std::vector<Query> queries;
    comm.agree([&] {
        for (size_t i = 0; i < sites.size(); ++i) {
            const Neighbor& last = found[(i + 1) * static_cast<size_t>(k) - 1];
            const double limit =
                last.rank < 0 ? std::numeric_limits<double>::infinity() : last.square;
            for (int32_t rank = 0; rank < comm.size(); ++rank) {
                const double square = boxes[static_cast<size_t>(rank)].square(sites[i].x);
                if (rank == comm.rank() || square > limit || square == infinite) continue;
                queries.push_back(
                    {sites[i].x, rank, comm.rank(), static_cast<int64_t>(i), sites[i].id, limit});
            }
        }
    });
    queries = send_rows(comm, queries, [](const Query& q) { return q.to; });
    std::vector<Answer> answers;
    comm.agree([&] {
        std::vector<Neighbor> nearest(queries.size() * static_cast<size_t>(k));
        queue.parallel_for(std::ssize(queries), [&](int64_t q, int) {
            Nearest list(&nearest[static_cast<size_t>(q * k)], k);
            const Query& query = queries[static_cast<size_t>(q)];
            tree.find(query.x, query.id, query.limit, list);
        });
        for (size_t i = 0; i < nearest.size(); ++i) {
            const Query& query = queries[i / static_cast<size_t>(k)];
            if (nearest[i].rank >= 0) answers.push_back({nearest[i], query.index, query.from});
        }
    });
    answers = send_rows(comm, answers, [](const Answer& a) { return a.to; });
    comm.agree([&] {
        // Merges the points of this rank with the answers for a site.
        std::ranges::sort(answers, {}, &Answer::index);
        std::vector<Neighbor> list(static_cast<size_t>(k));
        for (size_t a = 0; a < answers.size();) {
            const int64_t index = answers[a].index;
            Neighbor* const row = &found[static_cast<size_t>(index * k)];
            std::ranges::fill(list, Neighbor{});
            Nearest merged(list.data(), k);
            for (int64_t i = 0; i < k && row[i].rank >= 0; ++i) merged.offer(row[i]);
            for (; a < answers.size() && answers[a].index == index; ++a)
                merged.offer(answers[a].neighbor);
            std::ranges::copy(list, row);
        }
    });
}

/// Returns the edges to the points of this rank from their neighbors (n, k).
Edges edges_from(std::vector<Neighbor>& found, int64_t n, int64_t k) {
    Edges edges;
    edges.first.assign(1, 0);
    for (int64_t i = 0; i < n; ++i) {
        const auto begin = found.begin() + i * k;
        const auto end =
            std::find_if(begin, begin + k, [](const Neighbor& f) { return f.rank < 0; });
        std::sort(begin, end, [](const Neighbor& a, const Neighbor& b) { return a.id < b.id; });
        for (auto neighbor = begin; neighbor != end; ++neighbor) {
            edges.source_rank.push_back(neighbor->rank);
            edges.source_row.push_back(neighbor->row);
            edges.source_id.push_back(neighbor->id);
        }
        edges.first.push_back(std::ssize(edges.source_row));
    }
    return edges;
}

}  // namespace

Edges nearest_edges(Communicator& comm, const kernels::Queue& queue, const TreePoints& points,
                    int64_t n_axis, const RowRoute& route, int64_t k) {
    const std::vector<Site> sites = sites_of(comm, points, n_axis, route);
    std::vector<Site> in_tree;
    std::vector<Neighbor> found, scratch, own;
    std::optional<SiteTree> tree;
    comm.agree([&] {
        in_tree = sites;
        tree.emplace(in_tree);
        found.resize(sites.size() * static_cast<size_t>(k));
        scratch.resize(static_cast<size_t>(route.scratch_rows() * k));
        own.resize(static_cast<size_t>(route.n_origin() * k));
        route.reserve(comm, k * static_cast<int64_t>(sizeof(Neighbor)));
        queue.parallel_for(std::ssize(sites), [&](int64_t i, int) {
            const Site& site = sites[static_cast<size_t>(i)];
            Nearest list(&found[static_cast<size_t>(i * k)], k);
            list.offer({-1, site.id, site.row, site.rank});
            tree->find(site.x, site.id, std::numeric_limits<double>::infinity(), list);
        });
    });
    if (comm.size() > 1) search_others(comm, queue, sites, *tree, k, found);
    route.to_origin(comm, found.data(), scratch.data(), own.data(),
                    k * static_cast<int64_t>(sizeof(Neighbor)));
    Edges edges;
    comm.agree([&] { edges = edges_from(own, route.n_origin(), k); });
    return edges;
}

}  // namespace surrogate::impl
