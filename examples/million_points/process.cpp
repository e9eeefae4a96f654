// SPDX-License-Identifier: Apache-2.0
#include "process.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <string>
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace million {

int64_t memory_now() {
    std::ifstream file("/proc/self/statm");
    int64_t n_page = 0, n_resident = 0;
    return file >> n_page >> n_resident ? n_resident * int64_t(sysconf(_SC_PAGESIZE)) : -1;
}

int64_t memory_peak() {
    rusage usage = {};
    ::getrusage(RUSAGE_SELF, &usage);  // cannot fail for this process
#ifdef __APPLE__
    return usage.ru_maxrss;
#else
    return int64_t(usage.ru_maxrss) * 1024;  // Linux counts KiB
#endif
}

int64_t bytes_read() {
    std::ifstream file("/proc/self/io");
    std::string word;
    int64_t n = -1;
    while (file >> word)
        if (word == "rchar:") file >> n;
    return n;
}

void release_free_memory() {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

}  // namespace million
