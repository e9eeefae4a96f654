// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/domain/point_ports.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "libsurrogate/src/domain/canonical_order.hpp"

namespace surrogate::impl {

using kernels::tile_points;

template <class T>
PointPorts<T>::PointPorts(const PointDomain& domain, const kernels::Queue& queue, int64_t n_input,
                          int64_t n_output)
    : domain_(domain), n_input_(n_input), n_output_(n_output), solver_tiles_(domain, queue) {}

template <class T>
void PointPorts<T>::reorder(int64_t block_points) {
    reorder(canonical_route(domain_, block_points));
}

template <class T>
void PointPorts<T>::reorder(RowRoute route) {
    rows_.emplace(domain_.context().comm(), std::move(route), std::max(n_input_, n_output_));
}

template <class T>
void PointPorts<T>::place(std::span<const int64_t> slots, std::span<const int64_t> tile_sizes) {
    is_placed_ = true;
    slots_ = slots;
    tile_sizes_ = tile_sizes;
}

template <class T>
void PointPorts<T>::allocate() {
    n_point_ = rows_ ? rows_->n_canonical() : domain_.n_local();
    resize_tiles(input_, n_tile(), n_input_);
    resize_tiles(output_, n_tile(), n_output_);
    if (is_placed_) std::ranges::fill(input_, T(0));  // any tile may have padding
}

template <class T>
template <class Body>
BadValue PointPorts<T>::for_runs(int64_t first, int64_t count, const Body& body) const {
    if (!is_placed_) return body(first, count, first);
    BadValue bad;
    for (int64_t i = first, n = 0; i < first + count; i += n) {
        const int64_t begin = slot(i), end = (begin / tile_points + 1) * tile_points;
        n = 1;
        while (i + n < first + count && begin + n < end && slot(i + n) == begin + n) ++n;
        const BadValue found = body(i, n, begin);
        if (bad.column < 0) bad = found;
    }
    return bad;
}

template <class T>
BadValue PointPorts<T>::gather(std::span<const Column> inputs, OutsideCounts& outside,
                               int first_column) {
    BadValue bad = solver_tiles_.for_each([&](int64_t first, int64_t count, int thread) {
        Outside* const counts = outside.of(thread) + first_column;
        if (rows_) {
            T* const rows = rows_->solver() + first * n_input_;
            return impl::gather<T>(inputs, first, count, rows, n_input_, 1, counts);
        }
        return for_runs(first, count, [&](int64_t begin, int64_t n, int64_t at_slot) {
            return impl::gather<T>(inputs, begin, n, at(input_, at_slot, n_input_), 1, tile_points,
                                   counts);
        });
    });
    if (bad.column >= 0) bad.column += first_column;
    return bad;
}

template <class T>
void PointPorts<T>::deliver() {
    if (!rows_) return;
    rows_->to_canonical(n_input_);
    for (int64_t i = 0; i < n_point_; ++i) {
        T* const to = at(input_, slot(i), n_input_);
        for (int64_t c = 0; c < n_input_; ++c)
            to[c * tile_points] = rows_->canonical()[i * n_input_ + c];
    }
}

template <class T>
BadValue PointPorts<T>::scatter(std::span<const Column> outputs, bool alive) {
    if (rows_) send_back(alive);
    if (!alive) {
        fill_nan(outputs, domain_.n_local());
        return {};
    }
    return solver_tiles_.for_each([&](int64_t first, int64_t count, int) {
        if (rows_) {
            const T* const rows = rows_->solver() + first * n_output_;
            return impl::scatter<T>(rows, n_output_, 1, outputs, first, count);
        }
        return for_runs(first, count, [&](int64_t begin, int64_t n, int64_t at_slot) {
            return impl::scatter<T>(at(output_, at_slot, n_output_), 1, tile_points, outputs, begin,
                                    n);
        });
    });
}

template <class T>
void PointPorts<T>::send_back(bool alive) {
    for (int64_t i = 0; i < n_point_; ++i) {
        const T* const from = at(output_, slot(i), n_output_);
        for (int64_t c = 0; c < n_output_; ++c) {
            rows_->canonical()[i * n_output_ + c] =
                alive ? from[c * tile_points] : std::numeric_limits<T>::quiet_NaN();
        }
    }
    rows_->to_solver(n_output_);
}

template class PointPorts<float>;
template class PointPorts<double>;

}  // namespace surrogate::impl
