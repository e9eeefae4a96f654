// SPDX-License-Identifier: Apache-2.0
#include "emulated_device.hpp"

#include <algorithm>
#include <cstring>

#include "emulated_state.hpp"

namespace surrogate::test {

kernels::DeviceProperties EmulatedDevice::default_properties() {
    kernels::DeviceProperties properties;
    properties.name = "emulated device";
    properties.major = 9;
    properties.n_multiprocessor = 2;
    properties.shared_bytes = static_cast<int64_t>(emulation::shared_bytes_most);
    properties.memory_bytes = int64_t{1} << 30;
    properties.uuid = {'e', 'm', 'u', 'l', 'a', 't', 'e', 'd'};
    properties.runtime = "emulated";
    return properties;
}

EmulatedDevice::EmulatedDevice(const kernels::DeviceProperties& properties)
    : state_(std::make_shared<State>(properties)) {}

const kernels::DeviceProperties& EmulatedDevice::properties() const {
    return state_->properties;
}

void* EmulatedDevice::allocate(int64_t n_byte) {
    return state_->allocate(n_byte, false, "allocation");
}
void EmulatedDevice::release(void* memory) noexcept {
    state_->release(memory, false);
}
void* EmulatedDevice::allocate_pinned(int64_t n_byte) {
    return state_->allocate(n_byte, true, "allocation of pinned memory");
}
void EmulatedDevice::release_pinned(void* memory) noexcept {
    state_->release(memory, true);
}

kernels::MemoryPlace EmulatedDevice::where_is(const void* memory) {
    using Kind = kernels::MemoryPlace::Kind;
    const auto lock = state_->begin("question about a pointer");
    const Block* block = state_->block_of(memory, 1);
    if (block == nullptr) return {};
    if (block->is_pinned) return {Kind::pinned};
    return {Kind::device, state_->properties.index};
}

void EmulatedDevice::copy(void* to, const void* from, int64_t n_byte, Stream stream) {
    const auto lock = state_->begin("copy");
    StreamState& queue = state_->stream(stream, "copy");
    state_->check_range(to, n_byte, true, "copy");
    state_->check_range(from, n_byte, true, "copy");
    ++state_->counts.n_copy;
    queue.push([=] { std::memcpy(to, from, static_cast<size_t>(n_byte)); });
}

void EmulatedDevice::write(void* to, const void* from, int64_t n_byte, Stream stream) {
    const auto lock = state_->begin("write");
    StreamState& queue = state_->stream(stream, "write");
    state_->refuse_in_capture(&queue, "write");
    state_->check_range(to, n_byte, false, "write");
    const Block* source = state_->block_of(from, n_byte);
    if (n_byte > 65536 || (source != nullptr && !source->is_pinned))
        throw Error(Status::device, "device: write of " + std::to_string(n_byte) +
                                        " bytes: at most 65536, from host memory");
    ++state_->counts.n_write;
    const auto* first = static_cast<const unsigned char*>(from);
    queue.push([to, bytes = std::vector<unsigned char>(first, first + n_byte)] {
        std::memcpy(to, bytes.data(), bytes.size());
    });
}

void EmulatedDevice::clear(void* memory, int64_t n_byte, Stream stream) {
    const auto lock = state_->begin("clear");
    StreamState& queue = state_->stream(stream, "clear");
    state_->check_range(memory, n_byte, false, "clear");
    ++state_->counts.n_clear;
    queue.push([=] { std::memset(memory, 0, static_cast<size_t>(n_byte)); });
}

// ---- order -------------------------------------------------------------------------------------

Stream EmulatedDevice::create_stream() {
    const auto lock = state_->begin("creation of a stream");
    state_->streams.reserve(state_->streams.size() + 1);  // a stream cannot end under the lock
    state_->streams.push_back(std::make_unique<StreamState>(*state_));
    ++state_->counts.streams;
    return static_cast<emulation::Queue*>(state_->streams.back().get());
}

void EmulatedDevice::destroy_stream(Stream stream) noexcept {
    std::unique_ptr<StreamState> found;  // joined without the lock
    const State::Lock lock(state_->mutex);
    for (auto& candidate : state_->streams)
        if (candidate.get() == static_cast<emulation::Queue*>(stream)) found = std::move(candidate);
    std::erase(state_->streams, nullptr);
    if (found == nullptr) {
        ++state_->counts.n_wrong;
        return;
    }
    --state_->counts.streams;
    if (state_->capturing == found.get()) state_->capturing = nullptr;
}

Event EmulatedDevice::create_event() {
    const auto lock = state_->begin("creation of an event");
    auto event = std::make_shared<EventState>();
    Event handle = event.get();
    state_->events[handle] = std::move(event);
    ++state_->counts.events;
    return handle;
}

void EmulatedDevice::destroy_event(Event event) noexcept {
    const State::Lock lock(state_->mutex);
    if (state_->events.erase(event) == 1)
        --state_->counts.events;
    else
        ++state_->counts.n_wrong;
}

void EmulatedDevice::record(Event event, Stream stream) {
    const auto lock = state_->begin("record");
    StreamState& queue = state_->stream(stream, "record");
    const auto found = state_->event(event, "record");
    found->captured_in = queue.recording.get();
    if (queue.recording != nullptr) return;  // a recording has the order of the list
    const int64_t record = ++found->n_record;
    State* state = state_.get();
    queue.push(
        [=] {
            const State::Lock inner(state->mutex);
            found->n_passed = std::max(found->n_passed, record);
            state->changed.notify_all();
        },
        true);
}

void EmulatedDevice::wait(Stream stream, Event event) {
    const auto lock = state_->begin("wait");
    StreamState& queue = state_->stream(stream, "wait");
    const auto found = state_->event(event, "wait");
    ++state_->counts.n_wait;
    if (found->captured_in != queue.recording.get()) {
        if (queue.recording != nullptr) queue.recording->refused = "wait for an event of outside";
        throw Error(Status::device, "device: wait for an event of another recording");
    }
    if (queue.recording != nullptr || found->n_record == 0) return;
    const int64_t record = found->n_record;
    State* state = state_.get();
    queue.push(
        [=] {
            State::Lock inner(state->mutex);
            state->changed.wait(inner, [&] { return found->n_passed >= record; });
        },
        true);
}

void EmulatedDevice::synchronize(Stream stream) {
    auto lock = state_->begin("synchronize");
    StreamState& queue = state_->stream(stream, "synchronize");
    state_->refuse_in_capture(&queue, "synchronize");
    ++state_->counts.n_synchronize;
    const int64_t n_pushed = queue.n_pushed;
    state_->changed.wait(lock, [&] { return queue.n_done >= n_pushed; });
    state_->report_fault("synchronize");
}

bool EmulatedDevice::is_done(Stream stream) {
    const auto lock = state_->begin("query");
    StreamState& queue = state_->stream(stream, "query");
    state_->refuse_in_capture(&queue, "query");
    ++state_->counts.n_query;
    state_->report_fault("query");
    return queue.n_done == queue.n_pushed;
}

// ---- graphs ------------------------------------------------------------------------------------

bool EmulatedDevice::is_captured(Stream stream) {
    const auto lock = state_->begin("question about a recording");
    return state_->stream(stream, "question about a recording").recording != nullptr;
}

void EmulatedDevice::begin_capture(Stream stream) {
    const auto lock = state_->begin("begin of a recording");
    StreamState& queue = state_->stream(stream, "begin of a recording");
    if (stream == nullptr || state_->capturing != nullptr)
        throw Error(Status::device, stream == nullptr
                                        ? "device: the default stream cannot be recorded"
                                        : "device: begin of a recording inside of another");
    queue.recording = std::make_unique<GraphState>();
    state_->capturing = &queue;
    if (state_->fail_in_recording > 0) state_->fail_in = state_->fail_in_recording;
}

/// A recording ends also if this fails.
Graph EmulatedDevice::end_capture(Stream stream) {
    State::Lock lock;
    try {
        lock = state_->begin("end of a recording");
    } catch (const Error&) {
        abandon_capture(stream);
        throw;
    }
    StreamState& queue = state_->stream(stream, "end of a recording");
    if (queue.recording == nullptr)
        throw Error(Status::device, "device: end of a recording that did not begin");
    const std::shared_ptr<const GraphState> graph = std::move(queue.recording);
    state_->capturing = nullptr;
    state_->end_failing_recording();
    if (!graph->refused.empty())
        throw Error(Status::device, "device: the recording is useless since: " + graph->refused);
    Graph handle = const_cast<GraphState*>(graph.get());
    state_->graphs[handle] = graph;
    ++state_->counts.graphs;
    return handle;
}

void EmulatedDevice::abandon_capture(Stream stream) noexcept {
    const State::Lock lock(state_->mutex);
    if (state_->capturing == nullptr ||
        state_->capturing != static_cast<emulation::Queue*>(stream)) {
        ++state_->counts.n_wrong;
        return;
    }
    state_->capturing->recording = nullptr;
    state_->capturing = nullptr;
    state_->end_failing_recording();
}

void EmulatedDevice::launch(Graph graph, Stream stream) {
    const auto lock = state_->begin("launch of a graph");
    StreamState& queue = state_->stream(stream, "launch of a graph");
    state_->refuse_in_capture(&queue, "launch of a graph");
    const auto found = state_->graphs.find(graph);
    if (found == state_->graphs.end())
        throw Error(Status::device, "device: launch of what is no graph of this device");
    ++state_->counts.n_graph_launch;
    queue.push([recorded = found->second] {
        for (const Work& work : recorded->work) work();
    });
}

void EmulatedDevice::destroy_graph(Graph graph) noexcept {
    const State::Lock lock(state_->mutex);
    if (state_->graphs.erase(graph) == 1)
        --state_->counts.graphs;
    else
        ++state_->counts.n_wrong;
}

// ---- for tests ---------------------------------------------------------------------------------

EmulatedDevice::Counts EmulatedDevice::counts() const {
    const State::Lock lock(state_->mutex);
    return state_->counts;
}

void EmulatedDevice::enqueue(Stream stream, std::function<void()> work) {
    const State::Lock lock(state_->mutex);
    state_->stream(stream, "enqueue").push(std::move(work));
}

int64_t EmulatedDevice::fail_at(int64_t n, Status status) {
    const State::Lock lock(state_->mutex);
    state_->fail_in = n;
    state_->fail_status = status;
    return std::exchange(state_->n_call, 0);
}

void EmulatedDevice::fail_in_recording(int64_t n, Status status) {
    const State::Lock lock(state_->mutex);
    state_->fail_in_recording = n;
    state_->fail_status = status;
}

}  // namespace surrogate::test
