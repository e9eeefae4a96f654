// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/device/columns.hpp"
#include "libsurrogate/src/device/device_steps.hpp"
#include "libsurrogate/src/model/family/program.hpp"
#include "libsurrogate/src/ranks/row_exchange.hpp"

namespace surrogate::impl {

/// Device memory through which a run reaches the passes: they read the inputs' descriptions, write
/// through the outputs', and report what they find.
struct DeviceColumns {
    kernels::DeviceColumn* inputs = nullptr;   ///< (n_input)
    kernels::DeviceColumn* outputs = nullptr;  ///< (n_output)
    kernels::DeviceFindings* findings = nullptr;
    kernels::DeviceOutside* outside = nullptr;  ///< (n_input)
    int64_t n_input = 0, n_output = 0;
};

/// A network on the domain of one plan, as work on a device's stream: what a family implements, and
/// the run of plan/device/execution.hpp calls. Construction is local; connect() is collective.
/// Nothing after that takes memory. One evaluation is under way at a time.
class DeviceProgram {
public:
    virtual ~DeviceProgram() = default;

    /// Plans exchanges, allocates, loads kernels. The columns outlive the program. Collective, with
    /// agreement. Throws not_supported, no_memory, device.
    virtual void connect(const DeviceColumns& columns) = 0;

    /// Returns the exchange of rows between the solver's points and the program's; null: they are
    /// equal.
    virtual RowExchange<float>* rows() { return nullptr; }

    /// Returns the requirement on the numbers of an input besides finite, as BadValue::required;
    /// null: none.
    virtual const char* required_of(int) const { return nullptr; }
    /// Finds the first of the solver's rows (n_point of the solver, n_input) of rows() that
    /// violates it.
    virtual BadValue find_bad(std::span<const float>) const { return {}; }

    /// Returns (max(n_input, n_output), n_point) floats of device memory, which are free before and
    /// after an evaluation.
    virtual float* staging() const = 0;

    /// Returns each kind of reduction, gather and exchange of an evaluation, once: planning makes
    /// each of them, and the connections with it.
    virtual std::span<const DeviceReduction> reductions() const { return {}; }
    virtual std::span<const DeviceGather> gathers() const { return {}; }
    virtual std::span<const DeviceExchange> exchanges() const { return {}; }

    /// Gives one evaluation to the steps: from the input columns to the output columns, zeros where
    /// this rank's inputs are bad, NaN where the findings say that no sums were finite.
    virtual void enqueue(DeviceSteps& steps) const = 0;

    virtual int64_t bytes() const = 0;         ///< of device memory
    virtual int64_t weight_bytes() const = 0;  ///< of memory shared with other plans
    virtual int64_t n_point() const = 0;       ///< points that this rank computes
    /// Returns the rows of outputs at clouds or nodes, which every rank writes; -1: outputs are at
    /// points.
    virtual int64_t n_output_row() const { return -1; }
    virtual std::vector<LayerCost> costs() const = 0;
    /// Returns further lines of the plan's table.
    virtual std::vector<std::string> notes() const = 0;
};

}  // namespace surrogate::impl
