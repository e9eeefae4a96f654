// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "embedder.hpp"
#include "event.hpp"
#include "exchange.hpp"

namespace tracking {

constexpr std::size_t max_width = 16;

/// Data of a hit for links.
struct Node {
    int64_t id, event;
    double azimuth;
    int32_t layer;
    float place[max_width];
};

/// Returns the nodes of hits. Throws std::invalid_argument for an embedding wider than max_width.
std::vector<Node> nodes_of(const std::vector<Hit>& hits, const Embedding& embedding);

/// This rank's nodes, followed by copies of nodes near its sector, and the lists of copies on other
/// ranks.
class Neighborhood {
public:
    /// own: nodes of this rank's sector. Copies are nodes of other sectors, not more than
    /// window_rad away. Collective.
    Neighborhood(MPI_Comm comm, std::vector<Node> own, double window_rad);

    const std::vector<Node>& nodes() const { return nodes_; }
    std::size_t n_own() const { return n_own_; }

    /// Returns the values of the copies, from their owner ranks. Collective.
    template <class Value>
    std::vector<Value> of_copies(const std::vector<Value>& values) const {
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

}  // namespace tracking
