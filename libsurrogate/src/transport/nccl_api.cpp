// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/transport/nccl_api.hpp"

#include <dlfcn.h>

namespace surrogate::impl {

std::string nccl_version_text(int version) {
    // Versions up to 2.8 used a different encoding; they are named only in the error message.
    const int unit = version < 10000 ? 1000 : 10000;
    return std::to_string(version / unit) + "." + std::to_string(version % unit / 100) + "." +
           std::to_string(version % 100);
}

int nccl_version(const NcclApi& api, std::string& problem) {
    int version = 0;
    if (const NcclResult result = api.get_version(&version); result != NcclResult::success) {
        problem = std::string("NCCL does not tell its version: ") + api.get_error_string(result);
        return 0;
    }
    if (version >= nccl_oldest_version) return version;
    problem = "NCCL " + nccl_version_text(version) + " is older than " +
              nccl_version_text(nccl_oldest_version);
    return 0;
}

namespace {

constexpr const char* library_name = "libnccl.so.2";

const char* loader_words() {
    const char* words = dlerror();
    return words ? words : "the loader gives no reason";
}

/// Sets `function` to the symbol; false with the loader's words if there is none.
template <class Function>
bool find(void* library, const char* symbol, Function& function, std::string& problem) {
    dlerror();
    function = reinterpret_cast<Function>(dlsym(library, symbol));
    if (!function) problem = std::string(library_name) + ": " + loader_words();
    return function != nullptr;
}

bool find_all(void* library, NcclApi& api, std::string& problem) {
    return find(library, "ncclGetVersion", api.get_version, problem) &&
           find(library, "ncclGetErrorString", api.get_error_string, problem) &&
           find(library, "ncclGetLastError", api.get_last_error, problem) &&
           find(library, "ncclGetUniqueId", api.get_unique_id, problem) &&
           find(library, "ncclCommInitRankConfig", api.comm_init_rank_config, problem) &&
           find(library, "ncclCommGetAsyncError", api.comm_get_async_error, problem) &&
           find(library, "ncclCommFinalize", api.comm_finalize, problem) &&
           find(library, "ncclCommDestroy", api.comm_destroy, problem) &&
           find(library, "ncclCommAbort", api.comm_abort, problem) &&
           find(library, "ncclAllReduce", api.all_reduce, problem) &&
           find(library, "ncclAllGather", api.all_gather, problem) &&
           find(library, "ncclSend", api.send, problem) &&
           find(library, "ncclRecv", api.recv, problem) &&
           find(library, "ncclGroupStart", api.group_start, problem) &&
           find(library, "ncclGroupEnd", api.group_end, problem);
}

struct Loaded {
    NcclApi api{};
    bool is_there = false;
    std::string problem;
};

Loaded load() {
    Loaded loaded;
    // Not unloaded: NCCL leaves threads and handlers behind that would run into nothing.
    void* library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library) {
        loaded.problem = loader_words();
        return loaded;
    }
    loaded.is_there = find_all(library, loaded.api, loaded.problem) &&
                      nccl_version(loaded.api, loaded.problem) != 0;
    return loaded;
}

}  // namespace

const NcclApi* load_nccl(std::string& problem) {
    static const Loaded loaded = load();
    problem = loaded.problem;
    return loaded.is_there ? &loaded.api : nullptr;
}

}  // namespace surrogate::impl
