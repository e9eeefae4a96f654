// SPDX-License-Identifier: Apache-2.0
#include "tests/support/failing_allocations.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<int64_t> countdown{0};  // 0: none fails

void count_one() {
    if (countdown > 0 && --countdown == 0) throw std::bad_alloc();
}

void* checked(void* memory) {
    if (!memory) throw std::bad_alloc();
    return memory;
}

}  // namespace

void* operator new(size_t size) {
    count_one();
    return checked(std::malloc(std::max<size_t>(size, 1)));
}
void* operator new(size_t size, std::align_val_t alignment) {
    count_one();
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

namespace surrogate::test {

void fail_allocation(int64_t n) {
    countdown = n;
}

bool end_failing_allocation() {
    return countdown.exchange(0) == 0;
}

}  // namespace surrogate::test
