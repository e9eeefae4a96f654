// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "libsurrogate/src/device/device_memory.hpp"
#include "libsurrogate/src/model/family/device_program.hpp"
#include "libsurrogate/src/plan/execution.hpp"

namespace surrogate::impl {

/// Records of runs on the device: errors, and behind them the inputs outside
/// their ranges. Records of the last max_pending runs lie in pinned memory, where the device brings
/// them. After construction nothing takes memory.
class DeviceRecords {
public:
    /// Allocates. inputs: of runs by the card, for their ranges; run_network may have more columns
    /// or fewer. Throws no_memory, device.
    DeviceRecords(kernels::Device& device, const DeviceColumns& columns,
                  std::span<const Column> inputs);

    static int64_t record_bytes(int64_t n_input);

    /// Sets new ranges of the inputs given to the constructor.
    void set_ranges(std::span<const Column> inputs) { std::ranges::copy(inputs, ranged_.begin()); }

    /// Resets the record before a run. Returns the counters (n_input) of inputs outside their
    /// ranges that the host finds.
    std::span<Outside> open(int64_t run);
    /// Enqueues the reset of the device's record, before the passes.
    void start(bool poisoned, kernels::Stream stream);
    /// Enqueues the copy of the device's record to the host, after the passes.
    void bring(int64_t run, kernels::Stream stream);

    /// Returns the record of a run that has ended. Of the run opened last the host may have seen
    /// inputs too; earlier ones were only enqueued, and it has not.
    Execution::Result result(int64_t run);

    /// Returns the counters (n_input) of the latest result().
    std::span<const Outside> outside() const { return outside_; }

private:
    kernels::DeviceFindings& slot(int64_t run) const;
    kernels::DeviceFindings& fresh() {
        return *reinterpret_cast<kernels::DeviceFindings*>(fresh_.data());
    }
    void clear(int64_t run);

    kernels::Device& device_;
    kernels::DeviceFindings* on_device_;
    std::vector<std::byte> fresh_;                 // a record of a run that has not begun
    PinnedMemory found_;                           // (max_pending) records
    std::vector<Column> ranged_;                   // inputs by the card: their ranges
    std::vector<Outside> outside_, host_outside_;  // (n_input): of the last run seen; its host part
    int64_t last_opened_ = -1, last_seen_ = -1;
};

}  // namespace surrogate::impl
