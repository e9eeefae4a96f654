// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>

#include "kernels/linear/linear.hpp"
#include "kernels/norm/norm.hpp"
#include "libsurrogate/src/layers/weights.hpp"

namespace surrogate::impl {

/// The name of a weight, put together of parts without taking memory: up to 80 characters.
class WeightName {
public:
    WeightName(std::string_view text) { append(text); }
    WeightName(const std::string& text) { append(text); }
    WeightName(const char* text) { append(text); }

    friend WeightName operator+(WeightName name, std::string_view part) {
        name.append(part);
        return name;
    }
    operator std::string_view() const { return {text_.data(), size_}; }

private:
    void append(std::string_view part) {
        if (size_ + part.size() > text_.size())
            throw Error(Status::internal, "the name of a weight is too long");
        std::ranges::copy(part, text_.data() + size_);
        size_ += part.size();
    }

    std::array<char, 80> text_;
    size_t size_ = 0;
};

/// Sums of the gradients of a master's weights, by name. A view: master and arena belong to
/// the caller. Takes no memory.
class Gradients {
public:
    /// Keeps references. arena: MasterWeights::gradients(), or memory of the same shape. Empty: no
    /// gradients of weights are wanted, all addresses are null.
    Gradients(const MasterWeights& master, std::span<double> arena)
        : master_(master), arena_(arena) {}

    bool is_empty() const { return arena_.empty(); }

    double* at(const WeightName& name) const {
        if (arena_.empty()) return nullptr;
        if (const MasterWeights::Entry* const entry = master_.find(name))
            return arena_.data() + entry->first;
        throw Error(Status::internal,
                    "the master has no weight '" + std::string(std::string_view(name)) + "'");
    }
    kernels::LinearGradient linear(const WeightName& name) const {
        return {at(name + ".weight"), at(name + ".bias")};
    }
    kernels::NormGradient layer_norm(const WeightName& name) const {
        return {at(name + ".weight"), at(name + ".bias")};
    }

private:
    const MasterWeights& master_;
    std::span<double> arena_;
};

}  // namespace surrogate::impl
