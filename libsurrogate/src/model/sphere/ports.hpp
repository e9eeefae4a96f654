// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "libsurrogate/src/domain/sphere_domain.hpp"
#include "libsurrogate/src/model/sphere/bands.hpp"
#include "libsurrogate/src/model/sphere/frame.hpp"
#include "libsurrogate/src/ranks/neighbor_exchange.hpp"

namespace surrogate::impl::sphere {

/// The points of a rank's block in a field of whole rows, where ranks have no messages for each
/// other and the field has them all: a copy of the block would only be copied once more.
class BlockInField {
public:
    BlockInField() = default;
    /// Local. `wants`: what this rank wants of all ranks.
    BlockInField(const SphereDomain& domain, std::span<const NeighborExchange::Want> wants);

    bool is_whole() const { return !begins_.empty(); }
    void clear() { begins_.clear(); }
    /// Segments of a local row, from its first column on: two where the block runs over longitude
    /// 0.
    std::span<const Segment> row(int64_t local_row) const {
        const auto i = static_cast<size_t>(local_row);
        return std::span(segments_).subspan(begins_[i], begins_[i + 1] - begins_[i]);
    }

private:
    std::vector<Segment> segments_;  // by local row and column
    std::vector<size_t> begins_;     // (local row + 1), or empty
};

/// Redistributes a network input from the solver's blocks to whole rows: normalizes it into a copy
/// of the block, then exchanges, flips and shifts it. Without messages the block is not copied.
template <class T>
class InputPort {
public:
    /// Local. The network wants the rows `rows`, whole, on this rank.
    InputPort(const SphereDomain& domain, int64_t n_channel, Range rows);
    /// Collective.
    void connect(const Frame& frame);

    /// Local: reads the solver's arrays; may write field(). Points count from 0 in the solver's
    /// block. outside: column `first_column` on is this port's.
    BadValue gather(const Frame& frame, std::span<const Column> columns, OutsideCounts& outside,
                    size_t first_column);
    /// Collective.
    void deliver(const Frame& frame);

    /// The network's rows (n_channel channels); a layer may read and change them after deliver().
    Field<T>& field() { return field_; }
    int64_t n_channel() const { return n_channel_; }
    const NeighborExchange& exchange() const { return exchange_; }
    int64_t bytes() const { return block_.bytes() + field_.bytes() + exchange_.bytes(); }

private:
    const SphereDomain& domain_;
    int64_t n_channel_;
    Field<T>
        block_;  // rows and columns as the solver counts them, from 0; empty if in_field_ is whole
    Field<T> field_;
    BlockInField in_field_;
    NeighborExchange exchange_;
    FirstBad bad_;  // (local row)
};

/// The reverse: rows that ranks computed to the solver's blocks.
template <class T>
class OutputPort {
public:
    /// Local. `bands`: who computes which rows.
    OutputPort(const SphereDomain& domain, int64_t n_channel, const Bands& bands);
    /// Collective.
    void connect(const Frame& frame, const Bands& bands);

    /// Collective: predictions from the rows that this rank computed.
    void deliver(const Frame& frame);
    /// Local: to the solver's arrays.
    BadValue scatter(const Frame& frame, std::span<const Column> columns);
    /// The same for columns of which some have no data: those are left out. The place of what it
    /// returns counts within a row.
    BadValue scatter_some(const Frame& frame, std::span<const Column> columns);
    /// Local: NaN to all points of this rank's block.
    void fill_nan(std::span<const Column> columns) const;

    Field<T>& field() { return field_; }
    const Field<T>& field() const { return field_; }
    int64_t n_channel() const { return n_channel_; }
    const NeighborExchange& exchange() const { return exchange_; }
    int64_t bytes() const { return block_.bytes() + field_.bytes() + exchange_.bytes(); }

private:
    const SphereDomain& domain_;
    int64_t n_channel_;
    Field<T> block_, field_;  // block_ as above
    BlockInField in_field_;
    NeighborExchange exchange_;
    FirstBad bad_;
};

}  // namespace surrogate::impl::sphere
