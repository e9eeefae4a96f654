// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>

#include "kernels/device/operand.hpp"

namespace surrogate::kernels {

/// Returns the nearest number with `n_bit` explicit bits of fraction, ties to even, as a float. The
/// input must be finite.
float round_to(float value, int n_bit);

/// Writes consecutive numbers to memory as a device's operands.
class OperandWriter {
public:
    OperandWriter(Operand operand, void* to)
        : operand_(operand), to_(static_cast<unsigned char*>(to)) {}

    Operand operand() const { return operand_; }

    /// Writes a number rounded to the operand. Throws not_supported beyond fp16's range.
    void put(float value);

    /// Writes a number unchanged.
    template <class T>
    void append(T value) {
        std::memcpy(to_, &value, sizeof value);
        to_ += sizeof value;
    }

private:
    Operand operand_;
    unsigned char* to_;
};

}  // namespace surrogate::kernels
