// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/plan/device/records.hpp"

#include <algorithm>
#include <cstring>

namespace surrogate::impl {

using kernels::DeviceFindings;
using kernels::DeviceOutside;

namespace {

/// The smallest bad place that a device found; see DeviceFindings.
BadValue bad_value_at(uint64_t place) {
    if (place == DeviceFindings::no_place) return {};
    return {static_cast<int>(kernels::column_of_place(place)), kernels::point_of_place(place), 0,
            false};
}

/// Count of a column on a device.
Outside outside_of(const DeviceOutside& found, const Column& column) {
    Outside outside;
    if (found.above != 0)
        outside.add(kernels::from_ordered_bits(found.above), column.min, column.max);
    if (found.below != 0)
        outside.add(kernels::from_ordered_bits(~found.below), column.min, column.max);
    outside.n = static_cast<int64_t>(found.n);
    return outside;
}

}  // namespace

int64_t DeviceRecords::record_bytes(int64_t n_input) {
    return static_cast<int64_t>(sizeof(DeviceFindings)) +
           n_input * static_cast<int64_t>(sizeof(DeviceOutside));
}

DeviceRecords::DeviceRecords(kernels::Device& device, const DeviceColumns& columns,
                             std::span<const Column> inputs)
    : device_(device),
      on_device_(columns.findings),
      fresh_(static_cast<size_t>(record_bytes(columns.n_input))),
      found_(pinned_memory(device, Execution::max_pending * record_bytes(columns.n_input))),
      ranged_(inputs.begin(), inputs.end()),
      outside_(static_cast<size_t>(columns.n_input)),
      host_outside_(outside_) {
    for (int64_t run = 0; run < Execution::max_pending; ++run) clear(run);
}

DeviceFindings& DeviceRecords::slot(int64_t run) const {
    return *reinterpret_cast<DeviceFindings*>(static_cast<char*>(found_.get()) +
                                              run % Execution::max_pending * std::ssize(fresh_));
}

void DeviceRecords::clear(int64_t run) {
    fresh() = DeviceFindings{};
    std::memcpy(static_cast<void*>(&slot(run)), fresh_.data(), fresh_.size());
}

std::span<Outside> DeviceRecords::open(int64_t run) {
    clear(run);
    last_opened_ = run;
    std::ranges::fill(host_outside_, Outside{});
    return host_outside_;
}

void DeviceRecords::start(bool poisoned, kernels::Stream stream) {
    fresh().poisoned = poisoned;
    device_.write(on_device_, fresh_.data(), std::ssize(fresh_), stream);
}

void DeviceRecords::bring(int64_t run, kernels::Stream stream) {
    device_.copy(&slot(run), on_device_, std::ssize(fresh_), stream);
}

Execution::Result DeviceRecords::result(int64_t run) {
    const DeviceFindings& found = slot(run);
    Execution::Result result;
    result.bad_input = bad_value_at(found.bad_input);
    result.bad_output = bad_value_at(found.bad_output);
    result.is_finite = found.not_finite == 0;
    const bool is_latest = run >= last_seen_;
    const auto* const counted = reinterpret_cast<const DeviceOutside*>(&found + 1);
    for (size_t c = 0; c < outside_.size(); ++c) {
        Outside outside = run == last_opened_ ? host_outside_[c] : Outside{};
        if (c < ranged_.size()) outside.join(outside_of(counted[c], ranged_[c]));
        if (result.outside_column < 0 && outside.n > 0) {
            result.outside_column = static_cast<int>(c);
            result.outside = outside;
        }
        if (is_latest) outside_[c] = outside;
    }
    last_seen_ = std::max(last_seen_, run);
    return result;
}

}  // namespace surrogate::impl
