// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "libsurrogate/src/file/model_source.hpp"
#include "libsurrogate/src/model/network.hpp"

namespace surrogate::impl {

/// The model file that an untrained network would make; see surrogate_model_initialise. Opening
/// throws bad_file and not_supported.
class InitialSource final : public ModelSource {
public:
    InitialSource(const char* card, int64_t seed) : card_(card), seed_(seed) {}
    std::unique_ptr<File> open() const override;
    std::string name() const override { return "untrained model"; }

private:
    const char* card_;
    int64_t seed_;
};

}  // namespace surrogate::impl
