// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <surrogate/surrogate.hpp>
#include <vector>

/// Classes of a classifier: a model whose outputs have the role "class" on its card and are logits.
/// A single output is the logit of class 1 of two.
namespace surrogate::tool {

/// Returns true if the outputs are classes.
bool are_classes(const std::vector<surrogate_field_info>& outputs);

/// Returns the number of classes of so many outputs.
inline size_t n_class_of(size_t n_output) {
    return n_output == 1 ? 2 : n_output;
}

/// Returns the names of the classes: the names of the outputs, or "not NAME" and "NAME" of one.
std::vector<std::string> class_names(const std::vector<std::string>& outputs);
std::vector<std::string> class_names(const std::vector<surrogate_field_info>& outputs);

/// Returns true if the single output of a classifier is the probability of class 1 instead of its
/// logit: HEPT with the task pileup ends with a sigmoid.
bool returns_probability(const Model& model);

/// Replaces probabilities by their logits, which are at most 100 in absolute value.
void make_logits(std::vector<double>* probabilities);

/// Returns the most probable class of a point, the first of equal ones.
///   logits         one per output
///   probabilities  one per class: softmax(logits), or 1 - p and p = 1 / (1 + exp(-logit))
size_t classify(std::span<const double> logits, std::span<double> probabilities);

}  // namespace surrogate::tool
