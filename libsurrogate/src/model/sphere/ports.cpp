// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sphere/ports.hpp"

#include <algorithm>

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

/// What `rank` wants of the others to hold the rows `rows`.
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

/// What this rank's block wants of those who compute rows.
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

}  // namespace

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
    frame.comm.agree([&] { wants = wants_of_domain(domain_, field_.rows()); });
    exchange_.connect(frame.comm, std::move(wants), n_channel_ * static_cast<int64_t>(sizeof(T)));
}

template <class T>
BadValue InputPort<T>::gather(const Frame& frame, std::span<const Column> columns,
                              OutsideCounts& outside, size_t first_column) {
    bad_.clear();
    const int64_t n_column = domain_.own().n_column;
    if (n_column == 0) return {};
    frame.queue.parallel_for(domain_.own().n_row, [&](int64_t row, int thread) {
        const Tile<T> tile = block_.row(row);
        Outside* const counts = outside.of(thread) + first_column;
        for_columns(domain_, columns, row, [&](std::span<const Column> some, size_t first) {
            T* to = tile.data + static_cast<int64_t>(first) * tile.stride[0];
            const BadValue found =
                impl::gather<T>(some, 0, n_column, to, 1, tile.stride[0], counts + first);
            bad_.note(row, shifted(found, first, row * n_column));
        });
    });
    return bad_.first();
}

template <class T>
void InputPort<T>::deliver(const Frame& frame) {
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
    frame.comm.agree([&] { wants = wants_of_block(domain_, bands); });
    exchange_.connect(frame.comm, std::move(wants), n_channel_ * static_cast<int64_t>(sizeof(T)));
}

template <class T>
void OutputPort<T>::deliver(const Frame& frame) {
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
        const Tile<T> tile = block_.row(row);
        for (size_t c = 0; c < columns.size(); ++c) {
            if (!columns[c].data) continue;
            const Column shifted = domain_.row_of(columns[c], row);
            const T* from = tile.data + static_cast<int64_t>(c) * tile.stride[0];
            bad_.note(row, impl::scatter<T>(from, 1, tile.stride[0], {&shifted, 1}, 0, n_column));
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
        const Tile<T> tile = block_.row(row);
        for_columns(domain_, columns, row, [&](std::span<const Column> some, size_t first) {
            const T* from = tile.data + static_cast<int64_t>(first) * tile.stride[0];
            const BadValue found = impl::scatter<T>(from, 1, tile.stride[0], some, 0, n_column);
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
