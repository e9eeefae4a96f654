// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "libsurrogate/src/file/model_source.hpp"
#include "libsurrogate/src/model/network.hpp"

namespace surrogate::impl {

/// Whether a tensor belongs to the layer that gives the outputs. Throws not_supported (family).
bool is_of_output(const Card& card, const TensorSpec& tensor);

/// Throws not_supported, with the families that have them, for a family without initial weights.
void require_initial_values(const Card& card);

/// The model file that an untrained network would make; see surrogate_model_initialise_scaled.
/// Opening throws bad_file, not_supported, invalid_argument.
class InitialSource final : public ModelSource {
public:
    InitialSource(const char* card, int64_t seed, double output_scale)
        : card_(card), seed_(seed), output_scale_(output_scale) {}
    std::unique_ptr<File> open() const override;
    std::string name() const override { return "untrained model"; }

private:
    const char* card_;
    int64_t seed_;
    double output_scale_;
};

}  // namespace surrogate::impl
