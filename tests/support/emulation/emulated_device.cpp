// SPDX-License-Identifier: Apache-2.0
#include "emulated_device.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "surrogate_emulation.hpp"

namespace surrogate::test {

using kernels::Error;
using kernels::Event;
using kernels::Graph;
using kernels::Status;
using kernels::Stream;

namespace {

using Work = std::function<void()>;

struct Block {
    int64_t n_byte;
    bool is_pinned;
};

/// How often it was recorded, and how many of these records its stream has passed.
struct EventState {
    int64_t n_record = 0, n_passed = 0;
    const void* captured_in = nullptr;  ///< recording that it belongs to
};

struct GraphState {
    std::vector<Work> work;
    std::string refused;  ///< what made the recording useless
};

void free_aligned(void* memory) {
    ::operator delete (memory, std::align_val_t{256});
}

/// A stream: its thread does one piece of work after the other.
class StreamState : public emulation::Queue {
public:
    explicit StreamState(EmulatedDevice::State& device);
    ~StreamState() override;
    cudaError_t launch(Work work) override;
    void enqueue(Work work) override;
    /// Enqueued or, in a capture, recorded. The device is locked.
    void push(Work work, bool even_if_broken = false);

    EmulatedDevice::State& device;
    std::unique_ptr<GraphState> recording;
    int64_t n_pushed = 0, n_done = 0;

private:
    void run();

    struct Item {
        Work work;
        bool even_if_broken;
    };
    std::deque<Item> items_;
    bool is_ending_ = false;
    std::thread thread_;
};

}  // namespace

/// One lock and one signal for everything: few threads, and work that takes long.
struct EmulatedDevice::State {
    using Lock = std::unique_lock<std::mutex>;

    explicit State(const kernels::DeviceProperties& wanted) : properties(wanted) {
        emulation::null_queue = &null_stream;
    }
    ~State() {
        emulation::Queue* mine = &null_stream;
        emulation::null_queue.compare_exchange_strong(mine, nullptr);
        {
            Lock lock(mutex);
            drain(lock);
        }
        for (const auto& [address, block] : blocks) free_aligned(reinterpret_cast<void*>(address));
    }

    /// Begins every fallible call.
    Lock begin(const std::string& call) {
        Lock lock(mutex);
        ++n_call;
        if (is_broken_known)
            throw Error(Status::broken, "device: " + call + " after a failure: " + fault);
        if (fail_in > 0 && --fail_in == 0) {
            const std::string text = "device: " + call + " failed on request";
            if (fail_status == Status::device) {
                fault = text;
                is_broken_known = true;
            }
            throw Error(fail_status, text);
        }
        return lock;
    }
    /// What work on a stream brought up, once; from then on the device is broken.
    void report_fault(const std::string& call) {
        if (fault.empty()) return;
        is_broken_known = true;
        throw Error(Status::device, "device: " + call + ": " + fault);
    }
    void break_down(const std::string& text) {
        if (fault.empty()) fault = text;
    }

    StreamState& stream(Stream handle, const std::string& call) {
        if (handle == nullptr) return null_stream;
        for (const auto& stream : streams)
            if (stream.get() == static_cast<emulation::Queue*>(handle)) return *stream;
        throw Error(Status::device, "device: " + call + ": not a stream of this device");
    }
    std::shared_ptr<EventState> event(Event handle, const std::string& call) {
        const auto found = events.find(handle);
        if (found == events.end())
            throw Error(Status::device, "device: " + call + ": not an event of this device");
        return found->second;
    }
    /// Refuses a call that would break a recording, and the recording with it.
    void refuse_in_capture(const StreamState* stream, const std::string& call) {
        if (capturing == nullptr || (stream != nullptr && stream != capturing)) return;
        capturing->recording->refused = call;
        throw Error(Status::device, "device: " + call + " while a graph is recorded");
    }

    /// The block that holds all of the range, or null.
    const Block* block_of(const void* memory, int64_t n_byte) const {
        const auto first = reinterpret_cast<uintptr_t>(memory);
        auto found = blocks.upper_bound(first);
        if (found == blocks.begin()) return nullptr;
        --found;
        const uint64_t offset = first - found->first;
        const auto size = static_cast<uint64_t>(found->second.n_byte);
        return offset <= size && static_cast<uint64_t>(n_byte) <= size - offset ? &found->second
                                                                                : nullptr;
    }
    void check_range(const void* memory, int64_t n_byte, bool may_be_pinned,
                     const std::string& call) const {
        const Block* block = n_byte >= 0 ? block_of(memory, n_byte) : nullptr;
        if (block == nullptr || (block->is_pinned && !may_be_pinned))
            throw Error(Status::device, "device: " + call + ": " + std::to_string(n_byte) +
                                            " bytes that do not lie in one block of device" +
                                            (may_be_pinned ? " or pinned memory" : " memory"));
    }

    void* allocate(int64_t n_byte, bool is_pinned, const std::string& call);
    void release(void* memory, bool is_pinned) noexcept;
    void drain(Lock& lock);

