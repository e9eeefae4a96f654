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
    /// Finds the segments of each row. `wants`: the requests of this rank to all ranks. Local.
    BlockInField(const SphereDomain& domain, std::span<const NeighborExchange::Want> wants);

    bool is_whole() const { return !begins_.empty(); }
    void clear() { begins_.clear(); }
    /// Returns the segments of a local row, from its first column on: two where the block runs over
    /// longitude 0.
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
    /// Allocates for the rows `rows`, whole, which the network reads on this rank. Local.
    InputPort(const SphereDomain& domain, int64_t n_channel, Range rows);
    /// Plans the exchange. Collective.
    void connect(const Frame& frame);

    /// Reads the solver's arrays; may write field(). Points count from 0 in the solver's block.
    /// outside: column `first_column` on is this port's. Local.
    BadValue gather(const Frame& frame, std::span<const Column> columns, OutsideCounts& outside,
                    size_t first_column);
    /// Exchanges the rows of gather(). Collective.
    void deliver(const Frame& frame);

    /// Returns the network's rows (n_channel channels); a layer may read and change them after
    /// deliver().
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
    /// Allocates. `bands`: the rows that each rank computes. Local.
    OutputPort(const SphereDomain& domain, int64_t n_channel, const Bands& bands);
    /// Plans the exchange. Collective.
    void connect(const Frame& frame, const Bands& bands);

    /// Exchanges predictions from the rows that this rank computed. Collective.
    void deliver(const Frame& frame);
    /// Writes predictions to the solver's arrays. Local.
    BadValue scatter(const Frame& frame, std::span<const Column> columns);
    /// Writes predictions to columns, except columns without data. The point of the returned value
    /// counts within a row. Local.
    BadValue scatter_some(const Frame& frame, std::span<const Column> columns);
    /// Writes NaN to all points of this rank's block. Local.
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
