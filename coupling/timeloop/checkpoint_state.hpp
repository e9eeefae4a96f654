// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "coupling/timeloop/checkpoint_points.hpp"

namespace surrogate::timeloop {

/// What saving and restoring have in common: a snapshot of the points of a plan as a file has it, and
/// the way of rows into the order of the file.
class CheckpointState {
public:
    /// Checks the snapshot, and that all ranks give the same path, fields and integrals. Collective;
    /// throws Error, the same on all ranks.
    CheckpointState(surrogate_context* context, const surrogate_plan* plan,
                    const Snapshot& snapshot, const std::string& path);

    surrogate_context* context() const { return context_; }
    int32_t rank() const { return rank_; }

    /// Groups, fields and integrals in the order of the snapshot.
    CheckpointContent content;

    /// Points and order of a group of the content, by its index.
    const PlanPoints& points(size_t group) const { return *points_[group]; }
    const FileOrder& order(size_t group) const { return orders_[group]; }
    size_t group_of(const StateField& field) const {
        return field.at_output && content.points.size() > 1 ? 1 : 0;
    }
    /// Bytes of this rank's range of the largest rows.
    size_t largest_range() const {
        return static_cast<size_t>(std::max(orders_[0].n(), orders_[1].n()) * row_bytes_);
    }
    /// Where this rank's range of rows of a group begins in the file.
    uint64_t offset(const Rows& rows, size_t group) const {
        return rows.offset + static_cast<uint64_t>(orders_[group].first() * rows.row_bytes());
    }
    size_t range_bytes(const Rows& rows, size_t group) const {
        return static_cast<size_t>(orders_[group].n() * rows.row_bytes());
    }

    /// Brings to all ranks what rank 0 knows of the file: times, integrals, offsets, size. Collective.
    void share_content();

private:
    /// Columns of coordinates and of ids of both domains, whether the domains differ, and whether
    /// there are fields at the second: over all ranks.
    enum { n_axis_in, has_id_in, n_axis_out, has_id_out, is_second_used, n_common };

    void check_fields(const Snapshot& snapshot) const;
    void set_content(const Snapshot& snapshot);
    /// Calls visit(word) with all that share_content() brings.
    template <class Visit>
    void visit_shared(const Visit& visit);

    surrogate_context* context_;
    int32_t rank_ = 0;
    int64_t row_bytes_ = 1;  ///< of the largest row
    std::array<std::optional<PlanPoints>, 2> points_;
    std::array<FileOrder, 2> orders_;
    std::array<double, n_common> common_ = {};
};

}  // namespace surrogate::timeloop
