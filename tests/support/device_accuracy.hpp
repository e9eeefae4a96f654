// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstring>

#include "kernels/device/operand_writer.hpp"
#include "tests/support/model_writer.hpp"

namespace surrogate::test {

/// An operand's products of two pieces keep float's accuracy; other float arithmetic errs as the
/// host's does.
inline double bound_of_fp32(double host_error) {
    return std::max(3 * host_error, 2e-6);
}

/// A model whose matrices are rounded to so many bits of fraction.
inline ModelWriter rounded(ModelWriter writer, int n_bit) {
    for (WriterTensor& tensor : writer.tensors) {
        if (tensor.shape.size() != 2) continue;
        for (size_t at = 0; at < tensor.bytes.size(); at += sizeof(float)) {
            float value;
            std::memcpy(&value, &tensor.bytes[at], sizeof value);
            value = kernels::round_to(value, n_bit);
            std::memcpy(&tensor.bytes[at], &value, sizeof value);
        }
    }
    return writer;
}

}  // namespace surrogate::test
