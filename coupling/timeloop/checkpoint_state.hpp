// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "coupling/timeloop/checkpoint_orders.hpp"
#include "coupling/timeloop/checkpoint_points.hpp"

namespace surrogate::timeloop {

/// Common part of saving and restoring: describes a snapshot of the points of a plan as it is
/// stored in the file, and keeps the orderings between the ranks' rows and the rows of the file.
class CheckpointState {
public:
    /// Checks the snapshot, and checks that all ranks pass the same path, fields and integrals.
    /// Collective; throws Error, the same on all ranks.
    CheckpointState(surrogate_context* context, const surrogate_plan* plan,
                    const Snapshot& snapshot, const std::string& path, CheckpointOrders* orders);

    surrogate_context* context() const { return context_; }
    int32_t rank() const { return rank_; }

    /// Groups, fields and integrals in the order of the snapshot.
    CheckpointContent content;

    /// Returns the points of a group of the content, by the index of the group.
    const PlanPoints& points(size_t group) const { return *points_[group]; }
    const Ordering& order(size_t group) const { return *kept_->orders[group]; }
    size_t group_of(const StateField& field) const {
        return field.at_output && content.points.size() > 1 ? 1 : 0;
    }
    /// Returns the bytes of this rank's range of the largest rows.
    size_t largest_range() const {
        int64_t n = 0;
        for (size_t group = 0; group < content.points.size(); ++group)
            n = std::max(n, order(group).n());
        return static_cast<size_t>(n * row_bytes_);
    }
    /// Returns the offset of this rank's rows of a group in the file.
    uint64_t offset(const Rows& rows, size_t group) const {
        return rows.offset + static_cast<uint64_t>(order(group).first() * rows.row_bytes());
    }
    size_t range_bytes(const Rows& rows, size_t group) const {
        return static_cast<size_t>(order(group).n() * rows.row_bytes());
    }

    /// Sends the times, integrals, offsets and file size that rank 0 has read to all ranks.
    /// Collective.
    void share_content();

private:
    /// Indices of the values that are gathered from all ranks: columns of coordinates and of ids of
    /// both domains, flags for orderings that must be computed again, and a flag for fields on a
    /// second domain.
    enum { n_axis, has_id = 2, is_moved = 4, is_second_used = 6, n_common };

    void check_fields(const Snapshot& snapshot) const;
    void set_content(const Snapshot& snapshot);
    void make_orders();
    /// Calls visit(word) for each value that share_content() sends.
    template <class Visit>
    void visit_shared(const Visit& visit);

    surrogate_context* context_;
    int32_t rank_ = 0;
    int64_t row_bytes_ = 1;  ///< bytes of the largest row
    std::array<std::optional<PlanPoints>, 2> points_;
    CheckpointOrders* kept_;
    std::array<double, n_common> common_ = {};
};

}  // namespace surrogate::timeloop
