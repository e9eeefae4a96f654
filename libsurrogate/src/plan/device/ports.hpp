// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "kernels/base/queue.hpp"
#include "kernels/device/columns.hpp"
#include "libsurrogate/src/device/device_context.hpp"
#include "libsurrogate/src/device/device_memory.hpp"
#include "libsurrogate/src/domain/columns.hpp"
#include "libsurrogate/src/model/family/device_program.hpp"
#include "libsurrogate/src/ranks/row_exchange.hpp"

namespace surrogate::impl {

/// Fields on their way between a caller's arrays, on the host or on the device, and the passes over
/// the points. Allocates nothing after construction.
///
/// Failures are kept, not thrown: other ranks wait. Every call waits on the host only where it says
/// so.
class DevicePorts {
public:
    virtual ~DevicePorts() = default;

    virtual int64_t n_point() const = 0;  ///< of the passes on this rank

    /// Enqueues the preparation of the inputs before the passes. Host columns are packed,
    /// normalized and copied, overlapped with the copy of the previous column; columns on the
    /// device are described. Returns the first bad value found on the host, and adds the values
    /// found outside of ranges to outside (n_input); the passes count the values of the other
    /// columns. If the bool argument is true, there are no columns, and the passes read zeros.
    virtual BadValue take(std::span<const Column> inputs, std::span<const Column> outputs,
                          bool poisoned, kernels::Stream stream, std::span<Outside> outside,
                          FirstFailure& failure) = 0;

    /// Copies host columns back and writes them, after the passes, whose end the caller has waited
    /// for. Not alive: they become NaN. Returns the first prediction that the host could not write
    /// as a finite number.
    virtual BadValue give(std::span<const Column> outputs, bool alive, kernels::Stream stream,
                          FirstFailure& failure) = 0;

    /// Returns whether give() has nothing to do, so that a run may be enqueued only.
    virtual bool is_enqueued(std::span<const Column> inputs,
                             std::span<const Column> outputs) const = 0;

    /// Throws not_supported if give() cannot write them.
    virtual void require_usable(std::span<const Column>) const {}

    virtual int64_t device_bytes() const = 0;  ///< besides the passes' memory
    virtual int64_t host_bytes() const = 0;
};

/// Makes ports to points in the solver's order. staging: of the program. constants: input columns
/// whose numbers never change are copied to the device here, once. Local; throws no_memory, device.
std::unique_ptr<DevicePorts> direct_ports(DeviceContext& context, const kernels::Queue& queue,
                                          int64_t n_point, const DeviceColumns& columns,
                                          float* staging, std::span<const Column> constants);

/// Makes ports to points in canonical order, for the reproducible mode: fields pass through the
/// host, where rows are exchanged; take() and give() wait and communicate. Local; throws no_memory,
/// device.
std::unique_ptr<DevicePorts> routed_ports(DeviceContext& context, const kernels::Queue& queue,
                                          int64_t n_solver, RowExchange<float>& rows,
                                          const DeviceColumns& columns, float* staging);

/// Makes ports with inputs by `points`, which has no outputs, and outputs of n_row rows at clouds
/// or nodes. Local; throws no_memory, device.
std::unique_ptr<DevicePorts> row_ports(DeviceContext& context, const kernels::Queue& queue,
                                       std::unique_ptr<DevicePorts> points, int64_t n_row,
                                       const DeviceColumns& columns);

}  // namespace surrogate::impl
