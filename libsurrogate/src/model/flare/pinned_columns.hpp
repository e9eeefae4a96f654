// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "kernels/base/queue.hpp"
#include "libsurrogate/src/device/device_memory.hpp"
#include "libsurrogate/src/domain/columns.hpp"

namespace surrogate::impl::flare {

/// Numbers of this rank's points in pinned host memory, between the solver's columns and a device.
class PinnedColumns {
public:
    enum class Layout { by_column, by_point };  ///< (n_column, n_point) or (n_point, n_column)

    PinnedColumns() = default;
    /// Allocates. The device must outlive it. Local. Throws no_memory, device.
    PinnedColumns(kernels::Device& device, const kernels::Queue& queue, int64_t n_point,
                  int64_t n_column, Layout layout);

    float* data() const { return static_cast<float*>(memory_.get()); }
    int64_t bytes() const { return 4 * n_point_ * n_column_; }

    /// Reads the solver's columns on all threads, as impl::gather(). Does not allocate.
    BadValue gather(std::span<const Column> columns, OutsideCounts& outside);
    /// Writes the solver's columns on all threads, as impl::scatter(), or NaN if `alive` is false.
    /// Does not allocate.
    BadValue scatter(std::span<const Column> columns, bool alive);

private:
    /// Runs work(thread, first point, number of points, values of the first point) on tiles.
    template <class Work>
    BadValue for_tiles(const Work& work);

    kernels::Queue queue_;
    int64_t n_point_ = 0, n_column_ = 0;
    int64_t row_stride_ = 1, column_stride_ = 1;
    PinnedMemory memory_;
    FirstBad bad_;
};

}  // namespace surrogate::impl::flare
