// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "kernels/device/device.hpp"
#include "libsurrogate/src/device/device_memory.hpp"
#include "libsurrogate/src/device/device_steps.hpp"

namespace surrogate::impl {

/// The work of one evaluation on a device: its memory, and its kernels, reductions, gathers and
/// exchanges in their order.
///
/// build() calls what fills the list twice. The first call measures: memory() returns addresses
/// that must not be used, and nothing is kept. The second call gets the memory and is kept. Both
/// must ask for the same memory in the same order.
class PassList {
public:
    /// Keeps a reference: the device must outlive it. Local.
    explicit PassList(kernels::Device& device) : device_(device) {}

    /// Fills the list by fill(*this), twice. Allocates device memory, clears it, copies the tables
    /// and waits for the copies. Local; throws no_memory, device, what fill() throws.
    template <class Fill>
    void build(const Fill& fill) {
        measures_ = true;
        fill(*this);
        take_memory();
        measures_ = false;
        fill(*this);
        end_tables();
    }
    bool measures() const { return measures_; }

    /// Returns n_byte bytes of device memory, aligned to 256 and cleared.
    template <class T = float>
    T* memory(int64_t n_byte) {
        char* const base = measures_ ? unusable : static_cast<char*>(memory_.get());
        T* const begin = reinterpret_cast<T*>(base + size_);
        size_ += (n_byte + 255) / 256 * 256;
        return begin;
    }
    /// Returns device memory that holds the n values of make(), a vector, which is called once.
    template <class T, class Make>
    T* table(int64_t n, const Make& make) {
        T* const begin = memory<T>(n * static_cast<int64_t>(sizeof(T)));
        if (!measures_) write(begin, std::span<const T>(make()));
        return begin;
    }
    /// Copies values to memory of this list.
    template <class T>
    void write(T* to, std::span<const T> values) {
        if (!measures_ && !values.empty()) copy(to, values.data(), values.size_bytes());
    }

    /// Adds a kernel.
    template <class Args>
    void pass(void (*kernel)(const kernels::DeviceProperties&, const Args&, kernels::Stream),
              const Args& args) {
        add([this, kernel, args](DeviceSteps& steps) {
            steps.compute([&] { kernel(device_.properties(), args, steps.stream()); });
        });
    }
    void reduce(const DeviceReduction& reduction);
    void gather(const DeviceGather& gather);
    void exchange(const DeviceExchange& exchange);

    /// Gives the work to a stream. Allocates nothing.
    void enqueue(DeviceSteps& steps) const {
        for (const Work& work : work_) work(steps);
    }

    /// Returns each kind of reduction, gather and exchange, once.
    std::span<const DeviceReduction> reductions() const { return reductions_; }
    std::span<const DeviceGather> gathers() const { return gathers_; }
    std::span<const DeviceExchange> exchanges() const { return exchanges_; }

    int64_t bytes() const { return size_; }

private:
    using Work = std::function<void(DeviceSteps&)>;
    // Not null: arithmetic with it is harmless. Never read or written.
    static inline char* const unusable = reinterpret_cast<char*>(uintptr_t{1} << 20);

    void add(Work work) {
        if (!measures_) work_.push_back(std::move(work));
    }
    void take_memory();
    void copy(void* to, const void* from, size_t n_byte);
    void end_tables();

    kernels::Device& device_;
    bool measures_ = true;
    int64_t size_ = 0;
    DeviceMemory memory_;
    std::vector<Work> work_;
    std::vector<DeviceReduction> reductions_;
    std::vector<DeviceGather> gathers_;
    std::vector<DeviceExchange> exchanges_;
    // While tables are copied.
    DeviceStream stream_;
    std::vector<PinnedMemory> sources_;
};

}  // namespace surrogate::impl
