// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

// The portable way makes two calls of the system for each change, and is seven times slower.
#if !defined(__x86_64__) && !defined(SURROGATE_EMULATION_UCONTEXT)
#define SURROGATE_EMULATION_UCONTEXT
#endif
#if defined(SURROGATE_EMULATION_UCONTEXT)
#include <ucontext.h>
#endif

namespace surrogate::emulation {

/// A flow of control with a stack of its own, which runs where another one changes to it; or, when
/// not made, the flow that an OS thread started with. Stays in its OS thread.
class Fiber {
public:
    Fiber() = default;
    ~Fiber();
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;

    /// body(argument), which begins with arrive() and never returns. Fibers with different numbers
    /// have the tops of their stacks at different places of a page: else all would use the same
    /// lines of the cache.
    void make(void (*body)(void*), void* argument, int number);

    /// Changes from this fiber, which runs, to another. Returns when a fiber changes back to this.
    void change_to(Fiber& next);
    static void arrive();

private:
    bool is_made_ = false;
    void* stack_ = nullptr;  ///< lowest address, below it a guard page
    size_t stack_bytes_ = 0;
    void* thread_ = nullptr;      ///< ThreadSanitizer's
    void* fake_stack_ = nullptr;  ///< AddressSanitizer's
#if defined(SURROGATE_EMULATION_UCONTEXT)
    ucontext_t context_;
#else
    void* saved_ = nullptr;  ///< stack pointer while others run
#endif
};

/// Order for ThreadSanitizer: what came before a release comes before what follows an acquire of
/// the same object. Nothing else orders fibers.
void release(void* object);
void acquire(void* object);

}  // namespace surrogate::emulation
