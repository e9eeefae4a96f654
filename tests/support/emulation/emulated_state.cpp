// SPDX-License-Identifier: Apache-2.0
#include "emulated_state.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace surrogate::test {
namespace {

void free_aligned(void* memory) {
    ::operator delete (memory, std::align_val_t{256});
}

}  // namespace

EmulatedDevice::State::~State() {
    emulation::Queue* mine = &null_stream;
    emulation::null_queue.compare_exchange_strong(mine, nullptr);
    {
        Lock lock(mutex);
        drain(lock);
    }
    for (const auto& [address, block] : blocks) free_aligned(reinterpret_cast<void*>(address));
}

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

bool StreamState::is_recording() const {
    const std::lock_guard lock(device.mutex);
    return recording != nullptr;
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

}  // namespace surrogate::test
