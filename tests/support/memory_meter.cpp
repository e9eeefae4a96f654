// SPDX-License-Identifier: Apache-2.0
#include "tests/support/memory_meter.hpp"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <stdexcept>

namespace {

std::atomic<int64_t> live{0}, peak{0}, n_allocations{0};

/// Sizes of at least 4 KiB, the last ones of them.
constexpr int64_t least_large = 4096, most_large = int64_t{1} << 16;
std::atomic<int64_t> n_large{0};
std::atomic<size_t> large[most_large];

void* counted(void* memory, size_t asked) {
    if (!memory) throw std::bad_alloc();
    const int64_t now = live += static_cast<int64_t>(malloc_usable_size(memory));
    if (asked >= static_cast<size_t>(least_large)) large[n_large++ % most_large] = asked;
    int64_t highest = peak;
    while (now > highest && !peak.compare_exchange_weak(highest, now)) {
    }
    ++n_allocations;
    return memory;
}

void release(void* memory) noexcept {
    if (!memory) return;
    live -= static_cast<int64_t>(malloc_usable_size(memory));
    std::free(memory);
}

}  // namespace

void* operator new(size_t size) {
    return counted(std::malloc(std::max<size_t>(size, 1)), size);
}
void* operator new(size_t size, std::align_val_t alignment) {
    void* memory = nullptr;
    if (posix_memalign(&memory, static_cast<size_t>(alignment), std::max<size_t>(size, 1)) != 0)
        memory = nullptr;
    return counted(memory, size);
}
void operator delete(void* memory) noexcept {
    release(memory);
}
void operator delete(void* memory, size_t) noexcept {
    release(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
    release(memory);
}
void operator delete(void* memory, size_t, std::align_val_t) noexcept {
    release(memory);
}

namespace surrogate::test {

MemoryMeter::MemoryMeter()
    : live_before_(live), count_before_(n_allocations), large_before_(n_large) {
    peak = live.load();
}

int64_t MemoryMeter::peak_bytes() const {
    return peak - live_before_;
}

int64_t MemoryMeter::live_bytes() const {
    return live - live_before_;
}
int64_t MemoryMeter::n_allocation() const {
    return n_allocations - count_before_;
}
std::vector<int64_t> MemoryMeter::large_sizes(int64_t least) const {
    if (least < least_large || n_large - large_before_ > most_large)
        throw std::out_of_range("MemoryMeter::large_sizes");
    std::vector<int64_t> sizes;
    const int64_t end = n_large;
    for (int64_t i = large_before_; i < end; ++i) {
        const auto size = static_cast<int64_t>(large[i % most_large].load());
        if (size >= least) sizes.push_back(size);
    }
    return sizes;
}

}  // namespace surrogate::test
