// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sphere/ports.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace surrogate::impl::sphere {

namespace {

/// Columns of most fields, on the stack: a run takes no memory.
constexpr size_t max_columns_at_once = 32;

/// Calls body(columns of local row `row`, first of them), some columns at a time.
template <class Body>
void for_columns(const SphereDomain& domain, std::span<const Column> columns, int64_t row,
                 const Body& body) {
    Column shifted[max_columns_at_once];
    for (size_t first = 0; first < columns.size(); first += max_columns_at_once) {
        const size_t n = std::min(max_columns_at_once, columns.size() - first);
        for (size_t i = 0; i < n; ++i) shifted[i] = domain.row_of(columns[first + i], row);
        body(std::span<const Column>(shifted, n), first);
    }
}

/// `found` counts columns and points from these.
BadValue shifted(BadValue found, size_t first_column, int64_t first_point) {
    found.column += static_cast<int>(found.column < 0 ? 0 : first_column);
    found.point += first_point;
    return found;
}

/// Requests of `rank` to hold the rows `rows`.
std::vector<NeighborExchange::Want> wants_of_domain(const SphereDomain& domain, Range rows) {
    std::vector<NeighborExchange::Want> wants;
    std::vector<Segment> owned;
    for (int rank = 0; rank < domain.context().comm().size(); ++rank) {
        const Range wanted = intersection(rows, domain.model_rows(rank));
        for (int64_t row = wanted.begin; row < wanted.end; ++row) {
            owned.clear();
            domain.add_owned(rank, {row, 0, domain.grid().n_lon}, owned);
            for (const Segment& segment : owned) wants.push_back({rank, segment});
        }
    }
    return wants;
}

/// Requests of this rank's block to the ranks that compute rows.
std::vector<NeighborExchange::Want> wants_of_block(const SphereDomain& domain, const Bands& bands) {
    std::vector<NeighborExchange::Want> wants;
    std::vector<Segment> owned;
    const int own = domain.context().comm().rank();
    const Range mine = domain.model_rows(own);
    for (int rank = 0; rank < bands.n_rank(); ++rank) {
        const Range wanted = intersection(mine, bands.of(rank));
        for (int64_t row = wanted.begin; row < wanted.end; ++row) {
            owned.clear();
            domain.add_owned(own, {row, 0, domain.grid().n_lon}, owned);
            for (const Segment& segment : owned) wants.push_back({rank, segment});
        }
    }
    return wants;
}

/// Calls body(tile, first) for the parts of a local row: tile (n_channel, n) has its columns from
/// `first` on. They lie in the field, or the row lies in the copy of the block.
template <class T, class Body>
void for_parts(const SphereDomain& domain, const BlockInField& in_field, Field<T>& block,
               Field<T>& field, int64_t row, const Body& body) {
    if (!in_field.is_whole()) return body(block.row(row), int64_t{0});
    for (const Segment& s : in_field.row(row))
        body(field.tile(s.row, s.first, s.count), domain.local_column(s.first));
}

/// The bad value of the lower column, of equal ones the former.
void keep_first(const BadValue& bad, BadValue& first) {
    if (bad.column >= 0 && (first.column < 0 || bad.column < first.column)) first = bad;
}

}  // namespace

BlockInField::BlockInField(const SphereDomain& domain,
                           std::span<const NeighborExchange::Want> wants) {
    const int own = domain.context().comm().rank();
    int64_t n_point = 0;
    for (const NeighborExchange::Want& want : wants) {
        if (want.rank != own) continue;
        segments_.push_back(want.segment);
        n_point += want.segment.count;
    }
    if (n_point < domain.own().n_row * domain.own().n_column) return;
    const auto place = [&](const Segment& s) {
        return std::pair(domain.local_row(s.row), domain.local_column(s.first));
    };
    std::sort(segments_.begin(), segments_.end(),
              [&](const Segment& a, const Segment& b) { return place(a) < place(b); });
    begins_.assign(static_cast<size_t>(domain.own().n_row) + 1, 0);
    for (const Segment& s : segments_) ++begins_[static_cast<size_t>(place(s).first) + 1];
    std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
}

template <class T>
InputPort<T>::InputPort(const SphereDomain& domain, int64_t n_channel, Range rows)
    : domain_(domain),
      n_channel_(n_channel),
      block_({0, domain.own().n_row}, domain.own().n_column, n_channel),
      field_(rows, domain.grid().n_lon, n_channel),
      bad_(domain.own().n_row) {}

template <class T>
void InputPort<T>::connect(const Frame& frame) {
    std::vector<NeighborExchange::Want> wants;
    frame.comm.agree([&] {
        wants = wants_of_domain(domain_, field_.rows());
        in_field_ = {domain_, wants};
    });
    exchange_.connect(frame.comm, std::move(wants), n_channel_ * static_cast<int64_t>(sizeof(T)));
    if (exchange_.has_messages()) in_field_.clear();
    if (in_field_.is_whole()) block_ = {};
}

template <class T>
BadValue InputPort<T>::gather(const Frame& frame, std::span<const Column> columns,
                              OutsideCounts& outside, size_t first_column) {
    bad_.clear();
    const int64_t n_column = domain_.own().n_column;
    if (n_column == 0) return {};
    frame.queue.parallel_for(domain_.own().n_row, [&](int64_t row, int thread) {
        Outside* const counts = outside.of(thread) + first_column;
        for_columns(domain_, columns, row, [&](std::span<const Column> some, size_t first) {
            BadValue found;
            for_parts(domain_, in_field_, block_, field_, row, [&](const Tile<T>& part, int64_t i) {
                T* to = part.data + static_cast<int64_t>(first) * part.stride[0];
                keep_first(
                    impl::gather<T>(some, i, part.shape[1], to, 1, part.stride[0], counts + first),
                    found);
            });
            bad_.note(row, shifted(found, first, row * n_column));
        });
    });
    return bad_.first();
}

