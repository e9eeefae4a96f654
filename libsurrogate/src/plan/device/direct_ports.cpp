// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "libsurrogate/src/plan/device/ports.hpp"
#include "libsurrogate/src/plan/device/staging.hpp"

namespace surrogate::impl {

using kernels::Stream;

namespace {

class DirectPorts final : public DevicePorts {
public:
    DirectPorts(DeviceContext& context, const kernels::Queue& queue, int64_t n_point,
                const DeviceColumns& columns, float* staging, std::span<const Column> constants)
        : n_point_(n_point),
          staging_(context.device(), n_point, std::max(columns.n_input, columns.n_output), staging),
          inputs_(context.device(), columns.inputs, columns.n_input),
          outputs_(context.device(), columns.outputs, columns.n_output),
          packer_(queue) {
        copy_constants(context.device(), constants);
    }

    int64_t n_point() const override { return n_point_; }

    BadValue take(std::span<const Column> inputs, std::span<const Column> outputs, bool poisoned,
                  Stream stream, std::span<Outside> outside, FirstFailure& failure) override {
        BadValue bad;
        failure.guard([&] {
            if (poisoned) {
                staging_.clear(stream);
                for (size_t c = 0; c < inputs_.size(); ++c) inputs_.set(c, staging_.column(c));
                for (size_t c = 0; c < outputs_.size(); ++c) outputs_.set(c, staging_.column(c));
            } else {
                for (size_t c = 0; c < inputs.size(); ++c)
                    take_input(c, inputs[c], stream, bad, outside[c]);
                for (size_t c = 0; c < outputs.size(); ++c) {
                    outputs_.set(
                        c, outputs[c].is_on_device ? described(outputs[c]) : staging_.column(c));
                }
            }
            inputs_.write(stream);
            outputs_.write(stream);
        });
        return bad;
    }

    BadValue give(std::span<const Column> outputs, bool alive, Stream,
                  FirstFailure& failure) override {
        return give_columns(staging_, packer_, n_point_, outputs, alive, failure);
    }

    bool is_enqueued(std::span<const Column> inputs,
                     std::span<const Column> outputs) const override {
        const auto is_there = [](const Column& c) { return c.is_on_device || c.is_constant; };
        return std::ranges::all_of(inputs, is_there) && std::ranges::all_of(outputs, is_there);
    }

    int64_t device_bytes() const override { return 4 * n_point_ * std::ssize(bad_constants_); }
    int64_t host_bytes() const override { return staging_.pinned_bytes(); }

private:
    void copy_constants(kernels::Device& device, std::span<const Column> columns) {
        int64_t n = 0;
        for (const Column& column : columns) n += column.is_constant && column.data;
        constants_ = device_memory(device, 4 * n_point_ * n);
        places_.resize(inputs_.size());
        if (!constants_) return;
        DeviceStaging staging(device, n_point_, n, static_cast<float*>(constants_.get()));
        const DeviceStream stream(device, device.create_stream());
        for (size_t c = 0, i = 0; c < columns.size(); ++c) {
            if (!columns[c].is_constant || !columns[c].data) continue;
            Outside none;  // coordinates have no range here: the plan counts them, once
            bad_constants_.push_back(packer_.pack(columns[c], n_point_, staging.host(i), 1, &none));
            staging.upload(i, stream.get());
            places_[c] = staging.on_device(i++);
        }
        device.synchronize(stream.get());
    }

    void take_input(size_t c, const Column& column, Stream stream, BadValue& bad,
                    Outside& outside) {
        if (column.is_constant && places_[c]) {
            inputs_.set(c, {places_[c], 1, 0, 1, 0});
            const auto index = (places_[c] - static_cast<float*>(constants_.get())) / n_point_;
            keep_first(bad_constants_[static_cast<size_t>(index)], c, bad);
        } else if (column.is_on_device) {
            inputs_.set(c, described(column));
        } else {
            inputs_.set(c, staging_.column(c));
            keep_first(packer_.pack(column, n_point_, staging_.host(c), 1, &outside), c, bad);
            staging_.upload(c, stream);
        }
    }

    int64_t n_point_;
    DeviceStaging staging_;
    ColumnTable inputs_, outputs_;
    ColumnPacker packer_;
    DeviceMemory constants_;               // (constant columns, n_point) floats, normalized
    std::vector<float*> places_;           // (columns): where a constant lies, or null
    std::vector<BadValue> bad_constants_;  // (constant columns)
};

}  // namespace

std::unique_ptr<DevicePorts> direct_ports(DeviceContext& context, const kernels::Queue& queue,
                                          int64_t n_point, const DeviceColumns& columns,
                                          float* staging, std::span<const Column> constants) {
    return std::make_unique<DirectPorts>(context, queue, n_point, columns, staging, constants);
}

}  // namespace surrogate::impl
