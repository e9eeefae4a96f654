// SPDX-License-Identifier: Apache-2.0
// Arrays and numbers of the caller: targets, gradients, labels, weights, scales, the grid.
#include <algorithm>
#include <cmath>

#include "libsurrogate/src/core/text.hpp"
#include "libsurrogate/src/train/trainer.hpp"

namespace surrogate::impl {

/// Returns the loss of fields. Throws invalid_argument for other losses; `what` begins the message.
FieldLoss& Trainer::field_loss(const char* what) const {
    if (auto* const loss = dynamic_cast<FieldLoss*>(loss_.get())) return *loss;
    throw Error(Status::invalid_argument,
                std::string(what) + " are for losses of fields, and loss is '" + loss_name() + "'");
}

void Trainer::bind_labels(const surrogate_array* labels) {
    if (!has_labels()) {
        throw Error(Status::invalid_argument,
                    "loss is '" + loss_name() +
                        "', expected 'cross_entropy', 'focal' or 'infonce' for labels; set one of "
                        "them");
    }
    if (!labels) throw Error(Status::invalid_argument, "array of labels is NULL");
    check_array(*labels, "labels", false, NumberKind::integer);
    const int64_t expected[] = {n_point(), 1};
    if (!std::ranges::equal(labels->shape, expected)) {
        throw Error(Status::shape, "labels: array has shape " + shape_text(labels->shape) +
                                       ", expected " + shape_text(expected));
    }
    targets_[0] = column_of(*labels, 0);
    target_rows_[0] = n_point();
}

/// Returns the name of a class for messages.
std::string Trainer::class_text(int64_t c) const {
    if (n_output() == 1) return std::to_string(c);
    return "'" + model_->card().outputs[static_cast<size_t>(c)].name + "'";
}

void Trainer::set_class_weights(const double* weights, int64_t n) {
    auto* const loss = dynamic_cast<ClassLoss*>(loss_.get());
    if (!loss) {
        throw Error(Status::invalid_argument,
                    "class weights are for the losses cross_entropy and focal, and loss is '" +
                        loss_name() + "'");
    }
    if (!weights) throw Error(Status::invalid_argument, "class weights are NULL");
    if (n != n_class()) {
        throw Error(Status::shape,
                    "there are " + std::to_string(n) + " class weights, expected " +
                        std::to_string(n_class()) +
                        (n_output() == 1 ? ", of the labels 0 and 1" : ", one per output"));
    }
    double largest = 0;
    for (int64_t c = 0; c < n; ++c) {
        if (!(weights[c] >= 0) || std::isinf(weights[c])) {
            throw Error(Status::invalid_argument, "weight of class " + class_text(c) + " is " +
                                                      number_text(weights[c]) +
                                                      ", expected a number from 0");
        }
        largest = std::max(largest, weights[c]);
    }
    if (largest == 0) throw Error(Status::invalid_argument, "all class weights are 0");
    loss->set_class_weights(std::span(weights, static_cast<size_t>(n)));
}

void Trainer::bind_target(const char* name, const char* unit, const surrogate_array* array) {
    field_loss("targets of outputs");
    for (const Plan::Target& target : plan_.targets_of(name, unit, array)) bind(target);
}

void Trainer::bind_target(const char* name, const char* unit, const surrogate_block* block) {
    field_loss("targets of outputs");
    bind(plan_.target_of(name, unit, block));
}

void Trainer::bind(const Plan::Target& target) {
    targets_[target.output] = target.column;
    target_rows_[target.output] = n_point();
}

void Trainer::bind_gradient(const char* name, const char* unit, const surrogate_array* array) {
    require_custom_loss();
    for (const Plan::Target& target : plan_.targets_of(name, unit, array)) bind_gradient(target);
}

void Trainer::bind_gradient(const char* name, const char* unit, const surrogate_block* block) {
    require_custom_loss();
    bind_gradient(plan_.target_of(name, unit, block));
}

/// Binds derivatives with respect to an output in its unit, which are not normalized.
void Trainer::bind_gradient(const Plan::Target& target) {
    Column column = target.column;
    column.mean = 0;
    column.std = 1;
    caller_gradients_[target.output] = column;
    caller_gradient_rows_[target.output] = n_point();
}

void Trainer::set_point_weights(const surrogate_array* weights) {
    if (!weights) {
        has_weights_ = false;
        return;
    }
    if (recipe_.loss == LossKind::gradient_l2) {
        throw Error(Status::invalid_argument,
                    "loss=gradient_l2 does not support point weights; use another loss or remove "
                    "the weights");
    }
    if (plan_.has_pooled_outputs()) {
        throw Error(Status::invalid_argument,
                    "output '" + model_->card().outputs.front().name +
                        "' has one row per cloud, and weights of points need outputs at points");
    }
    const std::string what = "weights of points";
    check_array(*weights, what);
    const int64_t expected[] = {n_point(), 1};
    if (!std::ranges::equal(weights->shape, expected)) {
        throw Error(Status::shape, what + ": array has shape " + shape_text(weights->shape) +
                                       ", the plan's outputs ask for " + shape_text(expected));
    }
    kernels::Buffer<double> copied(n_point());
    const Column column = column_of(*weights, 0);
    Outside outside;
    const BadValue bad =
        gather(std::span(&column, 1), 0, n_point(), copied.data(), 1, n_point(), &outside);
    if (bad.column >= 0) {
        throw Error(Status::not_finite,
                    what + ": not finite at " + plan_.output()->point_text(bad.point));
    }
    for (int64_t i = 0; i < n_point(); ++i) {
        if (pair_loss_ && copied[i] != 0 && copied[i] != 1) {
            throw Error(Status::invalid_argument,
                        what + ": " + number_text(copied[i]) + " at " +
                            plan_.output()->point_text(i) +
                            ", expected 1 (loss=infonce: the point may be in positive pairs) or 0");
        }
        if (copied[i] >= 0) continue;
        throw Error(Status::invalid_argument, what + ": " + number_text(copied[i]) +
                                                  " is negative, at " +
                                                  plan_.output()->point_text(i));
    }
    weights_ = std::move(copied);
    has_weights_ = true;
}

void Trainer::set_scale(const char* output, double scale) {
    std::vector<std::string> names;
    for (const FieldCard& field : model_->card().outputs) names.push_back(field.name);
    if (!output) throw Error(Status::invalid_argument, "name of the output is NULL");
    const auto found = std::ranges::find(names, output);
    if (found == names.end()) {
        throw Error(Status::unknown_name, "the model has no output '" + printable(output) + "'" +
                                              did_you_mean(output, names));
    }
    if (!(scale > 0) || std::isinf(scale)) {
        throw Error(Status::invalid_argument, "the scale of output '" + std::string(output) +
                                                  "' is " + number_text(scale) +
                                                  ", expected a number above 0");
    }
    field_loss("scales of errors").set_scale(static_cast<size_t>(found - names.begin()), scale);
}

void Trainer::set_lattice(int64_t n_x, int64_t n_y) {
    const int64_t n = plan_.output()->n_global();
    if (n_x < 1 || n_y < 1 || n % n_x != 0 || n / n_x != n_y) {
        throw Error(Status::shape, "the grid has " + std::to_string(n_x) + " x " +
                                       std::to_string(n_y) + " points, and the domain has " +
                                       std::to_string(n));
    }
    n_x_ = n_x;
    n_y_ = n_y;
    lattice_revision_ = -1;
}

}  // namespace surrogate::impl
