// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <surrogate/surrogate.hpp>
#include <vector>

#include "coupling/case/check_case.hpp"

namespace surrogate::tool {

/// Common sizes of the tensors of a case; -1: unknown.
struct CaseCounts {
    int64_t n_sample = -1;
    int64_t n_point[2] = {-1, -1};  ///< of the input and the output domain
};

/// Memory layout of a port's tensor.
struct CaseShape {
    int64_t n_row = 0;  ///< of a sample
    TensorLayout layout;
    bool is_shared = false;  ///< the same for all samples: the tensor has no axis of samples
};

/// Reads the shape of a tensor of `port` on `domain`, and sets the counts that it defines; see
/// CaseTensors for the allowed shapes. Throws Failure bad_usage for other shapes, and for types
/// that are not among `types`.
CaseShape read_shape(const surrogate_tensor& tensor, const surrogate_port_info& port,
                     const surrogate_domain_info& domain, const std::vector<int32_t>& types,
                     CaseCounts& counts);

}  // namespace surrogate::tool
