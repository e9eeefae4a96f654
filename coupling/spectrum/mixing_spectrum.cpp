// SPDX-License-Identifier: Apache-2.0
#include "coupling/spectrum/mixing_spectrum.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>

#include "coupling/job/text.hpp"

namespace surrogate::tool {

namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr int64_t chunk_points = 1024;

/// Computes the sums of one head's softmaxes.
class Head {
public:
    Head(const FlareKeys& block, const FlareShape& shape, int64_t head, const MatrixXd& keys)
        : queries_(block.queries(head)),
          keys_(keys.middleRows(head * shape.head_dim(), shape.head_dim())) {}

    /// Calls work with the scores (latents, points) of one chunk after the other.
    template <class Work>
    void for_scores(const Work& work) const {
        for (int64_t first = 0; first < keys_.cols(); first += chunk_points) {
            const int64_t n = std::min(chunk_points, keys_.cols() - first);
            const MatrixXd scores = queries_ * keys_.middleCols(first, n);
            work(scores);
        }
    }

    VectorXd maxima() const {
        VectorXd maxima =
            VectorXd::Constant(queries_.rows(), -std::numeric_limits<double>::infinity());
        for_scores(
            [&](const MatrixXd& scores) { maxima = maxima.cwiseMax(scores.rowwise().maxCoeff()); });
        return maxima;
    }

    /// Returns sums of exp(S - maxima) over this rank's points.
    VectorXd sums(const VectorXd& maxima) const {
        VectorXd sums = VectorXd::Zero(queries_.rows());
        for_scores([&](const MatrixXd& scores) {
            sums += (scores.colwise() - maxima).array().exp().rowwise().sum().matrix();
        });
        return sums;
    }

    /// Returns this rank's part of T. S <= Lm and S <= Ln, so no exponent is above 0.
    MatrixXd product(const VectorXd& log_of_points) const {
        MatrixXd product = MatrixXd::Zero(queries_.rows(), queries_.rows());
        for_scores([&](const MatrixXd& scores) {
            const Eigen::RowVectorXd top = scores.colwise().maxCoeff();
            const Eigen::RowVectorXd log_of_latents =
                ((scores.rowwise() - top).array().exp().colwise().sum().log()).matrix() + top;
            const MatrixXd j =
                ((scores.colwise() - 0.5 * log_of_points).rowwise() - 0.5 * log_of_latents)
                    .array()
                    .exp();
            product.noalias() += j * j.transpose();
        });
        return product;
    }

private:
    MatrixXd queries_, keys_;
};

/// Returns the eigenvalues, descending. T is positive semidefinite, so negative values are rounding
/// errors.
std::vector<double> eigenvalues_of(const MatrixXd& t) {
    const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(t, Eigen::EigenvaluesOnly);
    if (solver.info() != Eigen::Success)
        throw Failure(Exit::not_passed, "spectrum: the eigenvalue solver did not converge");
    std::vector<double> values(solver.eigenvalues().data(),
                               solver.eigenvalues().data() + solver.eigenvalues().size());
    std::reverse(values.begin(), values.end());
    for (double& value : values) value = std::max(value, 0.0);
    return values;
}

void check_largest(const std::vector<double>& values, int64_t head) {
    if (std::abs(values.front() - 1) <= 1e-9) return;
    throw Failure(Exit::not_passed, "spectrum: the largest eigenvalue of head " +
                                        std::to_string(head) + " is " + number(values.front()) +
                                        "; it is 1 for any weights: some of them, or the "
                                        "inputs, are not finite or too large");
}

/// Reduces the columns of one matrix, one after the other.
void reduce(const Context& context, int32_t op, MatrixXd& values) {
    context.reduce(op, values.size(), values.data());
}

}  // namespace

std::vector<std::vector<double>> mixing_spectrum(const Job& job, const Context& context,
                                                 const FlareKeys& block, const FlareShape& shape,
                                                 const MatrixXd& keys) {
    const int64_t n_head = shape.num_heads, n = shape.num_latents;
    std::vector<Head> heads;
    for (int64_t h = 0; h < n_head; ++h) heads.emplace_back(block, shape, h, keys);
    MatrixXd maxima(n, n_head), sums(n, n_head), products(n, n * n_head);
    for (int64_t h = 0; h < n_head; ++h) maxima.col(h) = heads[size_t(h)].maxima();
    reduce(context, SURROGATE_MAX, maxima);
    for (int64_t h = 0; h < n_head; ++h) sums.col(h) = heads[size_t(h)].sums(maxima.col(h));
    reduce(context, SURROGATE_SUM, sums);
    const MatrixXd logs = maxima.array() + sums.array().log();
    for (int64_t h = 0; h < n_head; ++h)
        products.middleCols(h * n, n) = heads[size_t(h)].product(logs.col(h));
    reduce(context, SURROGATE_SUM, products);

    std::vector<double> mine;
    job.agree([&] {
        for (int64_t h = job.rank(); h < n_head; h += job.size()) {
            const auto values = eigenvalues_of(products.middleCols(h * n, n));
            check_largest(values, h);
            mine.insert(mine.end(), values.begin(), values.end());
        }
    });
    const std::vector<double> all = job.gather(mine);
    std::vector<std::vector<double>> spectrum(all.empty() ? 0 : static_cast<size_t>(n_head));
    auto next = all.begin();
    for (int rank = 0; rank < job.size() && !all.empty(); ++rank)
        for (int64_t h = rank; h < n_head; h += job.size(), next += n)
            spectrum[static_cast<size_t>(h)].assign(next, next + n);
    return spectrum;
}

double effective_rank(const std::vector<double>& eigenvalues) {
    double sum = 0, entropy = 0;
    for (const double w : eigenvalues) sum += w;
    for (const double w : eigenvalues)
        if (w > 0) entropy -= w / sum * std::log(w / sum);
    return std::exp(entropy);
}

}  // namespace surrogate::tool
