// SPDX-License-Identifier: Apache-2.0
#include "coupling/job/process_memory.hpp"

#include <sys/resource.h>

namespace surrogate::tool {

int64_t peak_memory() {
    rusage usage = {};
    ::getrusage(RUSAGE_SELF, &usage);  // cannot fail for this process
#ifdef __APPLE__
    return usage.ru_maxrss;
#else
    return int64_t{usage.ru_maxrss} * 1024;  // Linux counts KiB
#endif
}

}  // namespace surrogate::tool
