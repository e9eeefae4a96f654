// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "embedding_score.hpp"
#include "score.hpp"
#include "settings.hpp"

namespace tracking {

/// Results of a run. Seconds are maxima over the ranks.
struct Result {
    int64_t n_hit = 0;
    bool has_surrogate = false;
    std::string problem;  ///< reason why a requested surrogate is not available
    std::string how;      ///< backend of its plan
    double radius = 0;
    double fraction_outside = 0;
    double seconds_plan = 0, seconds_surrogate = 0, seconds_score = 0, seconds_join = 0;
    EmbeddingScore embedding;
    Score score;
    uint64_t fingerprint = 0;
};

/// Prints the result on rank 0.
void print_result(MPI_Comm comm, const Settings& settings, const Result& result);

}  // namespace tracking
