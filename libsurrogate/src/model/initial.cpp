// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/initial.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "libsurrogate/src/core/random.hpp"
#include "libsurrogate/src/core/text.hpp"
#include "libsurrogate/src/model/families.hpp"

namespace surrogate::impl {

namespace {

/// A file and the memory of the tensors in it.
class OwnedFile final : public File {
public:
    explicit OwnedFile(std::vector<std::vector<float>> memory) : memory_(std::move(memory)) {}
    void set(std::unique_ptr<File> file) { file_ = std::move(file); }
    const std::vector<float>& memory(size_t i) const { return memory_[i]; }

    int64_t size() const override { return file_->size(); }
    void read(int64_t offset, void* to, int64_t n_byte) const override {
        file_->read(offset, to, n_byte);
    }

private:
    std::vector<std::vector<float>> memory_;
    std::unique_ptr<File> file_;
};

std::vector<float> drawn(const TensorSpec& spec, const InitialValues& values, double scale,
                         const Random& random) {
    if (values.kind == InitialValues::Kind::table) return values.table;
    int64_t n = 1;
    for (const int64_t extent : spec.shape) n *= extent;
    std::vector<float> numbers(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) {
        double number = values.mean;
        if (values.kind == InitialValues::Kind::normal) number += values.width * random.normal(i);
        if (values.kind == InitialValues::Kind::uniform)
            number += values.width * (2 * random.uniform(i) - 1);
        numbers[static_cast<size_t>(i)] = static_cast<float>(scale * number);
    }
    return numbers;
}

void require_scale(double scale, const Card& card, const std::vector<TensorSpec>& specs) {
    if (scale == 1) return;
    if (!(scale > 0) || std::isinf(scale)) {
        throw Error(Status::invalid_argument,
                    "output_scale is " + number_text(scale) + ", expected a number above 0");
    }
    if (std::ranges::any_of(specs, [&](const auto& spec) { return is_of_output(card, spec); }))
        return;
    throw Error(Status::not_supported,
                "output_scale is for networks with a layer that gives the outputs; the one of the "
                "card has none");
}

}  // namespace

std::unique_ptr<File> InitialSource::open() const {
    if (!card_) throw Error(Status::invalid_argument, "argument 'card' is NULL on rank 0");
    // As many tensors as any file may have: there is none to compare with.
    constexpr int64_t most_tensors = 100'000;
    const Card card = parse_card(card_);
    std::vector<TensorSpec> specs = required_tensors(card, most_tensors);
    std::erase_if(specs, [](const TensorSpec& spec) { return spec.is_optional; });
    require_scale(output_scale_, card, specs);
    std::vector<std::vector<float>> memory;
    for (size_t i = 0; i < specs.size(); ++i) {
        const bool is_scaled = output_scale_ != 1 && is_of_output(card, specs[i]);
        const auto seed = static_cast<uint64_t>(seed_);
        memory.push_back(drawn(specs[i], initial_values(card, specs, i, seed),
                               is_scaled ? output_scale_ : 1, Random(seed, i)));
    }
    auto file = std::make_unique<OwnedFile>(std::move(memory));
    std::vector<surrogate_tensor> tensors;
    for (size_t i = 0; i < specs.size(); ++i) {
        surrogate_tensor tensor{specs[i].name.c_str(),
                                file->memory(i).data(),
                                {},
                                static_cast<int32_t>(specs[i].shape.size()),
                                SURROGATE_FLOAT32};
        std::ranges::copy(specs[i].shape, tensor.shape);
        tensors.push_back(tensor);
    }
    file->set(TensorsSource(card_, static_cast<int32_t>(tensors.size()), tensors.data()).open());
    return file;
}

}  // namespace surrogate::impl
