// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "kernels/base/error.hpp"

namespace surrogate::test {

/// Status and text with which `work` is refused; success and "" if it is not.
struct Refusal {
    kernels::Status status = kernels::Status::success;
    std::string text;

    bool says(const std::string& part) const { return text.find(part) != std::string::npos; }
};

inline Refusal refusal(const std::function<void()>& work) {
    try {
        work();
        return {};
    } catch (const kernels::Error& error) {
        return {error.status(), error.what()};
    }
}

}  // namespace surrogate::test
