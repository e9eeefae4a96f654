// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "libsurrogate/src/domain/domain.hpp"
#include "libsurrogate/src/ranks/row_route.hpp"

namespace surrogate::impl {

/// Which rank computes each cloud of a domain. A cloud whose points are on one rank stays there. A
/// cloud that spans ranks is computed by the rank that holds most of its points (the lowest of
/// several), or, if it has more points than a rank's share and than `shared_points`, by all ranks
/// with its points where they are.
class CloudLayout {
public:
    static constexpr int64_t shared_points = 1024;

    /// A cloud that this rank computes, or its part of a cloud that all ranks compute.
    struct Cloud {
        int64_t number = 0;
        Range rows;           ///< of its points on this rank, in the order of the layout
        int64_t n_point = 0;  ///< of all ranks
    };

    /// Decides which ranks compute which clouds. may_share: ranks can compute a cloud together. A
    /// cloud without points is computed by no rank. Collective; throws no_memory on all ranks.
    /// Memory while it runs: 40 bytes per cloud, see also stable_sorted_positions().
    CloudLayout(const PointDomain& domain, bool may_share);

    /// Returns clouds of all ranks, in the same order on all of them, and clouds of this rank; by
    /// number.
    std::span<const Cloud> shared() const { return shared_; }
    std::span<const Cloud> own() const { return own_; }
    /// Returns true if points of any rank are computed by another.
    bool moves() const { return moves_; }
    /// Returns the route from the points of the domain to the rows of the layout: shared clouds,
    /// then own clouds.
    const RowRoute& route() const { return *route_; }
    int64_t n_row() const { return route_->target_rows().size(); }

    /// Makes the domains of shared() and then own(): with the context of `domain`, which outlives
    /// them, or with own_context(i) for cloud i of own(). Collective. Throws on all ranks:
    /// invalid_argument (an edge between two clouds), no_memory.
    template <class OwnContext>
    std::vector<std::unique_ptr<PointDomain>> domains(const OwnContext& own_context) const {
        Arrays arrays = move_arrays();
        if (domain_.edges()) move_edges(arrays);
        std::vector<std::unique_ptr<PointDomain>> list;
        const std::shared_ptr<Context> all(std::shared_ptr<Context>(), &domain_.context());
        domain_.context().comm().agree([&] { list.reserve(shared_.size() + own_.size()); });
        for (const Cloud& cloud : shared_) list.push_back(arrays.domain(all, cloud.rows));
        domain_.context().comm().agree([&] {
            for (size_t i = 0; i < own_.size(); ++i)
                list.push_back(arrays.domain(own_context(i), own_[i].rows));
            for (size_t i = 0; i < list.size() && arrays.edges; ++i) set_edges(arrays, i, *list[i]);
        });
        return list;
    }

private:
    /// Data of the points, by row of the layout.
    struct Arrays {
        int64_t n_axis = 0;
        std::vector<double> x, weights;  // (n_row, n_axis), (n_row)
        std::vector<int64_t> ids;        // (n_row)
        std::optional<Edges> edges;
        std::vector<Range> shared_rows;  // (size, shared clouds): on each rank

        std::unique_ptr<PointDomain> domain(const std::shared_ptr<Context>& context,
                                            Range rows) const;
    };
    Arrays move_arrays() const;
    void move_edges(Arrays& arrays) const;
    void set_edges(const Arrays& arrays, size_t index, PointDomain& domain) const;
    std::vector<int> owners(bool may_share);
    void set_clouds();

    const PointDomain& domain_;
    std::vector<Cloud> shared_, own_;
    bool moves_ = false;
    std::optional<RowRoute> route_;
};

}  // namespace surrogate::impl
