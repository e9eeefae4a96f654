// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/device/operand_writer.hpp"
#include "tests/support/model_writer.hpp"

namespace surrogate::test {

/// An operand's products of two pieces keep float's accuracy; other float arithmetic errs as the
/// host's does.
inline double bound_of_fp32(double host_error) {
    return std::max(3 * host_error, 2e-6);
}

/// A model whose matrices are rounded to so many bits of fraction: tensors of which
/// is_matrix(tensor).
template <class IsMatrix>
ModelWriter rounded(ModelWriter writer, int n_bit, const IsMatrix& is_matrix) {
    for (WriterTensor& tensor : writer.tensors) {
        if (!is_matrix(tensor)) continue;
        for (size_t at = 0; at < tensor.bytes.size(); at += sizeof(float)) {
            float value;
            std::memcpy(&value, &tensor.bytes[at], sizeof value);
            value = kernels::round_to(value, n_bit);
            std::memcpy(&tensor.bytes[at], &value, sizeof value);
        }
    }
    return writer;
}
inline ModelWriter rounded(ModelWriter writer, int n_bit) {
    return rounded(std::move(writer), n_bit,
                   [](const WriterTensor& tensor) { return tensor.shape.size() == 2; });
}

}  // namespace surrogate::test
