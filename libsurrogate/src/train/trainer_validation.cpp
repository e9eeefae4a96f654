// SPDX-License-Identifier: Apache-2.0
// Validations of a trainer, and the best weights so far.
#include <algorithm>
#include <limits>

#include "libsurrogate/src/train/trainer.hpp"

namespace surrogate::impl {

void Trainer::add_validation_loss(double loss) {
    require_custom_loss();
    comm().agree([&] { validation_.reserve(validation_.size() + 1); });
    validation_.push_back(loss);
}

double Trainer::validate(double* error) {
    require_own_loss();
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    double loss = nan;
    SampleOutcome outcome = SampleOutcome::failed;
    comm().agree([&] {
        outcome = measure(bound(), false);
        if (outcome == SampleOutcome::good) loss = sample_loss();
    });
    for (size_t o = 0; error && o < n_output(); ++o)
        error[o] = outcome == SampleOutcome::good ? sample_error(o) : nan;
    end_sample(loss, validation_);
    return loss;
}

double Trainer::end_validation(bool& is_best) {
    data_parallel().agree([&] {
        if (best_.size() == 0) best_ = kernels::Buffer<double>(std::ssize(optimizer_->weights()));
    });
    int64_t n = 0;
    const double loss = mean(validation_, n);
    validation_.clear();
    if (n == 0) {
        throw Error(Status::invalid_argument,
                    "no sample was validated since the last validation ended; call "
                    "surrogate_trainer_validate first");
    }
    is_best = plateau_.note(recipe_, loss);
    if (is_best) std::ranges::copy(optimizer_->weights(), best_.begin());
    return loss;
}

}  // namespace surrogate::impl
