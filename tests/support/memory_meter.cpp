// SPDX-License-Identifier: Apache-2.0
#include "tests/support/memory_meter.hpp"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<int64_t> live{0}, peak{0}, n_allocations{0}, allocated{0};

void* counted(void* memory) {
    if (!memory) throw std::bad_alloc();
    const auto size = static_cast<int64_t>(malloc_usable_size(memory));
    const int64_t now = live += size;
    allocated += size;
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
    return counted(std::malloc(std::max<size_t>(size, 1)));
}
void* operator new(size_t size, std::align_val_t alignment) {
    void* memory = nullptr;
    if (posix_memalign(&memory, static_cast<size_t>(alignment), std::max<size_t>(size, 1)) != 0)
        memory = nullptr;
    return counted(memory);
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
    : live_before_(live), count_before_(n_allocations), allocated_before_(allocated) {
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
int64_t MemoryMeter::allocated_bytes() const {
    return allocated - allocated_before_;
}

}  // namespace surrogate::test
