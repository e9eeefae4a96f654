// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <surrogate/surrogate.hpp>
#include <vector>

#include "tests/support/golden_file.hpp"

namespace surrogate::test {

/// The network of the specification of Sequoia, section 11, with some keys changed.
nlohmann::json small_sequoia(const nlohmann::json& changes = nlohmann::json::object());
/// Its sequence model.
nlohmann::json small_sequence(const nlohmann::json& changes = nlohmann::json::object());

/// A model file of such a network, filled by the rule of that section; the bytes.
std::string sequoia_model(const nlohmann::json& network);

/// Points with what a network on a tree takes of them: Sequoia, Ball Sparse Attention. Positions
/// are exact in single precision.
struct SequoiaCase {
    int64_t n = 0, n_axis = 0;
    std::vector<double> positions;  ///< (n, n_axis)
    std::vector<int64_t> ids;       ///< (n)
    std::vector<double> features;   ///< (n, c_in), if the network takes them
    std::vector<int64_t> tokens;    ///< (n), likewise

    /// The points of section 11, ids are rows.
    static SequoiaCase wave(int64_t n, int64_t n_axis = 3);
    /// The tokens of section 11.
    static SequoiaCase sequence(int64_t n);
    /// check/input of a golden file of either family.
    explicit SequoiaCase(const GoldenFile& file);
    SequoiaCase() = default;

    /// 0 .. n - 1
    std::vector<int64_t> all() const;
    /// The points of these rows.
    SequoiaCase rows(const std::vector<int64_t>& rows) const;
    Domain domain(const Context& context) const;
};

/// Returns the results of a plan for all points of a case on this rank. Collective.
std::vector<double> run(Plan& plan, const Model& model, const SequoiaCase& own);
std::vector<double> run(const Context& context, const Model& model, const SequoiaCase& own,
                        const Options& options = {});

}  // namespace surrogate::test
