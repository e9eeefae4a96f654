// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

namespace surrogate::impl {

/// Layers of a network, made of its weights in both precisions of the host: in single precision
/// from the beginning, and in double from the first plan in double on. Both are made from the same
/// arguments, of which copies are kept: Layers<float>(made_from...), Layers<double>(made_from...).
template <template <class> class Layers>
class DoubleLayers {
public:
    template <class... MadeFrom>
    explicit DoubleLayers(const MadeFrom&... made_from)
        : single_(made_from...), make_double_([made_from...] {
              return std::make_unique<const Layers<double>>(made_from...);
          }) {}

    const Layers<float>& single() const { return single_; }

    /// Throws what making them throws, and then makes them again next time. Not thread-safe.
    const Layers<double>& in_double() const {
        if (!in_double_) in_double_ = make_double_();
        return *in_double_;
    }

    /// Calls use(layers) with the precision of a plan.
    template <class Use>
    auto with(bool is_double, const Use& use) const {
        return is_double ? use(in_double()) : use(single_);
    }

private:
    Layers<float> single_;
    std::function<std::unique_ptr<const Layers<double>>()> make_double_;
    mutable std::unique_ptr<const Layers<double>> in_double_;
};

}  // namespace surrogate::impl
