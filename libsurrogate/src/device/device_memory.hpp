// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <exception>
#include <iterator>
#include <utility>
#include <vector>

#include "kernels/device/device.hpp"

namespace surrogate::impl {

/// Owns a handle of a device, which is released by `give_back`. The device must outlive it.
template <void (kernels::Device::*give_back)(void*) noexcept>
class DeviceOwned {
public:
    DeviceOwned() = default;
    DeviceOwned(kernels::Device& device, void* handle) : device_(&device), handle_(handle) {}
    DeviceOwned(DeviceOwned&& other) noexcept
        : device_(std::exchange(other.device_, nullptr)),
          handle_(std::exchange(other.handle_, nullptr)) {}
    DeviceOwned& operator=(DeviceOwned&& other) noexcept {
        std::swap(device_, other.device_);
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~DeviceOwned() {
        if (device_ && handle_) (device_->*give_back)(handle_);
    }

    void* get() const { return handle_; }
    explicit operator bool() const { return handle_ != nullptr; }

private:
    kernels::Device* device_ = nullptr;
    void* handle_ = nullptr;
};

using DeviceMemory = DeviceOwned<&kernels::Device::release>;
using PinnedMemory = DeviceOwned<&kernels::Device::release_pinned>;
using DeviceStream = DeviceOwned<&kernels::Device::destroy_stream>;
using DeviceEvent = DeviceOwned<&kernels::Device::destroy_event>;
using DeviceGraph = DeviceOwned<&kernels::Device::destroy_graph>;

/// Allocates n_byte bytes; nothing for 0.
inline DeviceMemory device_memory(kernels::Device& device, int64_t n_byte) {
    return n_byte > 0 ? DeviceMemory(device, device.allocate(n_byte)) : DeviceMemory();
}
inline PinnedMemory pinned_memory(kernels::Device& device, int64_t n_byte) {
    return n_byte > 0 ? PinnedMemory(device, device.allocate_pinned(n_byte)) : PinnedMemory();
}

/// Memory of one owner on its device, in one allocation: pieces are added, then it is taken.
class DeviceArena {
public:
    /// Returns the offset of the piece.
    int64_t add(int64_t n_byte) {
        const int64_t offset = size_;
        size_ += (n_byte + 255) / 256 * 256;
        return offset;
    }
    void take(kernels::Device& device) { memory_ = device_memory(device, size_); }
    template <class T>
    T* at(int64_t offset) const {
        return reinterpret_cast<T*>(static_cast<char*>(memory_.get()) + offset);
    }
    int64_t bytes() const { return size_; }

private:
    int64_t size_ = 0;
    DeviceMemory memory_;
};

/// Copies numbers of the host to places of an arena that was taken; call finish() behind the last.
class ArenaWriter {
public:
    /// Clears the arena first. Unused rows and channels are operands whose weights are 0, so they
    /// must be finite.
    ArenaWriter(kernels::Device& device, const DeviceArena& arena)
        : device_(device), arena_(arena), stream_(device, device.create_stream()) {
        if (arena.bytes() > 0) device.clear(arena.at<void>(0), arena.bytes(), stream_.get());
    }
    template <class T>
    void operator()(int64_t place, const std::vector<T>& values) {
        const int64_t n_byte = std::ssize(values) * static_cast<int64_t>(sizeof(T));
        if (n_byte == 0) return;
        sources_.push_back(pinned_memory(device_, n_byte));
        std::memcpy(sources_.back().get(), values.data(), static_cast<size_t>(n_byte));
        device_.copy(arena_.at<void>(place), sources_.back().get(), n_byte, stream_.get());
    }
    /// Waits until all is there.
    void finish() { device_.synchronize(stream_.get()); }

private:
    kernels::Device& device_;
    const DeviceArena& arena_;
    std::vector<PinnedMemory> sources_;
    DeviceStream stream_;
};

/// Bytes for the device that are NaN, whatever kind of floating point they are read as.
class PinnedNan {
public:
    static constexpr int64_t n_byte = 65536;

    PinnedNan() = default;
    explicit PinnedNan(kernels::Device& device) : memory_(pinned_memory(device, n_byte)) {
        std::memset(memory_.get(), 0xff, n_byte);
    }
    const void* get() const { return memory_.get(); }

private:
    PinnedMemory memory_;
};

/// The first failure of a sequence that goes on in spite of it, because other ranks wait for what
/// comes later.
class FirstFailure {
public:
    template <class Work>
    void guard(const Work& work) {
        try {
            work();
        } catch (...) {
            if (!failure_) failure_ = std::current_exception();
        }
    }
    explicit operator bool() const { return static_cast<bool>(failure_); }
    void rethrow() const {
        if (failure_) std::rethrow_exception(failure_);
    }

private:
    std::exception_ptr failure_;
};

}  // namespace surrogate::impl
