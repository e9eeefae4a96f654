// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coupling/error/error.hpp"

namespace surrogate::coupling {

/// A failure of this rank that the other ranks do not have yet. The rank continues to the next
/// agreement, in which all ranks get it. Does not allocate.
class Problem {
public:
    explicit Problem(surrogate_context* context) : context_(context) {}

    /// Runs local work unless there is a problem already, and stores a failure.
    template <class Work>
    void attempt(const Work& work) noexcept {
        if (!is_there()) keep(guarded(context_, work));
    }

    /// Stores a status that the library has just returned, with its text.
    void keep(surrogate_status status) noexcept { keep(status, surrogate_error(context_)); }
    void keep(surrogate_status status, const char* text) noexcept {
        if (status == SURROGATE_SUCCESS || is_there()) return;
        status_ = status;
        std::strncpy(text_, text, sizeof text_ - 1);
    }

    bool is_there() const { return status_ != SURROGATE_SUCCESS; }
    surrogate_status status() const { return status_; }
    const char* text() const { return text_; }

    /// Returns the first problem of any rank, on all ranks. Collective.
    surrogate_status agree() const {
        return surrogate_context_agree(context_, status_, is_there() ? text_ : nullptr);
    }

private:
    surrogate_context* context_;
    surrogate_status status_ = SURROGATE_SUCCESS;
    char text_[2048] = "";
};

}  // namespace surrogate::coupling
