// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "libsurrogate/src/file/model_source.hpp"

namespace surrogate::impl {

/// The model file that an untrained network would make; see surrogate_model_initialize_scaled.
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
