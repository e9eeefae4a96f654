// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/plan/device/recording.hpp"

namespace surrogate::impl {

using kernels::Device;
using kernels::Stream;

void DeviceRecording::prepare(DeviceContext& context, Communicator& comm,
                              const DeviceProgram& program, Stream stream) {
    Device& device = context.device();
    DeviceCollectives& collectives = context.collectives();
    const std::span<const DeviceReduction> reductions = program.reductions();
    const std::span<const DeviceGather> gathers = program.gathers();
    const std::span<const DeviceExchange> exchanges = program.exchanges();
    FirstFailure failure;
    failure.guard([&] {
        context.before_reductions(stream);
        for (const DeviceReduction& r : reductions) device.clear(r.values, r.bytes(), stream);
        for (const DeviceGather& g : gathers) device.clear(g.part, g.n_byte, stream);
        for (const DeviceExchange& e : exchanges)
            if (e.given.bytes() > 0) device.clear(e.given.data, e.given.bytes(), stream);
    });
    for (const DeviceReduction& r : reductions) failure.guard([&] { r.run(collectives, stream); });
    for (const DeviceGather& g : gathers) failure.guard([&] { g.run(collectives, stream); });
    for (const DeviceExchange& e : exchanges) failure.guard([&] { e.run(collectives, stream); });
    if (!reductions.empty() || !gathers.empty() || !exchanges.empty())
        failure.guard([&] { context.after_reductions(stream); });
    failure.guard([&] { collectives.wait(stream); });
    comm.agree([&] { failure.rethrow(); });
    if (!collectives.is_enqueued()) return;
    comm.agree([&] {
        DeviceSteps steps(context, stream);
        device.begin_capture(stream);
        try {
            program.enqueue(steps);
        } catch (...) {
            device.abandon_capture(stream);
            throw;
        }
        graph_ = DeviceGraph(device, device.end_capture(stream));
        n_recorded_ = steps.n_collective();
        recorded_bytes_ = steps.n_byte();
    });
}

void DeviceRecording::enqueue(DeviceContext& context, const DeviceProgram& program, Stream stream,
                              FirstFailure& failure) {
    n_collective_ = n_byte_ = 0;
    failure.guard([&] { context.before_reductions(stream); });
    if (graph_) {
        failure.guard([&] {
            context.collectives().check();
            context.device().launch(graph_.get(), stream);
            n_collective_ = n_recorded_;
            n_byte_ = recorded_bytes_;
            context.collectives().count_launch(n_byte_, n_collective_);
        });
    } else {
        DeviceSteps steps(context, stream, failure);
        program.enqueue(steps);
        n_collective_ = steps.n_collective();
        n_byte_ = steps.n_byte();
    }
    failure.guard([&] { context.after_reductions(stream); });
}

}  // namespace surrogate::impl
