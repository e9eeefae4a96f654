// SPDX-License-Identifier: Apache-2.0
// A library to preload: requests for aligned memory of SURROGATE_FAIL_MEMORY_FROM bytes or more
// fail. libsurrogate takes all of its large memory that way.
#include <dlfcn.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>

#pragma GCC visibility push(default)
extern "C" int posix_memalign(void** memory, size_t alignment, size_t size) noexcept {
    using Function = int(void**, size_t, size_t);
    static auto* const real = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, "posix_memalign"));
    static const char* const from = std::getenv("SURROGATE_FAIL_MEMORY_FROM");
    if (from && size >= std::strtoull(from, nullptr, 10)) return ENOMEM;
    return real(memory, alignment, size);
}
#pragma GCC visibility pop
