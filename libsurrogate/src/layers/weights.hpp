// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "kernels/linear/linear.hpp"
#include "kernels/norm/norm.hpp"
#include "libsurrogate/src/file/model_file.hpp"

namespace surrogate::impl {

/// Work that is repeated whenever weights change; see MasterWeights::on_refresh.
using Refresh = std::shared_ptr<const std::function<void()>>;

/// The weights of a model: one arena of floats, tensor after tensor in the order of the state_dict,
/// each at a cache line; on demand, gradients as doubles in a second arena of the same shape.
/// Whatever is computed from weights (other precisions, scaled queries, images on a device) is
/// brought up to date by refresh(). Shared by the network and its plans, which read it; only who
/// trains changes it.
class MasterWeights {
public:
    /// Takes the numbers over from `tensors`, whose order stays. Throws bad_alloc.
    explicit MasterWeights(std::span<const Tensor> tensors);
    MasterWeights(const MasterWeights&) = delete;
    MasterWeights& operator=(const MasterWeights&) = delete;

    struct Entry {
        std::string name;
        std::vector<int64_t> shape;
        int64_t first = 0, size = 0;  ///< elements of the arenas
    };
    const std::vector<Entry>& entries() const { return entries_; }
    /// Returns null if there is no such tensor. Does not allocate.
    const Entry* find(std::string_view name) const;
    int64_t n_parameter() const;

    /// Returns the arenas, gaps between tensors included. Gradients are zeros after the first call,
    /// which allocates. Must not be called during a run.
    std::span<float> values() { return {values_.begin(), values_.end()}; }
    std::span<const float> values() const { return {values_.begin(), values_.end()}; }
    std::span<double> gradients();

    /// Returns the weights in double, for training: steps are smaller than a float can follow. The
    /// first call allocates a copy of values(); from then on refresh() rounds them to values(), and
    /// networks in double precision compute with them. Must not be called during a run.
    std::span<double> precise();
    /// Returns precise() after its first call, otherwise an empty span.
    std::span<const double> precise_if_any() const { return {precise_.begin(), precise_.end()}; }

    /// Repeats all work given to on_refresh(), in that order, after values() or precise() changed.
    /// Passes on what `work` throws. Must not be called during a run; not thread-safe.
    void refresh();
    /// Keeps `work` for refresh() until the result is gone.
    [[nodiscard]] Refresh on_refresh(std::function<void()> work) const;

private:
    std::vector<Entry> entries_;
    std::map<std::string, size_t, std::less<>> by_name_;
    kernels::Buffer<float> values_;
    kernels::Buffer<double> gradients_, precise_;
    mutable std::vector<std::weak_ptr<const std::function<void()>>> work_;
};

/// Numbers computed from weights, again after every refresh(). Their place stays.
template <class T>
class Derived {
public:
    Derived() = default;
    T* data() const { return values_ ? values_->data() : nullptr; }
    int64_t bytes() const { return values_ ? values_->bytes() : 0; }

private:
    template <class>
    friend class Weights;
    std::shared_ptr<kernels::Buffer<T>> values_;
    Refresh refresh_;
};

/// The weights by name in one precision: the master itself, or a copy that follows it.
template <class T>
class Weights {
public:
    explicit Weights(std::shared_ptr<const MasterWeights> master);
    Weights(const Weights&) = delete;
    Weights& operator=(const Weights&) = delete;

    const MasterWeights& master() const { return *master_; }

    /// Returns null if the file has no such tensor (optional ones).
    const T* find(const std::string& name) const;
    const T* at(const std::string& name) const;

    /// Returns the layer of `weight` (n_out, n_in); bias by name, or none if "".
    kernels::Linear<T> linear(const std::string& weight, const std::string& bias, int64_t n_in,
                              int64_t n_out) const {
        return {n_in, n_out, at(weight), bias.empty() ? nullptr : at(bias)};
    }
    /// Returns the layer of name.weight (n_out, n_in) and name.bias, with the shape of the file.
    kernels::Linear<T> linear(const std::string& name) const;
    kernels::Norm<T> layer_norm(const std::string& name, double eps) const {
        return {kernels::NormKind::layer, static_cast<T>(eps), at(name + ".weight"),
                at(name + ".bias")};
    }

    /// Keeps `n` numbers that compute(to) writes, now and after every refresh; they are zeros
    /// before the first time. compute must refer only to objects that live as long as the weights.
    template <class Compute>
    Derived<T> derive(int64_t n, const Compute& compute) const {
        Derived<T> derived;
        derived.values_ = std::make_shared<kernels::Buffer<T>>(n);
        T* const to = derived.values_->data();
        derived.refresh_ = master_->on_refresh([to, compute] { compute(to); });
        compute(to);
        return derived;
    }

private:
    std::shared_ptr<const MasterWeights> master_;
    kernels::Buffer<T> converted_;  // empty for float
    Refresh conversion_;
};

}  // namespace surrogate::impl
