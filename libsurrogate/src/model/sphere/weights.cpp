// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sphere/weights.hpp"

#include <algorithm>
#include <type_traits>

namespace surrogate::impl::sphere {

template <class T>
Weights<T>::Weights(std::span<const Tensor> tensors) {
    for (const Tensor& tensor : tensors) {
        const std::span<const float> values = tensor.floats();
        if constexpr (std::is_same_v<T, float>) {
            by_name_[tensor.entry.name] = values.data();
        } else {
            kernels::Buffer<T>& copy = converted_.emplace_back(std::ssize(values));
            std::ranges::copy(values, copy.begin());
            by_name_[tensor.entry.name] = copy.data();
        }
    }
}

template <class T>
const T* Weights<T>::find(const std::string& name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second;
}

template <class T>
const T* Weights<T>::at(const std::string& name) const {
    if (const T* values = find(name)) return values;
    throw Error(Status::internal, "weight '" + name + "' was not matched with the file");
}

template class Weights<float>;
template class Weights<double>;

}  // namespace surrogate::impl::sphere
