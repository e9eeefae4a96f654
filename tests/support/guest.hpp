// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <immintrin.h>
#include <omp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cfenv>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>

#ifdef SURROGATE_HAVE_MPI
#include <mpi.h>
#endif

namespace surrogate::test {

/// State of the host that a library must not change, by name.
using HostState = std::map<std::string, std::string>;

inline int count_entries(const char* folder) {
    int n = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++n;
    return n;
}

#ifdef SURROGATE_HAVE_MPI
inline std::string error_handler(MPI_Comm comm) {
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_Comm_get_errhandler(comm, &handler);
    const std::string text = handler == MPI_ERRORS_ARE_FATAL ? "fatal"
                             : handler == MPI_ERRORS_RETURN  ? "return"
                                                             : "other";
    MPI_Errhandler_free(&handler);
    return text;
}
#endif

inline HostState host_state() {
    HostState state;
    state["SSE control"] = std::to_string(_mm_getcsr() & ~0x3fu);
    unsigned short x87 = 0;
    __asm__ volatile("fnstcw %0" : "=m"(x87));
    state["x87 control"] = std::to_string(x87);
    state["rounding"] = std::to_string(std::fegetround());
    state["traps"] = std::to_string(fegetexcept());
    state["locale"] = std::setlocale(LC_ALL, nullptr);
    const mode_t mask = umask(0);
    umask(mask);
    state["umask"] = std::to_string(mask);
    state["working directory"] = std::filesystem::current_path();
    for (int signal = 1; signal < NSIG; ++signal) {
        struct sigaction action {};
        if (sigaction(signal, nullptr, &action) != 0) continue;
        state["signal " + std::to_string(signal)] =
            std::to_string(reinterpret_cast<uintptr_t>(action.sa_handler));
    }
    state["descriptors"] = std::to_string(count_entries("/proc/self/fd"));
    state["threads"] = std::to_string(count_entries("/proc/self/task"));
    state["OpenMP threads"] = std::to_string(omp_get_max_threads());
    state["OpenMP dynamic"] = std::to_string(omp_get_dynamic());
    state["OpenMP levels"] = std::to_string(omp_get_max_active_levels());
#ifdef SURROGATE_HAVE_MPI
    int is_running = 0;
    MPI_Initialized(&is_running);
    state["MPI initialized"] = std::to_string(is_running);
    if (is_running) state["error handler of the world"] = error_handler(MPI_COMM_WORLD);
#endif
    return state;
}

/// Standard output and error go to a file while it lives.
class OutputWatch {
public:
    OutputWatch() : file_(std::tmpfile()) {
        std::fflush(nullptr);
        for (int i : {0, 1}) {
            saved_[i] = dup(i + 1);
            dup2(fileno(file_), i + 1);
        }
    }
    ~OutputWatch() {
        std::fflush(nullptr);
        for (int i : {0, 1}) {
            dup2(saved_[i], i + 1);
            close(saved_[i]);
        }
        std::fclose(file_);
    }
    OutputWatch(const OutputWatch&) = delete;
    OutputWatch& operator=(const OutputWatch&) = delete;

    /// Bytes written so far.
    int64_t size() const {
        std::fflush(nullptr);
        struct stat status {};
        fstat(fileno(file_), &status);
        return status.st_size;
    }

private:
    std::FILE* file_;
    int saved_[2];
};

/// Calls `call`, whose name is for messages, and expects the host as it was before: control words,
/// settings, signals, descriptors, threads, silence; of the sticky floating-point flags only
/// inexact and underflow may have risen.
template <class Call>
void expect_good_guest(const std::string& name, const Call& call) {
    int64_t n_printed = 0;
    int flags = 0;
    HostState before, after;
    {
        const OutputWatch output;
        before = host_state();
        std::feclearexcept(FE_ALL_EXCEPT);
        call();
        flags = std::fetestexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
        after = host_state();
        n_printed = output.size();
    }
    EXPECT_EQ(before, after) << name;
    EXPECT_EQ(flags, 0) << name << " raised floating-point flags";
    EXPECT_EQ(n_printed, 0) << name << " printed";
}

}  // namespace surrogate::test
