// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "kernels/base/error.hpp"

namespace surrogate::test {

/// The status and text of the Error that `work` throws; success and "" if it does not throw.
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
