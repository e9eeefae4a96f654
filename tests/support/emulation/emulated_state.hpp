// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "emulated_device.hpp"
#include "threads.hpp"

/// State that the handles of an EmulatedDevice share; for EmulatedDevice itself.
namespace surrogate::test {

using kernels::Error;
using kernels::Event;
using kernels::Graph;
using kernels::Status;
using kernels::Stream;

using Work = std::function<void()>;

struct Block {
    int64_t n_byte;
    bool is_pinned;
};

/// Number of records, and of records that its stream has passed.
struct EventState {
    int64_t n_record = 0, n_passed = 0;
    const void* captured_in = nullptr;  ///< recording that it belongs to
};

struct GraphState {
    std::vector<Work> work;
    std::string refused;  ///< what made the recording useless
};

/// A stream: its thread does one piece of work after the other.
class StreamState : public emulation::Queue {
public:
    explicit StreamState(EmulatedDevice::State& device);
    ~StreamState() override;
    cudaError_t launch(Work work) override;
    void enqueue(Work work) override;
    bool is_recording() const override;
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

/// One lock and one signal for everything: few threads, and work that takes long.
struct EmulatedDevice::State {
    using Lock = std::unique_lock<std::mutex>;

    explicit State(const kernels::DeviceProperties& wanted) : properties(wanted) {
        emulation::null_queue = &null_stream;
    }
    ~State();

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
    void end_failing_recording() {
        if (std::exchange(fail_in_recording, 0) > 0) fail_in = 0;
    }
    /// Error of the work on a stream, reported once; the device is broken from then on.
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
    /// Throws for a call that would break a recording, and marks the recording as invalid.
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
    int64_t n_call = 0, fail_in = 0, fail_in_recording = 0;
    Status fail_status = Status::device;
    StreamState null_stream{*this};
    std::vector<std::unique_ptr<StreamState>> streams;
};

}  // namespace surrogate::test
