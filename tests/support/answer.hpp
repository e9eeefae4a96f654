// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate.h>

#include <ostream>
#include <string>

namespace surrogate::test {

/// Result of a call of the C interface.
struct Answer {
    surrogate_status status = SURROGATE_SUCCESS;
    std::string text;

    bool says(const std::string& part) const { return text.find(part) != std::string::npos; }
};

/// Status and, of a failure, the text that this thread's caller is told.
inline Answer answer(surrogate_status status) {
    return {status, status == SURROGATE_SUCCESS ? "" : surrogate_error(nullptr)};
}

inline std::ostream& operator<<(std::ostream& stream, const Answer& answer) {
    return stream << surrogate_status_name(answer.status) << ": " << answer.text;
}

}  // namespace surrogate::test
