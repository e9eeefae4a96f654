// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/base/queue.hpp"
#include "kernels/device/columns.hpp"
#include "libsurrogate/src/device/device_memory.hpp"
#include "libsurrogate/src/domain/columns.hpp"

namespace surrogate::impl {

/// Columns of floats that pass between host and device: pinned memory here, device memory there.
class DeviceStaging {
public:
    /// Allocates pinned memory. on_device (n_column, n_point) belongs to the caller. Throws
    /// no_memory, device.
    DeviceStaging(kernels::Device& device, int64_t n_point, int64_t n_column, float* on_device);

    float* host(size_t c) const {
        return static_cast<float*>(host_.get()) + static_cast<int64_t>(c) * n_point_;
    }
    float* on_device(size_t c) const { return on_device_ + static_cast<int64_t>(c) * n_point_; }
    kernels::DeviceColumn column(size_t c) const { return {on_device(c), 1, 0, 1, 0}; }

    /// Enqueues the copy of a column to the device.
    void upload(size_t c, kernels::Stream stream);
    /// Enqueues zeros in all columns on the device.
    void clear(kernels::Stream stream);

    /// Calls unpack(c) for the columns with `wanted(c)`, in order, each while the next one is
    /// copied. The work that wrote them must be done; waits on the host.
    template <class Wanted, class Unpack>
    void download(size_t n_column, const Wanted& wanted, const Unpack& unpack) {
        size_t turn = 0, under_way = n_column;  // none
        for (size_t c = 0; c < n_column; ++c) {
            if (!wanted(c)) continue;
            start_download(c, turn);
            if (under_way < n_column) {
                finish_download(1 - turn);
                unpack(under_way);
            }
            under_way = c;
            turn = 1 - turn;
        }
        if (under_way == n_column) return;
        finish_download(1 - turn);
        unpack(under_way);
    }

    int64_t pinned_bytes() const { return 4 * n_point_ * n_column_; }

private:
    void start_download(size_t c, size_t turn);
    void finish_download(size_t turn);

    kernels::Device& device_;
    int64_t n_point_, n_column_;
    float* on_device_;
    PinnedMemory host_;
    DeviceStream copies_[2];  // by turns
};

/// Descriptions of columns in device memory, written again only when they change.
class ColumnTable {
public:
    /// Throws not_supported for more than kernels::max_columns.
    ColumnTable(kernels::Device& device, kernels::DeviceColumn* on_device, int64_t n_column);

    size_t size() const { return columns_.size(); }
    void set(size_t c, const kernels::DeviceColumn& column);
    /// Enqueues the copy of the descriptions if they have changed.
    void write(kernels::Stream stream);

private:
    kernels::Device& device_;
    kernels::DeviceColumn* on_device_;
    std::vector<kernels::DeviceColumn> columns_;
    bool has_changed_ = true;
};

/// Describes a column of the caller on the device, for the passes.
kernels::DeviceColumn described(const Column& column);

/// Keeps the first bad value, which a column c on its own calls column 0.
void keep_first(const BadValue& found, size_t c, BadValue& bad);

/// gather() and scatter() of one column by all threads of a queue.
class ColumnPacker {
public:
    explicit ColumnPacker(const kernels::Queue& queue)
        : queue_(queue), bad_(queue.n_thread()), outside_(queue.n_thread(), 1) {}

    /// Copies points 0 .. n_point - 1 to to[i * stride]. The returned bad value, if any, names
    /// column 0. Adds the values outside the column's range to outside (1).
    BadValue pack(const Column& column, int64_t n_point, float* to, int64_t stride,
                  Outside* outside);
    /// Copies from[i * stride] to the column.
    BadValue unpack(const float* from, int64_t stride, const Column& column, int64_t n_point);

private:
    template <class Work>
    BadValue run(int64_t n_point, const Work& work);

    kernels::Queue queue_;
    FirstBad bad_;  // (n_thread)
    OutsideCounts outside_;
};

/// Copies columns on the host back after a run that has ended, and writes them, NaN if not alive,
/// as DevicePorts::give().
BadValue give_columns(DeviceStaging& staging, ColumnPacker& packer, int64_t n_row,
                      std::span<const Column> outputs, bool alive, FirstFailure& failure);

}  // namespace surrogate::impl
