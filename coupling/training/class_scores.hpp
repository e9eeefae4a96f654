// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace surrogate::tool {

/// The points of one sample.
struct ClassSample {
    std::vector<int64_t> labels;              ///< class, or SURROGATE_IGNORED_LABEL
    std::vector<double> weights;              ///< empty: all equal
    std::vector<std::vector<double>> logits;  ///< by output of the model, then by point
};

/// Scores of one class against all others, or their means over the classes. NaN if undefined.
struct ClassScore {
    double precision, recall, f1, iou;
    double average_precision, roc_auc;
};

/// Scores of a classifier over samples. Ignored points, and points of weight 0, do not count.
/// Confusion matrix, accuracy and cross-entropy are fractions or means of each sample by weight,
/// averaged over the samples; ratios are formed of the averaged fractions. Average precision and
/// ROC AUC of one class against all others are computed from the sorted probabilities of each
/// sample, and averaged over the samples in which they are defined: the class has points, for ROC
/// AUC other classes too. Local.
class ClassScores {
public:
    /// Starts without samples. `top_k`: numbers of classes for top_k_accuracy(), each 1 ..
    /// n_class().
    ClassScores(size_t n_output, const std::vector<int64_t>& top_k);

    /// Adds a sample. Returns false, and adds nothing, if no point with a weight above 0 has a
    /// class.
    bool add(ClassSample sample);

    size_t n_class() const { return n_class_; }
    /// Returns the number of points of class `label` that are predicted as class `predicted`.
    int64_t count(size_t label, size_t predicted) const {
        return counts_[label * n_class_ + predicted];
    }
    /// Returns the fraction of points that are predicted correctly: in all samples, in each.
    double accuracy() const;
    const std::vector<double>& accuracy_of_samples() const { return accuracies_; }
    /// Returns the mean recall of the classes that have points.
    double balanced_accuracy() const { return mean().recall; }
    /// Returns TP / (TP + FP + FN) of the fractions added over the classes.
    double iou() const;
    /// Returns the mean of -log p of the labels.
    double cross_entropy() const { return cross_entropy_ / n_sample(); }
    /// Returns the fraction of points whose label is among the k most probable classes, for each k.
    /// The first ones of equally probable classes count.
    std::vector<double> top_k_accuracy() const;

    ClassScore of_class(size_t label) const;
    /// Returns the mean of each score over the classes for which it is defined.
    ClassScore mean() const;

private:
    struct Mean {
        double sum = 0, n = 0;
        void add(double value);
        double value() const;
    };

    double n_sample() const { return static_cast<double>(accuracies_.size()); }
    double fraction(size_t label, size_t predicted) const {
        return fractions_[label * n_class_ + predicted] / n_sample();
    }
    void add_points(ClassSample& sample, double weight);
    void add_curves(ClassSample& sample);

    size_t n_output_, n_class_;
    std::vector<int64_t> top_k_;
    std::vector<int64_t> counts_;    ///< (n_class, n_class), by label and predicted class
    std::vector<double> fractions_;  ///< the same: sums over the samples of fractions by weight
    std::vector<double> ranks_;      ///< by rank of the label among the classes: the same sums
    std::vector<Mean> average_precision_, roc_auc_;  ///< by class, over samples
    std::vector<double> accuracies_;
    double cross_entropy_ = 0;
};

}  // namespace surrogate::tool
