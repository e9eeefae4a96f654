// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "kernels/linear/linear.hpp"
#include "kernels/norm/norm.hpp"
#include "libsurrogate/src/file/model_file.hpp"

namespace surrogate::impl::sphere {

/// The weights of a model by name, in one precision: those of the file where it has that precision,
/// else converted once. `tensors` must outlive it; names and shapes were matched before.
template <class T>
class Weights {
public:
    explicit Weights(std::span<const Tensor> tensors);

    /// Null if the file has no such tensor (optional ones).
    const T* find(const std::string& name) const;
    const T* at(const std::string& name) const;

    /// A 1x1 convolution: `weight` (n_out, n_in); bias by name, or none if "".
    kernels::Linear<T> linear(const std::string& weight, const std::string& bias, int64_t n_in,
                              int64_t n_out) const {
        return {n_in, n_out, at(weight), bias.empty() ? nullptr : at(bias)};
    }
    kernels::Norm<T> layer_norm(const std::string& name, double eps) const {
        return {kernels::NormKind::layer, static_cast<T>(eps), at(name + ".weight"),
                at(name + ".bias")};
    }

private:
    std::vector<kernels::Buffer<T>> converted_;
    std::map<std::string, const T*> by_name_;
};

}  // namespace surrogate::impl::sphere
