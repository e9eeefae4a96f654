// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/support/model_writer.hpp"

namespace surrogate::test {

/// Damages a model file: raw bytes anywhere, or parts of its structure (length, header as JSON
/// tree, header as text, card, data). Same model and seed, same inputs.
class Mutator {
public:
    Mutator(const ModelWriter& model, uint64_t seed);

    std::string next();

private:
    using Json = nlohmann::json;

    std::string raw_bytes();
    std::string header_text();
    std::string header_tree();
    std::string card_tree();
    std::string length_field();
    std::string data_size();

    void damage_bytes(std::string& bytes);
    void damage_tree(Json& tree);
    std::vector<Json*> nodes(Json& tree) const;
    void rename_key(Json& object);
    Json value();

    uint64_t below(uint64_t n) { return random_() % n; }
    template <class T>
    const T& pick(const std::vector<T>& from) {
        return from[below(from.size())];
    }

    std::mt19937_64 random_;
    std::string header_, data_, sound_;
    Json tree_, card_;
};

}  // namespace surrogate::test
