// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/family/device_limits.hpp"

#include "kernels/base/error.hpp"

namespace surrogate::impl {

using kernels::Error;
using kernels::Status;

void require_at_most_on_device(const char* family, const char* what, int64_t value, int64_t most) {
    if (value <= most) return;
    throw Error(Status::not_supported, std::string("backend 'cuda' takes ") + family + " with " +
                                           what + " up to " + std::to_string(most) +
                                           ", the model has " + std::to_string(value) +
                                           "; backend 'simd' has no such limit");
}

void refuse_on_device(const char* family, const std::string& what) {
    throw Error(Status::not_supported, std::string(family) + " with " + what +
                                           " is not built for backend 'cuda'; use backend 'simd' "
                                           "or 'auto'");
}

void require_one_rank_on_device(const char* family, int n_rank) {
    if (n_rank == 1) return;
    throw Error(Status::not_supported, std::string("backend 'cuda' takes ") + family +
                                           " on one rank, not on " + std::to_string(n_rank) +
                                           "; use backend 'simd' or 'auto'");
}

}  // namespace surrogate::impl
