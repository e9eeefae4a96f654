// SPDX-License-Identifier: Apache-2.0
// A library to preload: kills the process at its n-th call that writes to a file of one folder.
//   SURROGATE_KILL_IN   part of the paths that count
//   SURROGATE_KILL_AT   n, from 1 on
//   SURROGATE_KILL_LATE 1: after the call, of which a write has moved half
#include <dlfcn.h>
#include <sys/types.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

/// The function of this name that the library has replaced.
template <class Function>
Function* next(const char* name) {
    return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

bool counts(const char* path) {
    static const char* const in = std::getenv("SURROGATE_KILL_IN");
    return in && std::strstr(path, in);
}

bool counts(int file) {
    char link[40], path[4096];
    std::snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    const ssize_t n = ::readlink(link, path, sizeof path - 1);
    if (n < 0) return false;
    path[n] = 0;
    return counts(path);
}

/// real(share): the call, or that share of it.
template <class Where, class Real>
auto call(Where where, const Real& real) {
    static const char* const at = std::getenv("SURROGATE_KILL_AT");
    static const bool is_late = std::getenv("SURROGATE_KILL_LATE") != nullptr;
    static long countdown = at ? std::atol(at) : 0;
    if (countdown > 0 && counts(where) && --countdown == 0) {
        if (is_late) real(0.5);
        ::kill(::getpid(), SIGKILL);
    }
    return real(1.0);
}

size_t part(size_t n, double share) {
    return share < 1 ? n / 2 : n;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

ssize_t write(int file, const void* data, size_t n) {
    static auto* const real = next<ssize_t(int, const void*, size_t)>("write");
    return call(file, [=](double share) { return real(file, data, part(n, share)); });
}
ssize_t pwrite(int file, const void* data, size_t n, off_t offset) {
    static auto* const real = next<ssize_t(int, const void*, size_t, off_t)>("pwrite");
    return call(file, [=](double share) { return real(file, data, part(n, share), offset); });
}
int fsync(int file) {
    static auto* const real = next<int(int)>("fsync");
    return call(file, [=](double) { return real(file); });
}
int rename(const char* from, const char* to) noexcept {
    static auto* const real = next<int(const char*, const char*)>("rename");
    return call(to, [=](double) { return real(from, to); });
}
int unlink(const char* path) noexcept {
    static auto* const real = next<int(const char*)>("unlink");
    return call(path, [=](double) { return real(path); });
}

}  // extern "C"
#pragma GCC visibility pop
