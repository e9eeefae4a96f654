// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/plan/device/recording.hpp"

namespace surrogate::impl {

using kernels::Device;
using kernels::Stream;

/// Collective, with agreement: makes each operation of a run once, and waits.
void DeviceRecording::make_connections(Communicator& comm, const DeviceProgram& program,
                                       Stream stream) {
    Device& device = context_.device();
    DeviceCollectives& collectives = context_.collectives();
    const std::span<const DeviceReduction> reductions = program.reductions();
    const std::span<const DeviceGather> gathers = program.gathers();
    const std::span<const DeviceExchange> exchanges = program.exchanges();
    FirstFailure failure;
    failure.guard([&] {
        context_.before_reductions(stream);
        for (const DeviceReduction& r : reductions) device.clear(r.values, r.bytes(), stream);
        for (const DeviceGather& g : gathers) device.clear(g.part, g.n_byte, stream);
        for (const DeviceExchange& e : exchanges)
            if (e.given.bytes() > 0) device.clear(e.given.data, e.given.bytes(), stream);
    });
    for (const DeviceReduction& r : reductions) failure.guard([&] { r.run(collectives, stream); });
    for (const DeviceGather& g : gathers) failure.guard([&] { g.run(collectives, stream); });
    for (const DeviceExchange& e : exchanges) failure.guard([&] { e.run(collectives, stream); });
    if (!reductions.empty() || !gathers.empty() || !exchanges.empty())
        failure.guard([&] { context_.after_reductions(stream); });
    failure.guard([&] { collectives.wait(stream); });
    comm.agree([&] { failure.rethrow(); });
}

/// Collective. Operations that some ranks have recorded and others have not leave the transport's
/// own counts different: later operations could be paired wrongly.
void DeviceRecording::require_agreement(Communicator& comm, const FirstFailure& failure) {
    DeviceCollectives& collectives = context_.collectives();
    int64_t n = n_recorded_;
    try {
        if (failure) collectives.check();
    } catch (...) {
        n = -1;  // this rank has lost the transport in the recording
    }
    int64_t most_and_least[] = {n, -n};
    comm.all_reduce_max(std::span(most_and_least));
    if (most_and_least[0] != -most_and_least[1])
        collectives.give_up("a plan could not be recorded on one of the ranks");
}

void DeviceRecording::prepare(Communicator& comm, const DeviceProgram& program, Stream stream) {
    make_connections(comm, program, stream);
    if (!context_.collectives().is_enqueued()) return;
    DeviceSteps steps(context_, stream);
    FirstFailure failure;
    failure.guard([&] { runs_.record(stream, [&] { program.enqueue(steps); }); });
    n_recorded_ = steps.n_collective();
    recorded_bytes_ = steps.n_byte();
    if (comm.size() > 1) require_agreement(comm, failure);
    comm.agree([&] { failure.rethrow(); });
}

void DeviceRecording::enqueue(const DeviceProgram& program, Stream stream, FirstFailure& failure) {
    n_collective_ = n_byte_ = 0;
    failure.guard([&] { context_.before_reductions(stream); });
    if (is_recorded()) {
        failure.guard([&] {
            context_.collectives().check();
            runs_.launch(stream);
            n_collective_ = n_recorded_;
            n_byte_ = recorded_bytes_;
            context_.collectives().count_launch(n_byte_, n_collective_);
        });
    } else {
        DeviceSteps steps(context_, stream, failure);
        program.enqueue(steps);
        n_collective_ = steps.n_collective();
        n_byte_ = steps.n_byte();
    }
    failure.guard([&] { context_.after_reductions(stream); });
}

}  // namespace surrogate::impl