template <class T>
void InputPort<T>::deliver(const Frame& frame) {
    if (in_field_.is_whole()) return;
    if (!exchange_.has_messages()) {
        const std::vector<Segment>& own = exchange_.sent();
        frame.queue.parallel_for(std::ssize(own), [&](int64_t i, int) {
            const Segment& s = own[static_cast<size_t>(i)];
            copy<T>(block_.tile(domain_.local_row(s.row), domain_.local_column(s.first), s.count),
                    field_.tile(s.row, s.first, s.count));
        });
        return;
    }
    exchange_.begin<T>(frame.comm, frame.queue, n_channel_, [&](const Segment& s, T* to) {
        const Tile<T> from =
            block_.tile(domain_.local_row(s.row), domain_.local_column(s.first), s.count);
        copy<T>(from, packed(to, n_channel_, s.count));
    });
    exchange_.finish<T>(
        frame.comm, frame.queue, n_channel_, [&](const Segment& s, const T* from, int) {
            copy<T>(packed(from, n_channel_, s.count), field_.tile(s.row, s.first, s.count));
        });
}

template <class T>
OutputPort<T>::OutputPort(const SphereDomain& domain, int64_t n_channel, const Bands& bands)
    : domain_(domain),
      n_channel_(n_channel),
      block_({0, domain.own().n_row}, domain.own().n_column, n_channel),
      field_(bands.of(domain.context().comm().rank()), domain.grid().n_lon, n_channel),
      bad_(domain.own().n_row) {}

template <class T>
void OutputPort<T>::connect(const Frame& frame, const Bands& bands) {
    std::vector<NeighborExchange::Want> wants;
    frame.comm.agree([&] {
        wants = wants_of_block(domain_, bands);
        in_field_ = {domain_, wants};
    });
    exchange_.connect(frame.comm, std::move(wants), n_channel_ * static_cast<int64_t>(sizeof(T)));
    if (exchange_.has_messages()) in_field_.clear();
    if (in_field_.is_whole()) block_ = {};
}

template <class T>
void OutputPort<T>::deliver(const Frame& frame) {
    if (in_field_.is_whole()) return;
    if (!exchange_.has_messages()) {
        const std::vector<Segment>& own = exchange_.sent();
        frame.queue.parallel_for(std::ssize(own), [&](int64_t i, int) {
            const Segment& s = own[static_cast<size_t>(i)];
            copy<T>(field_.tile(s.row, s.first, s.count),
                    block_.tile(domain_.local_row(s.row), domain_.local_column(s.first), s.count));
        });
        return;
    }
    exchange_.begin<T>(frame.comm, frame.queue, n_channel_, [&](const Segment& s, T* to) {
        copy<T>(field_.tile(s.row, s.first, s.count), packed(to, n_channel_, s.count));
    });
    exchange_.finish<T>(
        frame.comm, frame.queue, n_channel_, [&](const Segment& s, const T* from, int) {
            const Tile<T> to =
                block_.tile(domain_.local_row(s.row), domain_.local_column(s.first), s.count);
            copy<T>(packed(from, n_channel_, s.count), to);
        });
}

template <class T>
BadValue OutputPort<T>::scatter_some(const Frame& frame, std::span<const Column> columns) {
    bad_.clear();
    const int64_t n_column = domain_.own().n_column;
    if (n_column == 0) return {};
    frame.queue.parallel_for(domain_.own().n_row, [&](int64_t row, int) {
        for (size_t c = 0; c < columns.size(); ++c) {
            if (!columns[c].data) continue;
            const Column shifted = domain_.row_of(columns[c], row);
            for_parts(domain_, in_field_, block_, field_, row, [&](const Tile<T>& part, int64_t i) {
                const T* from = part.data + static_cast<int64_t>(c) * part.stride[0];
                bad_.note(row, impl::scatter<T>(from, 1, part.stride[0], {&shifted, 1}, i,
                                                part.shape[1]));
            });
        }
    });
    return bad_.first();
}

template <class T>
BadValue OutputPort<T>::scatter(const Frame& frame, std::span<const Column> columns) {
    bad_.clear();
    const int64_t n_column = domain_.own().n_column;
    if (n_column == 0) return {};
    frame.queue.parallel_for(domain_.own().n_row, [&](int64_t row, int) {
        for_columns(domain_, columns, row, [&](std::span<const Column> some, size_t first) {
            BadValue found;
            for_parts(domain_, in_field_, block_, field_, row, [&](const Tile<T>& part, int64_t i) {
                const T* from = part.data + static_cast<int64_t>(first) * part.stride[0];
                keep_first(impl::scatter<T>(from, 1, part.stride[0], some, i, part.shape[1]),
                           found);
            });
            bad_.note(row, shifted(found, first, row * n_column));
        });
    });
    return bad_.first();
}

template <class T>
void OutputPort<T>::fill_nan(std::span<const Column> columns) const {
    if (domain_.own().n_column == 0) return;
    for (int64_t row = 0; row < domain_.own().n_row; ++row) {
        for_columns(domain_, columns, row, [&](std::span<const Column> some, size_t) {
            impl::fill_nan(some, domain_.own().n_column);
        });
    }
}

template class InputPort<float>;
template class InputPort<double>;
template class OutputPort<float>;
template class OutputPort<double>;

}  // namespace surrogate::impl::sphere
