// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/train/optimizer.hpp"

#include <algorithm>
#include <cmath>

namespace surrogate::impl {

namespace {

constexpr int64_t piece_size = 4096;
constexpr int64_t n_lane = 16;

/// Computes the power by squaring; bitwise identical on every machine.
double power(double base, int64_t exponent) {
    double result = 1;
    for (; exponent > 0; exponent >>= 1, base *= base) {
        if (exponent & 1) result *= base;
    }
    return result;
}

/// Scales numbers, and adds up their squares in n_lane lanes.
double scale_piece(double* numbers, int64_t n, double factor) {
    double lanes[n_lane] = {};
    int64_t i = 0;
    for (; i + n_lane <= n; i += n_lane) {
        for (int64_t lane = 0; lane < n_lane; ++lane) {
            const double number = numbers[i + lane] * factor;
            numbers[i + lane] = number;
            lanes[lane] += number * number;
        }
    }
    for (int64_t lane = 0; i < n; ++i, ++lane) {
        numbers[i] *= factor;
        lanes[lane] += numbers[i] * numbers[i];
    }
    double sum = 0;
    for (const double lane : lanes) sum += lane;
    return sum;
}

}  // namespace

bool decays(const MasterWeights::Entry& entry) {
    const std::string& name = entry.name;
    const auto has = [&](const char* part) { return name.find(part) != name.npos; };
    const bool is_weight = name.ends_with("weight");
    if (name.ends_with("bias") || has("embed") || has("cls_token")) return false;
    return !is_weight || (entry.shape.size() > 1 && !has("emb."));
}

Optimizer::Optimizer(MasterWeights& master, const Recipe& recipe, const kernels::Queue& queue,
                     std::span<const std::string> fixed)
    : master_(master), recipe_(recipe), queue_(queue), first_(std::ssize(master.values())) {
    if (recipe.optimizer != OptimizerKind::sgd)
        second_ = kernels::Buffer<double>(std::ssize(master.values()));
    const std::span<const double> precise = master_.precise();
    if (recipe_.ema_decay > 0) {
        average_ = kernels::Buffer<double>(std::ssize(precise));
        std::ranges::copy(precise, average_.begin());
    }
    for (const MasterWeights::Entry& entry : master_.entries()) {
        if (std::ranges::find(fixed, entry.name) != fixed.end()) continue;
        const bool is_decayed = recipe_.decays_all || decays(entry);
        for (int64_t done = 0; done < entry.size; done += piece_size)
            pieces_.push_back(
                {entry.first + done, std::min(piece_size, entry.size - done), is_decayed});
    }
    squares_ = kernels::Buffer<double>(std::ssize(pieces_));
}

double Optimizer::scale(std::span<double> gradients, double factor) const {
    queue_.parallel_for(std::ssize(pieces_), [&](int64_t i, int) {
        const Piece& piece = pieces_[static_cast<size_t>(i)];
        squares_[i] = scale_piece(gradients.data() + piece.first, piece.size, factor);
    });
    double sum = 0;
    for (const double square : squares_) sum += square;
    return std::sqrt(sum);
}

void Optimizer::step_adam(const Piece& piece, const double* gradients, const Factors& factors,
                          const Rate& rate) {
    const bool adds_decay = recipe_.optimizer == OptimizerKind::adam;
    const double decay = piece.decays ? recipe_.weight_decay : 0;
    const double kept = adds_decay ? 1 : 1 - rate.learning_rate * decay;
    const double added = adds_decay ? decay : 0;
    double* const p = master_.precise().data() + piece.first;
    double* const m = first_.data() + piece.first;
    double* const v = second_.data() + piece.first;
    const double* const from = gradients + piece.first;
    for (int64_t i = 0; i < piece.size; ++i) {
        const double g = from[i] * factors.gradient + added * p[i];
        m[i] += factors.first_rest * (g - m[i]);
        v[i] = recipe_.beta2 * v[i] + factors.second_rest * (g * g);
        const double size = std::sqrt(v[i]) / factors.second_root + recipe_.epsilon;
        p[i] = p[i] * kept - factors.step * (m[i] / size);
    }
}

void Optimizer::step_sgd(const Piece& piece, const double* gradients, const Factors& factors,
                         const Rate& rate) {
    const double decay = piece.decays ? recipe_.weight_decay : 0;
    double* const p = master_.precise().data() + piece.first;
    double* const m = first_.data() + piece.first;
    const double* const from = gradients + piece.first;
    for (int64_t i = 0; i < piece.size; ++i) {
        const double g = from[i] * factors.gradient + decay * p[i];
        m[i] = rate.beta1 * m[i] + g;
        p[i] -= rate.learning_rate * (recipe_.is_nesterov ? g + rate.beta1 * m[i] : m[i]);
    }
}

void Optimizer::step_piece(const Piece& piece, const double* gradients, const Factors& factors,
                           const Rate& rate) {
    if (recipe_.optimizer == OptimizerKind::sgd)
        step_sgd(piece, gradients, factors, rate);
    else
        step_adam(piece, gradients, factors, rate);
    if (average_.size() == 0) return;
    const double* const p = master_.precise().data() + piece.first;
    double* const average = average_.data() + piece.first;
    const double rest = 1 - recipe_.ema_decay;
    for (int64_t i = 0; i < piece.size; ++i)
        average[i] = recipe_.ema_decay * average[i] + rest * p[i];
}

void Optimizer::step(std::span<const double> gradients, double norm, const Rate& rate) {
    ++n_step_;
    Factors factors{};
    factors.gradient =
        recipe_.max_grad_norm > 0 ? std::min(1.0, recipe_.max_grad_norm / (norm + 1e-6)) : 1;
    factors.first_rest = 1 - rate.beta1;
    factors.second_rest = 1 - recipe_.beta2;
    factors.step = rate.learning_rate / (1 - power(rate.beta1, n_step_));
    factors.second_root = std::sqrt(1 - power(recipe_.beta2, n_step_));
    queue_.parallel_for(std::ssize(pieces_), [&](int64_t i, int) {
        step_piece(pieces_[static_cast<size_t>(i)], gradients.data(), factors, rate);
    });
}

int64_t Optimizer::bytes() const {
    return first_.bytes() + second_.bytes() + average_.bytes() + squares_.bytes() +
           std::ssize(master_.precise()) * 8;
}

}  // namespace surrogate::impl
