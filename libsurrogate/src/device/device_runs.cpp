// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/device/device_runs.hpp"

#include "kernels/base/error.hpp"
#include "libsurrogate/src/device/device_context.hpp"

namespace surrogate::impl {

DeviceRuns::DeviceRuns(DeviceContext& context)
    : context_(context), device_(context.device()), end_(device_, device_.create_event()) {
    context_.add(*this);
}

DeviceRuns::~DeviceRuns() {
    context_.remove(*this);
}

void DeviceRuns::begin(kernels::Stream stream) {
    device_.begin_capture(stream);
    recorded_on_ = stream;
    is_recording_ = true;
}

void DeviceRuns::end() {
    // A failure of end_capture() has ended the recording as well.
    is_recording_ = false;
    graph_ = DeviceGraph(device_, device_.end_capture(recorded_on_));
    is_recorded_ = true;
}

void DeviceRuns::launch(kernels::Stream stream) {
    if (!graph_) {
        throw kernels::Error(kernels::Status::broken,
                             "the graph of this plan was released when an earlier operation of "
                             "NCCL failed; the context cannot be used any more");
    }
    device_.launch(graph_.get(), stream);
}

void DeviceRuns::drop() noexcept {
    if (is_recording_) device_.abandon_capture(recorded_on_);
    is_recording_ = false;
    graph_ = {};
}

void DeviceRuns::mark_end(kernels::Stream stream) {
    device_.record(end_.get(), stream);
    has_end_ = true;
}

void DeviceRuns::hold(kernels::Stream stream) {
    if (has_end_) device_.wait(stream, end_.get());
}

}  // namespace surrogate::impl
