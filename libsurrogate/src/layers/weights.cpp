// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/layers/weights.hpp"

#include <algorithm>
#include <type_traits>

namespace surrogate::impl {

using kernels::Buffer;

namespace {

constexpr int64_t cache_line = 16;  // floats

}  // namespace

MasterWeights::MasterWeights(std::span<const Tensor> tensors) {
    int64_t size = 0;
    for (const Tensor& tensor : tensors) {
        by_name_[tensor.entry.name] = entries_.size();
        const int64_t n = std::ssize(tensor.floats());
        entries_.push_back({tensor.entry.name, tensor.entry.shape, size, n});
        size = kernels::round_up(size + n, cache_line);
    }
    values_ = Buffer<float>(size);
    for (size_t i = 0; i < tensors.size(); ++i)
        std::ranges::copy(tensors[i].floats(), values_.data() + entries_[i].first);
}

const MasterWeights::Entry* MasterWeights::find(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : &entries_[found->second];
}

int64_t MasterWeights::n_parameter() const {
    int64_t n = 0;
    for (const Entry& entry : entries_) n += entry.size;
    return n;
}

std::span<double> MasterWeights::gradients() {
    if (gradients_.size() != values_.size()) gradients_ = Buffer<double>(values_.size());
    return {gradients_.begin(), gradients_.end()};
}

std::span<double> MasterWeights::precise() {
    if (precise_.size() != values_.size()) {
        precise_ = Buffer<double>(values_.size());
        std::ranges::copy(values_, precise_.begin());
    }
    return {precise_.begin(), precise_.end()};
}

void MasterWeights::refresh() {
    std::ranges::transform(precise_, values_.begin(),
                           [](double value) { return static_cast<float>(value); });
    for (const auto& kept : work_) {
        if (const Refresh work = kept.lock()) (*work)();
    }
}

Refresh MasterWeights::on_refresh(std::function<void()> work) const {
    std::erase_if(work_, [](const auto& kept) { return kept.expired(); });
    auto kept = std::make_shared<const std::function<void()>>(std::move(work));
    work_.push_back(kept);
    return kept;
}

template <class T>
Weights<T>::Weights(std::shared_ptr<const MasterWeights> master) : master_(std::move(master)) {
    if constexpr (!std::is_same_v<T, float>) {
        converted_ = Buffer<T>(std::ssize(master_->values()));
        const auto convert = [master = master_.get(), to = converted_.data()] {
            if (const std::span<const double> precise = master->precise_if_any();
                !precise.empty()) {
                std::ranges::copy(precise, to);
            } else {
                std::ranges::copy(master->values(), to);
            }
        };
        conversion_ = master_->on_refresh(convert);
        convert();
    }
}

template <class T>
const T* Weights<T>::find(const std::string& name) const {
    const MasterWeights::Entry* entry = master_->find(name);
    if (!entry) return nullptr;
    if constexpr (std::is_same_v<T, float>) {
        return master_->values().data() + entry->first;
    } else {
        return converted_.data() + entry->first;
    }
}

template <class T>
const T* Weights<T>::at(const std::string& name) const {
    if (const T* values = find(name)) return values;
    throw Error(Status::internal, "weight '" + name + "' was not matched with the file");
}

template <class T>
kernels::Linear<T> Weights<T>::linear(const std::string& name) const {
    const T* const weight = at(name + ".weight");
    const std::vector<int64_t>& shape = master_->find(name + ".weight")->shape;
    return {shape[1], shape[0], weight, at(name + ".bias")};
}

template class Weights<float>;
template class Weights<double>;

}  // namespace surrogate::impl
