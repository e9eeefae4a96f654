// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "libsurrogate/src/plan/device/ports.hpp"
#include "libsurrogate/src/plan/device/staging.hpp"

namespace surrogate::impl {

using kernels::Stream;

namespace {

class RowPorts final : public DevicePorts {
public:
    RowPorts(DeviceContext& context, const kernels::Queue& queue,
             std::unique_ptr<DevicePorts> points, int64_t n_row, const DeviceColumns& columns)
        : points_(std::move(points)),
          n_row_(n_row),
          memory_bytes_(4 * n_row * columns.n_output),
          memory_(device_memory(context.device(), memory_bytes_)),
          staging_(context.device(), n_row, columns.n_output, static_cast<float*>(memory_.get())),
          outputs_(context.device(), columns.outputs, columns.n_output),
          packer_(queue) {}

    int64_t n_point() const override { return points_->n_point(); }

    BadValue take(std::span<const Column> inputs, std::span<const Column> outputs, bool poisoned,
                  Stream stream, std::span<Outside> outside, FirstFailure& failure) override {
        const BadValue bad = points_->take(inputs, {}, poisoned, stream, outside, failure);
        failure.guard([&] {
            for (size_t c = 0; c < outputs_.size(); ++c) {
                const bool is_there = !poisoned && outputs[c].is_on_device;
                outputs_.set(c, is_there ? described(outputs[c]) : staging_.column(c));
            }
            outputs_.write(stream);
        });
        return bad;
    }

    BadValue give(std::span<const Column> outputs, bool alive, Stream,
                  FirstFailure& failure) override {
        return give_columns(staging_, packer_, n_row_, outputs, alive, failure);
    }

    bool is_enqueued(std::span<const Column> inputs,
                     std::span<const Column> outputs) const override {
        return points_->is_enqueued(inputs, {}) &&
               std::ranges::all_of(outputs, [](const Column& c) { return c.is_on_device; });
    }

    int64_t device_bytes() const override { return points_->device_bytes() + memory_bytes_; }
    int64_t host_bytes() const override { return points_->host_bytes() + staging_.pinned_bytes(); }

private:
    std::unique_ptr<DevicePorts> points_;
    int64_t n_row_, memory_bytes_;
    DeviceMemory memory_;  // (n_output, n_row) floats
    DeviceStaging staging_;
    ColumnTable outputs_;
    ColumnPacker packer_;
};

}  // namespace

std::unique_ptr<DevicePorts> row_ports(DeviceContext& context, const kernels::Queue& queue,
                                       std::unique_ptr<DevicePorts> points, int64_t n_row,
                                       const DeviceColumns& columns) {
    return std::make_unique<RowPorts>(context, queue, std::move(points), n_row, columns);
}

}  // namespace surrogate::impl
