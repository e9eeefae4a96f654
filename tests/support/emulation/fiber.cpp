// SPDX-License-Identifier: Apache-2.0
#include "fiber.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <new>

// SURROGATE_EMULATION_ASAN, SURROGATE_EMULATION_TSAN: the program is built with this sanitizer;
// this file never is.
#if defined(SURROGATE_EMULATION_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(SURROGATE_EMULATION_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

namespace surrogate::emulation {
namespace {

#if defined(SURROGATE_EMULATION_ASAN) || defined(SURROGATE_EMULATION_TSAN)
constexpr size_t stack_bytes = size_t{512} * 1024;
#else
constexpr size_t stack_bytes = size_t{128} * 1024;
#endif

/// The fiber that ran last in this OS thread.
thread_local Fiber* left = nullptr;

size_t page_bytes() {
    return static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

#if !defined(SURROGATE_EMULATION_UCONTEXT)
/// Saves what the System V ABI lets a call keep, and the stack pointer in *from; then the same
/// backwards from `to`.
extern "C" void surrogate_emulation_change(void** from, void* to);
/// First in a new fiber: r12(r13).
extern "C" void surrogate_emulation_begin();
asm(R"(
.text
.p2align 4
.hidden surrogate_emulation_change
.globl surrogate_emulation_change
.type surrogate_emulation_change, @function
surrogate_emulation_change:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    popq %rdx
    jmp *%rdx
.size surrogate_emulation_change, . - surrogate_emulation_change
.hidden surrogate_emulation_begin
.globl surrogate_emulation_begin
.type surrogate_emulation_begin, @function
surrogate_emulation_begin:
    movq %r13, %rdi
    call *%r12
    ud2
.size surrogate_emulation_begin, . - surrogate_emulation_begin
)");
#endif

void Fiber::make(void (*body)(void*), void* argument, int number) {
    const size_t guard = page_bytes();
    void* memory = mmap(nullptr, guard + stack_bytes, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    stack_ = static_cast<char*>(memory) + guard;
    stack_bytes_ = stack_bytes;
    is_made_ = true;
    if (mprotect(stack_, stack_bytes_, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
    const size_t offset = static_cast<size_t>(number) * 320 % 4096;
#if defined(SURROGATE_EMULATION_UCONTEXT)
    getcontext(&context_);
    context_.uc_stack.ss_sp = stack_;
    context_.uc_stack.ss_size = stack_bytes_ - offset;
    context_.uc_link = nullptr;
    makecontext(&context_, reinterpret_cast<void (*)()>(body), 1, argument);
#else
    // Popped by the first change: r15, r14, r13, r12, rbx, rbp, the address to go to.
    auto** top = reinterpret_cast<void**>(static_cast<char*>(stack_) + stack_bytes_ - offset);
    top -= 9;  // leaves the stack a multiple of 16
    top[2] = argument;
    top[3] = reinterpret_cast<void*>(body);
    top[6] = reinterpret_cast<void*>(&surrogate_emulation_begin);
    saved_ = top;
#endif
#if defined(SURROGATE_EMULATION_TSAN)
    thread_ = __tsan_create_fiber(0);
#endif
}

Fiber::~Fiber() {
    if (!is_made_) return;
#if defined(SURROGATE_EMULATION_TSAN)
    __tsan_destroy_fiber(thread_);
#endif
#if defined(SURROGATE_EMULATION_ASAN)
    __asan_unpoison_memory_region(stack_, stack_bytes_);
#endif
    munmap(static_cast<char*>(stack_) - page_bytes(), page_bytes() + stack_bytes_);
}

void Fiber::change_to(Fiber& next) {
    left = this;
#if defined(SURROGATE_EMULATION_TSAN)
    if (!is_made_) thread_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(next.thread_, __tsan_switch_to_fiber_no_sync);
#endif
#if defined(SURROGATE_EMULATION_ASAN)
    __sanitizer_start_switch_fiber(&fake_stack_, next.stack_, next.stack_bytes_);
#endif
#if defined(SURROGATE_EMULATION_UCONTEXT)
    swapcontext(&context_, &next.context_);
#else
    surrogate_emulation_change(&saved_, next.saved_);
#endif
#if defined(SURROGATE_EMULATION_ASAN)
    // The bounds of the first stack of an OS thread are read when a fiber is entered from it.
    const void* stack = nullptr;
    size_t n_byte = 0;
    __sanitizer_finish_switch_fiber(fake_stack_, &stack, &n_byte);
    left->stack_ = const_cast<void*>(stack);
    left->stack_bytes_ = n_byte;
#endif
}

void Fiber::arrive() {
#if defined(SURROGATE_EMULATION_ASAN)
    const void* stack = nullptr;
    size_t n_byte = 0;
    __sanitizer_finish_switch_fiber(nullptr, &stack, &n_byte);
    left->stack_ = const_cast<void*>(stack);
    left->stack_bytes_ = n_byte;
#endif
}

void release([[maybe_unused]] void* object) {
#if defined(SURROGATE_EMULATION_TSAN)
    __tsan_release(object);
#endif
}
void acquire([[maybe_unused]] void* object) {
#if defined(SURROGATE_EMULATION_TSAN)
    __tsan_acquire(object);
#endif
}

}  // namespace surrogate::emulation
