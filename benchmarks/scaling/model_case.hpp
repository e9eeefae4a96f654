// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace surrogate::bench {

/// A model of any family with weights by formula, written as a model file to a temporary path that
/// is removed with the object.
class ModelCase {
public:
    /// `network` of the card: official names. `fields`: "inputs" and "outputs" of the card, or
    /// nothing.
    ModelCase(const std::string& family, const nlohmann::json& network,
              const nlohmann::json& fields = {});
    ~ModelCase();
    ModelCase(const ModelCase&) = delete;
    ModelCase& operator=(const ModelCase&) = delete;

    const std::string& path() const { return path_; }

private:
    std::string path_;
};

}  // namespace surrogate::bench
