// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/memory_budget.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace {

constexpr int64_t unlimited = INT64_MAX;
thread_local int64_t left = unlimited;
thread_local bool has_exceeded = false;

/// Failed requests are not counted, so that the text of the error can still be allocated.
void take(size_t size) {
    if (left == unlimited) return;
    if (size > static_cast<uint64_t>(left)) {
        has_exceeded = true;
        throw std::bad_alloc();
    }
    left -= static_cast<int64_t>(size);
}

void* checked(void* memory) {
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

}  // namespace

// Replaces the allocation functions of the C++ library, also for the shared libraries. libsurrogate
// allocates all its memory with them.
void* operator new(size_t size) {
    take(size);
    return checked(std::malloc(std::max<size_t>(size, 1)));
}
void* operator new(size_t size, std::align_val_t alignment) {
    take(size);
    void* memory = nullptr;
    if (posix_memalign(&memory, static_cast<size_t>(alignment), std::max<size_t>(size, 1)) != 0)
        memory = nullptr;
    return checked(memory);
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, size_t) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
    std::free(memory);
}
void operator delete(void* memory, size_t, std::align_val_t) noexcept {
    std::free(memory);
}

namespace surrogate::tool {

MemoryBudget::MemoryBudget(int64_t n_byte) {
    left = n_byte;
    has_exceeded = false;
}

MemoryBudget::~MemoryBudget() {
    left = unlimited;
}

bool MemoryBudget::was_exceeded() {
    return has_exceeded;
}

}  // namespace surrogate::tool
