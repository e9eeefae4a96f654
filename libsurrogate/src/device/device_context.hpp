// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/device/device_collectives.hpp"
#include "libsurrogate/src/device/device_memory.hpp"
#include "libsurrogate/src/device/device_plugin.hpp"
#include "libsurrogate/src/device/device_runs.hpp"

namespace surrogate::impl {

/// Device code and collectives of a context, which are not part of `device/`; tests put in their
/// own. Called only when a device is opened.
struct DeviceSources {
    const DevicePlugin& (*plugin)() = load_device_plugin;  ///< throws not_supported
    DeviceCollectivesFactory collectives;                  ///< empty: no context opens a device
};

/// The device of a context and the collectives over its ranks, shared by all plans.
class DeviceContext {
public:
    /// Opens the device. index -1: the device that is current in the calling thread. `comm` must
    /// outlive it. Collective. Throws on all ranks the error of any of them: not_supported with the
    /// loader's or the runtime's words, device.
    DeviceContext(Communicator& comm, const DeviceSources& sources, int index, double timeout_s);

    kernels::Device& device() const { return *device_; }
    DeviceCollectives& collectives() const { return *collectives_; }
    /// Returns the NaN that a failed rank sends to the others; empty with one rank.
    const PinnedNan& nan() const { return nan_; }
    /// Returns the kernels of a family, as its own header declares them. Local; throws
    /// not_supported if the plug-in has none.
    template <class Kernels>
    const Kernels& kernels(const std::string& family) const {
        return *static_cast<const Kernels*>(find_kernels(*plugin_, family, sizeof(Kernels)));
    }

    /// Encloses the reductions that a plan gives to `stream`, with after_reductions(): earlier ones
    /// of any stream end first, because two are never in progress at once. Enqueued only. Does
    /// nothing for one rank.
    void before_reductions(kernels::Stream stream);
    void after_reductions(kernels::Stream stream);

    /// Copies n_byte bytes of pinned memory to device memory that runs of any plan may read, and
    /// waits for the copy. The copy waits for all runs enqueued so far. Local; `stream` is the
    /// caller's own. Throws as DeviceCollectives::wait().
    void replace(void* to, const void* from, int64_t n_byte, kernels::Stream stream);

    /// Keeps the list of the runs of all plans; for DeviceRuns.
    void add(DeviceRuns& runs) { runs_.push_back(&runs); }
    void remove(DeviceRuns& runs) noexcept { std::erase(runs_, &runs); }

    /// Returns "0, NVIDIA H200, compute capability 9.0, 132 multiprocessors, 139.8 GiB; driver ..".
    std::string device_text() const;
    /// Returns "NCCL 2.27.3: every rank has a device of its own".
    std::string transport_text() const;

private:
    const DevicePlugin* plugin_ = nullptr;
    std::unique_ptr<kernels::Device> device_;
    // Many ranks only.
    PinnedNan nan_;
    DeviceEvent last_reductions_;  // of all plans
    bool has_last_ = false;
    std::vector<DeviceRuns*> runs_;
    std::unique_ptr<DeviceCollectives> collectives_;  // goes before its device
};

}  // namespace surrogate::impl