    kernels::DeviceProperties properties;
    mutable std::mutex mutex;
    std::condition_variable changed;
    Counts counts;
    std::map<uintptr_t, Block> blocks;
    std::map<Event, std::shared_ptr<EventState>> events;
    std::map<Graph, std::shared_ptr<const GraphState>> graphs;
    StreamState* capturing = nullptr;
    std::string fault;
    bool is_broken_known = false;
    int64_t n_call = 0, fail_in = 0;
    Status fail_status = Status::device;
    StreamState null_stream{*this};
    std::vector<std::unique_ptr<StreamState>> streams;
};

// ---- streams -----------------------------------------------------------------------------------

StreamState::StreamState(EmulatedDevice::State& owner)
    : device(owner), thread_([this] { run(); }) {}

StreamState::~StreamState() {
    {
        const std::lock_guard lock(device.mutex);
        is_ending_ = true;
    }
    device.changed.notify_all();
    thread_.join();
}

void StreamState::run() {
    EmulatedDevice::State::Lock lock(device.mutex);
    for (;;) {
        device.changed.wait(lock, [&] { return is_ending_ || !items_.empty(); });
        if (items_.empty()) return;
        Item item = std::move(items_.front());
        items_.pop_front();
        const bool is_lost = !device.fault.empty() && !item.even_if_broken;
        lock.unlock();
        std::string fault;
        try {
            if (!is_lost) item.work();
        } catch (const std::exception& error) {
            fault = error.what();
        } catch (...) {
            fault = "an exception of unknown type";
        }
        item.work = nullptr;
        lock.lock();
        if (!fault.empty()) device.break_down(fault);
        ++n_done;
        device.changed.notify_all();
    }
}

void StreamState::push(Work work, bool even_if_broken) {
    if (recording != nullptr) {
        recording->work.push_back(std::move(work));
        return;
    }
    items_.push_back({std::move(work), even_if_broken});
    ++n_pushed;
    device.changed.notify_all();
}

void StreamState::enqueue(Work work) {
    const std::lock_guard lock(device.mutex);
    push(std::move(work));
}

cudaError_t StreamState::launch(Work work) {
    try {
        const auto lock = device.begin("a launch");
        ++device.counts.n_launch;
        push(std::move(work));
    } catch (const Error& error) {
        return error.status() == Status::no_memory ? cudaErrorMemoryAllocation
                                                   : cudaErrorLaunchFailure;
    }
    return cudaSuccess;
}

// ---- memory ------------------------------------------------------------------------------------

void* EmulatedDevice::State::allocate(int64_t n_byte, bool is_pinned, const std::string& call) {
    const auto lock = begin(call);
    refuse_in_capture(nullptr, call);
    if (n_byte <= 0)
        throw Error(Status::device, "device: " + call + " of " + std::to_string(n_byte) + " bytes");
    if (!is_pinned && n_byte > properties.memory_bytes - counts.bytes)
        throw Error(Status::no_memory, "device: " + std::to_string(n_byte) + " bytes asked, " +
                                           std::to_string(properties.memory_bytes - counts.bytes) +
                                           " bytes free");
    const auto size = static_cast<size_t>(n_byte);
    void* memory = ::operator new (size, std::align_val_t{256}, std::nothrow);
    if (memory == nullptr) throw Error(Status::no_memory, "device: the host's memory is full");
    std::memset(memory, 0xff, size);
    blocks[reinterpret_cast<uintptr_t>(memory)] = {n_byte, is_pinned};
    ++(is_pinned ? counts.pinned_allocations : counts.allocations);
    ++(is_pinned ? counts.n_pinned_allocation : counts.n_allocation);
    counts.bytes += is_pinned ? 0 : n_byte;
    return memory;
}

void EmulatedDevice::State::drain(Lock& lock) {
    changed.wait(lock, [&] {
        return null_stream.n_done == null_stream.n_pushed &&
               std::all_of(streams.begin(), streams.end(),
                           [](const auto& stream) { return stream->n_done == stream->n_pushed; });
    });
}

void EmulatedDevice::State::release(void* memory, bool is_pinned) noexcept {
    if (memory == nullptr) return;
    Lock lock(mutex);
    if (capturing != nullptr) capturing->recording->refused = "release of memory";
    drain(lock);
    const auto found = blocks.find(reinterpret_cast<uintptr_t>(memory));
    if (found == blocks.end() || found->second.is_pinned != is_pinned) {
        ++counts.n_wrong;
        return;
    }
    --(is_pinned ? counts.pinned_allocations : counts.allocations);
    counts.bytes -= is_pinned ? 0 : found->second.n_byte;
    blocks.erase(found);
    free_aligned(memory);
}

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
    if (queue.recording != nullptr) return;  // order within a recording is that of the list
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

void EmulatedDevice::begin_capture(Stream stream) {
    const auto lock = state_->begin("begin of a recording");
    StreamState& queue = state_->stream(stream, "begin of a recording");
    if (stream == nullptr || state_->capturing != nullptr)
        throw Error(Status::device, stream == nullptr
                                        ? "device: the default stream cannot be recorded"
                                        : "device: begin of a recording inside of another");
    queue.recording = std::make_unique<GraphState>();
    state_->capturing = &queue;
}

Graph EmulatedDevice::end_capture(Stream stream) {
    const auto lock = state_->begin("end of a recording");
    StreamState& queue = state_->stream(stream, "end of a recording");
    if (queue.recording == nullptr)
        throw Error(Status::device, "device: end of a recording that did not begin");
    const std::shared_ptr<const GraphState> graph = std::move(queue.recording);
    state_->capturing = nullptr;
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

}  // namespace surrogate::test
