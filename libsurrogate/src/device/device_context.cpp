// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/device/device_context.hpp"

#include <cstdio>

namespace surrogate::impl {

DeviceContext::DeviceContext(Communicator& comm, const DeviceSources& sources, int index,
                             double timeout_s) {
    comm.agree([&] {
        plugin_ = &sources.plugin();
        if (!sources.collectives)
            throw Error(Status::not_supported, "this context has no transport between devices");
        device_ = plugin_->open(index);
        if (comm.size() == 1) return;  // no other ranks
        nan_ = PinnedNan(*device_);
        last_reductions_ = DeviceEvent(*device_, device_->create_event());
    });
    collectives_ = sources.collectives(comm, *device_, timeout_s);
    // Captures only `this`: no memory is taken.
    collectives_->before_abort([this] {
        for (DeviceRuns* runs : runs_) runs->drop();
    });
}

void DeviceContext::before_reductions(kernels::Stream stream) {
    // Streams are not compared: another one may have the handle of a stream that is gone.
    if (has_last_) device_->wait(stream, last_reductions_.get());
}

void DeviceContext::after_reductions(kernels::Stream stream) {
    if (!last_reductions_) return;
    device_->record(last_reductions_.get(), stream);
    has_last_ = true;
}

void DeviceContext::replace(void* to, const void* from, int64_t n_byte, kernels::Stream stream) {
    for (DeviceRuns* runs : runs_) runs->hold(stream);
    device_->copy(to, from, n_byte, stream);
    collectives_->wait(stream);
}

std::string DeviceContext::device_text() const {
    const kernels::DeviceProperties& p = device_->properties();
    char memory[32];
    std::snprintf(memory, sizeof memory, "%.1f GiB",
                  static_cast<double>(p.memory_bytes) / (1024.0 * 1024.0 * 1024.0));
    return std::to_string(p.index) + ", " + p.name + ", compute capability " +
           std::to_string(p.major) + "." + std::to_string(p.minor) + ", " +
           std::to_string(p.n_multiprocessor) + " multiprocessors, " + memory + "; " + p.runtime;
}

std::string DeviceContext::transport_text() const {
    return collectives_->transport() + ": " + collectives_->reason();
}

}  // namespace surrogate::impl
