// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "libsurrogate/src/layers/pass_list.hpp"
#include "libsurrogate/src/model/family/device_program.hpp"

namespace surrogate::impl {

/// A device program that is a list of passes. A family writes prepare() and list().
class ListedProgram : public DeviceProgram {
public:
    /// Keeps references: the device and the communicator must outlive it. Local.
    ListedProgram(kernels::Device& device, Communicator& comm) : comm_(comm), list_(device) {}

    void connect(const DeviceColumns& columns) final {
        columns_ = columns;
        prepare();
        comm_.agree([&] { list_.build([&](PassList& passes) { list(passes); }); });
    }
    std::span<const DeviceReduction> reductions() const final { return list_.reductions(); }
    std::span<const DeviceGather> gathers() const final { return list_.gathers(); }
    std::span<const DeviceExchange> exchanges() const final { return list_.exchanges(); }
    void enqueue(DeviceSteps& steps) const final { list_.enqueue(steps); }
    int64_t bytes() const final { return list_.bytes(); }

protected:
    /// Plans the locations of points and the exchanges between ranks, and loads kernels.
    /// Collective, with agreement.
    virtual void prepare() = 0;
    /// Lists memory and passes of an evaluation. Local; called twice, see PassList.
    virtual void list(PassList& passes) = 0;

    bool is_alone() const { return comm_.size() == 1; }

    Communicator& comm_;
    DeviceColumns columns_;

private:
    PassList list_;
};

}  // namespace surrogate::impl
