// SPDX-License-Identifier: Apache-2.0
// The table of self-checks of the specification of Sequoia, section 11.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/support/sequoia_case.hpp"
#include "tests/support/sphere_models.hpp"

namespace surrogate::test {

/// A small network with some keys changed, or its sequence model, and the points it works on.
struct SmallCase {
    SmallCase(const nlohmann::json& changes, int64_t n, bool is_sequence)
        : is_tokens(is_sequence),
          disk(sequoia_model(is_tokens ? small_sequence(changes) : small_sequoia(changes))),
          points(is_tokens ? SequoiaCase::sequence(n) : SequoiaCase::wave(n)) {}

    const bool is_tokens;
    const ModelOnDisk disk;
    SequoiaCase points;
};

/// A row of the table: predictions, their squared norm, and the squared norms of the gradients of
/// the first W_q and of the positions for the loss 0.5 sum(y^2).
struct Check {
    std::string name;
    nlohmann::json changes;
    int64_t n;
    double first, last, square;
    double dwq, dpos;

    SmallCase made() const { return {changes, n, changes.contains("pos_enc")}; }
};

inline void PrintTo(const Check& check, std::ostream* stream) {
    *stream << check.name;
}

/// The table gives 9 digits.
inline void expect_equal(double found, double expected, const char* what) {
    EXPECT_LE(std::abs(found - expected), 6e-9 * std::abs(expected)) << what << " " << found;
}

inline std::vector<Check> self_checks() {
    const auto none = nlohmann::json::object();
    const auto set = [](const char* key, const auto& value) {
        return nlohmann::json{{key, value}};
    };
    return {{"Default", none, 50, 2.11453008e-2, 1.58433086e-2, 1.43377350e-2, 2.91350419e-7,
             3.45152220e-5},
            {"Parent", set("ancestors", "parent"), 50, 1.96298311e-2, 1.53447681e-2, 1.30924251e-2,
             1.39964724e-8, 3.03352159e-5},
            {"NoAncestors", set("ancestors", "none"), 50, 2.96960517e-2, 1.65694322e-2,
             1.76597538e-2, 9.11026547e-8, 1.79078544e-5},
            {"Repeat", set("ragged", "repeat"), 50, 2.09197892e-2, 1.56515592e-2, 1.42423379e-2,
             7.88794098e-8, 3.59351694e-5},
            {"Complete", set("seq_mode", "complete"), 50, 3.01327536e-2, 1.66493763e-2,
             1.90080759e-2, 1.07820217e-6, 3.90379563e-5},
            {"TopDown", set("seq_mode", "top-down"), 50, 2.26081413e-2, 1.57953666e-2,
             1.50860823e-2, 4.87152056e-7, 3.21812792e-5},
            {"Tied", set("tied_weights", true), 50, 4.04673663e-2, 1.20372007e-2, 4.83115061e-2,
             1.48263674e-5, 1.16015532e-5},
            {"InSequence", set("tree", "sequence"), 50, 2.87061675e-2, 1.60175421e-2, 2.22501638e-2,
             5.24594010e-6, 3.88394567e-5},
            {"Root", set("probe_layer", "root"), 50, 1.61464390e-2, 1.61464390e-2, 2.60707494e-4,
             1.86185772e-10, 5.53817627e-10},
            {"Mean", set("pooling_mode", "MEAN"), 50, 1.21088326e-2, 1.21088326e-2, 1.46623828e-4,
             1.58228465e-10, 7.01987221e-10},
            {"FullGroups", none, 27, 1.97214910e-2, 1.23698968e-2, 8.21745947e-3, 1.40271575e-7,
             1.62028416e-5},
            {"TwoPoints", none, 2, 2.08205072e-2, 2.69973228e-4, 4.33566407e-4, 5.19630477e-8,
             1.04688750e-7},
            {"OnePoint", none, 1, 2.87131999e-2, 2.87131999e-2, 8.24447850e-4, 0, 1.22882273e-7},
            {"Tokens", set("pos_enc", "tokens"), 50, -3.17936103e-2, 0, 2.48787560e-3,
             9.43245287e-8, 0}};
}

}  // namespace surrogate::test
