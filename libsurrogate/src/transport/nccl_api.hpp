// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <climits>
#include <cstddef>
#include <string>

namespace surrogate::impl {

// The part of NCCL's C interface that is used, declared here so that no NCCL header is needed and
// nothing is linked. Values and layouts agree with nccl.h; a test compares them if the header is
// found (tests/libsurrogate/transport/nccl_header_test.cpp).

struct NcclComm;  ///< opaque: ncclComm

struct NcclUniqueId {
    char internal[128];
};

enum class NcclResult : int {
    success = 0,
    unhandled_cuda_error = 1,
    system_error = 2,
    internal_error = 3,
    invalid_argument = 4,
    invalid_usage = 5,
    remote_error = 6,
    in_progress = 7,
};

enum class NcclType : int { int8 = 0, int64 = 4, float32 = 7 };
enum class NcclOperation : int { sum = 0, max = 2 };

/// Oldest NCCL that is taken: since 2.19 all ranks may abort a communicator in any order.
inline constexpr int nccl_oldest_version = 21900;

/// ncclConfig_t as of NCCL 2.18. Newer ones read `size` bytes and take their own defaults for what
/// they have added, as `version` tells them.
struct NcclConfig {
    size_t size = sizeof(NcclConfig);
    unsigned int magic = 0xcafebeef;
    unsigned int version = nccl_oldest_version;
    int blocking = 0;  // calls return at once and are asked for with comm_get_async_error
    int cga_cluster_size = INT_MIN;
    int min_ctas = INT_MIN;
    int max_ctas = INT_MIN;
    const char* net_name = nullptr;
    int split_share = INT_MIN;
};

/// NCCL's functions. Tests put their own here.
struct NcclApi {
    NcclResult (*get_version)(int* version);
    NcclResult (*get_unique_id)(NcclUniqueId* id);
    NcclResult (*comm_init_rank_config)(NcclComm** comm, int n_rank, NcclUniqueId id, int rank,
                                        NcclConfig* config);
    NcclResult (*comm_get_async_error)(NcclComm* comm, NcclResult* error);
    NcclResult (*comm_finalize)(NcclComm* comm);
    NcclResult (*comm_destroy)(NcclComm* comm);
    NcclResult (*comm_abort)(NcclComm* comm);
    NcclResult (*all_reduce)(const void* from, void* to, size_t count, NcclType type,
                             NcclOperation operation, NcclComm* comm, void* stream);
    NcclResult (*all_gather)(const void* from, void* to, size_t count_of_rank, NcclType type,
                             NcclComm* comm, void* stream);
    NcclResult (*send)(const void* from, size_t count, NcclType type, int peer, NcclComm* comm,
                       void* stream);
    NcclResult (*recv)(void* to, size_t count, NcclType type, int peer, NcclComm* comm,
                       void* stream);
    NcclResult (*group_start)();
    NcclResult (*group_end)();
    const char* (*get_error_string)(NcclResult result);
    const char* (*get_last_error)(NcclComm* comm);
};

/// Returns "2.27.3" for NCCL's version number 22703.
std::string nccl_version_text(int version);

/// Returns the version number of this NCCL, or 0 with the reason in `problem` if it is too old or
/// does not report it.
int nccl_version(const NcclApi& api, std::string& problem);

/// Loads NCCL's functions from libnccl.so.2 on the search path of the loader; returns null with the
/// loader's words in `problem` if that fails. A loaded library stays until the process ends. Any
/// thread may call it.
const NcclApi* load_nccl(std::string& problem);

}  // namespace surrogate::impl
