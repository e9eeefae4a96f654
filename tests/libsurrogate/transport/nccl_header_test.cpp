// SPDX-License-Identifier: Apache-2.0
// Our declarations of NCCL's C interface against NCCL's own header, wherever that is found:
// compiling this file is the test.
#include <nccl.h>

#include <cstddef>
#include <type_traits>

#include "libsurrogate/src/transport/nccl_api.hpp"

namespace surrogate::impl {
namespace {

/// Our word for a type of NCCL's.
template <class Type>
struct Ours {
    using type = Type;
};
template <class Type>
using ours = typename Ours<Type>::type;

template <>
struct Ours<ncclComm> {
    using type = NcclComm;
};
template <>
struct Ours<ncclUniqueId> {
    using type = NcclUniqueId;
};
template <>
struct Ours<ncclConfig_t> {
    using type = NcclConfig;
};
template <>
struct Ours<ncclResult_t> {
    using type = NcclResult;
};
template <>
struct Ours<ncclDataType_t> {
    using type = NcclType;
};
template <>
struct Ours<ncclRedOp_t> {
    using type = NcclOperation;
};
template <>
struct Ours<cudaStream_t> {
    using type = void*;
};
template <class Type>
struct Ours<Type*> {
    using type = ours<Type>*;
};
template <class Result, class... Arguments>
struct Ours<Result(Arguments...)> {
    using type = ours<Result>(ours<Arguments>...);
};

template <auto function, class Declared>
constexpr bool is_declared_as = std::is_same_v<ours<decltype(function)>, Declared>;

static_assert(is_declared_as<&ncclGetVersion, decltype(NcclApi::get_version)>);
static_assert(is_declared_as<&ncclGetUniqueId, decltype(NcclApi::get_unique_id)>);
static_assert(is_declared_as<&ncclCommInitRankConfig, decltype(NcclApi::comm_init_rank_config)>);
static_assert(is_declared_as<&ncclCommGetAsyncError, decltype(NcclApi::comm_get_async_error)>);
static_assert(is_declared_as<&ncclCommFinalize, decltype(NcclApi::comm_finalize)>);
static_assert(is_declared_as<&ncclCommDestroy, decltype(NcclApi::comm_destroy)>);
static_assert(is_declared_as<&ncclCommAbort, decltype(NcclApi::comm_abort)>);
static_assert(is_declared_as<&ncclAllReduce, decltype(NcclApi::all_reduce)>);
static_assert(is_declared_as<&ncclAllGather, decltype(NcclApi::all_gather)>);
static_assert(is_declared_as<&ncclSend, decltype(NcclApi::send)>);
static_assert(is_declared_as<&ncclRecv, decltype(NcclApi::recv)>);
static_assert(is_declared_as<&ncclGroupStart, decltype(NcclApi::group_start)>);
static_assert(is_declared_as<&ncclGroupEnd, decltype(NcclApi::group_end)>);
static_assert(is_declared_as<&ncclGetErrorString, decltype(NcclApi::get_error_string)>);
static_assert(is_declared_as<&ncclGetLastError, decltype(NcclApi::get_last_error)>);

template <class Ours, class Theirs>
constexpr bool is_same_value(Ours our, Theirs their) {
    return sizeof our == sizeof their && static_cast<int>(our) == static_cast<int>(their);
}

static_assert(is_same_value(NcclResult::success, ncclSuccess));
static_assert(is_same_value(NcclResult::unhandled_cuda_error, ncclUnhandledCudaError));
static_assert(is_same_value(NcclResult::system_error, ncclSystemError));
static_assert(is_same_value(NcclResult::internal_error, ncclInternalError));
static_assert(is_same_value(NcclResult::invalid_argument, ncclInvalidArgument));
static_assert(is_same_value(NcclResult::invalid_usage, ncclInvalidUsage));
static_assert(is_same_value(NcclResult::remote_error, ncclRemoteError));
static_assert(is_same_value(NcclResult::in_progress, ncclInProgress));
static_assert(is_same_value(NcclType::int8, ncclInt8));
static_assert(is_same_value(NcclType::int64, ncclInt64));
static_assert(is_same_value(NcclType::float32, ncclFloat32));
static_assert(is_same_value(NcclOperation::sum, ncclSum));
static_assert(is_same_value(NcclOperation::max, ncclMax));

static_assert(sizeof(NcclUniqueId) == sizeof(ncclUniqueId));
static_assert(alignof(NcclUniqueId) == alignof(ncclUniqueId));

// Ours is the beginning of theirs.
static_assert(sizeof(NcclConfig) <= sizeof(ncclConfig_t));
static_assert(offsetof(NcclConfig, size) == offsetof(ncclConfig_t, size));
static_assert(offsetof(NcclConfig, magic) == offsetof(ncclConfig_t, magic));
static_assert(offsetof(NcclConfig, version) == offsetof(ncclConfig_t, version));
static_assert(offsetof(NcclConfig, blocking) == offsetof(ncclConfig_t, blocking));
static_assert(offsetof(NcclConfig, cga_cluster_size) == offsetof(ncclConfig_t, cgaClusterSize));
static_assert(offsetof(NcclConfig, min_ctas) == offsetof(ncclConfig_t, minCTAs));
static_assert(offsetof(NcclConfig, max_ctas) == offsetof(ncclConfig_t, maxCTAs));
static_assert(offsetof(NcclConfig, net_name) == offsetof(ncclConfig_t, netName));
static_assert(offsetof(NcclConfig, split_share) == offsetof(ncclConfig_t, splitShare));

constexpr ncclConfig_t theirs = NCCL_CONFIG_INITIALIZER;
constexpr NcclConfig mine;
static_assert(mine.magic == theirs.magic);
static_assert(mine.cga_cluster_size == theirs.cgaClusterSize);
static_assert(mine.min_ctas == theirs.minCTAs);
static_assert(mine.max_ctas == theirs.maxCTAs);
static_assert(mine.net_name == theirs.netName);
static_assert(mine.split_share == theirs.splitShare);
static_assert(nccl_oldest_version == NCCL_VERSION(2, 19, 0));

}  // namespace
}  // namespace surrogate::impl
