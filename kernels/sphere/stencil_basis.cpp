// SPDX-License-Identifier: Apache-2.0
#include "kernels/sphere/stencil_basis.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numbers>
#include <string>
#include <vector>

#include "kernels/base/error.hpp"

namespace surrogate::kernels::sphere {
namespace {

using std::numbers::pi;

double distance_on_circle(double a, double b) {
    const double d = std::abs(a - b);
    return std::min(d, std::abs(2 * pi - d));
}

/// Rings of hats in r, each split into hats in phi.
class PiecewiseLinear : public FilterBasis {
public:
    PiecewiseLinear(int64_t n_r, int64_t n_phi, double radius)
        : n_r_(n_r),
          n_phi_(n_phi),
          width_(2 * radius / static_cast<double>(n_r + 1)),
          angle_(2 * pi / static_cast<double>(n_phi)) {
        for (int64_t k = 0; k < n_r / 2 * n_phi + n_r % 2; ++k) centres_.push_back(centre_of(k));
    }

    int64_t size() const override { return static_cast<int64_t>(centres_.size()); }
    bool is_isotropic(int64_t k) const override { return n_phi_ == 1 || (n_r_ % 2 == 1 && k == 0); }
    void evaluate(double r, double phi, double* value, uint8_t* is_inside) const override {
        // An even number of rings has none in the middle: the rings around the center reach across
        // it.
        const double opposite = phi >= 0 ? phi - pi : phi + pi;
        for (int64_t k = 0; k < size(); ++k) {
            value[k] = 0;
            is_inside[k] = false;
            const Centre& centre = centres_[static_cast<size_t>(k)];
            add_hat(r, phi, centre, value[k], is_inside[k]);
            if (n_r_ % 2 == 0 && n_phi_ > 1) add_hat(-r, opposite, centre, value[k], is_inside[k]);
        }
    }

private:
    struct Centre {
        double r = 0, phi = 0;
        bool is_ring = false;
    };
    Centre centre_of(int64_t k) const {
        const int64_t is_odd = n_r_ % 2;
        if (is_odd == 1 && k == 0) return {0, 0, true};
        const int64_t ring = (k - is_odd) / n_phi_;
        const double steps = static_cast<double>(ring) + (is_odd == 1 ? 1.0 : 0.5);
        return {steps * width_, static_cast<double>((k - is_odd) % n_phi_) * angle_ - pi,
                n_phi_ == 1};
    }
    void add_hat(double r, double phi, const Centre& centre, double& value,
                 uint8_t& is_inside) const {
        const double d_r = std::abs(r - centre.r);
        const double d_phi = centre.is_ring ? 0 : distance_on_circle(phi, centre.phi);
        if (d_r > width_ || d_phi > angle_) return;
        value += (1 - d_r / width_) * (1 - d_phi / angle_);
        is_inside = true;
    }

    int64_t n_r_, n_phi_;
    double width_, angle_;
    std::vector<Centre> centres_;
};

/// Bases on the unit disk: the support of every function is the disk.
class DiskBasis : public FilterBasis {
public:
    explicit DiskBasis(double radius) : radius_(radius) {}

    void evaluate(double r, double phi, double* value, uint8_t* is_inside) const final {
        const double rho = r / radius_;
        for (int64_t k = 0; k < size(); ++k) {
            value[k] = at(k, rho, phi);
            is_inside[k] = true;
        }
    }

protected:
    virtual double at(int64_t k, double rho, double phi) const = 0;

private:
    double radius_;
};

/// Products of sines and cosines in a Hann window.
class Waves : public DiskBasis {
public:
    Waves(int64_t n_south, int64_t n_east, double radius, bool is_normalised)
        : DiskBasis(radius), n_east_(n_east), factor_(static_cast<size_t>(n_south * n_east), 1.0) {
        for (int64_t k = 0; is_normalised && k < size(); ++k)
            factor_[static_cast<size_t>(k)] = 1 / norm(k);
    }

    int64_t size() const override { return static_cast<int64_t>(factor_.size()); }
    bool is_isotropic(int64_t k) const override { return k == 0; }

protected:
    double at(int64_t k, double rho, double phi) const override {
        const double window = std::cos(pi / 2 * rho);
        return factor_[static_cast<size_t>(k)] * window * window *
               wave(k % n_east_, rho * std::sin(phi)) * wave(k / n_east_, rho * std::cos(phi));
    }

private:
    static double wave(int64_t j, double t) {
        const double phase = static_cast<double>((j + 1) / 2) * pi * t;
        return j % 2 == 1 ? std::sin(phase) : std::cos(phase);
    }
    /// Returns the norm on the unit disk, by the midpoint rule of the official code.
    double norm(int64_t k) const {
        constexpr int n_r = 50, n_phi = 200;
        double sum = 0;
        for (int i = 0; i < n_r; ++i) {
            const double rho = (i + 0.5) / n_r;
            for (int j = 0; j < n_phi; ++j) {
                const double b = at(k, rho, 2 * pi * (j + 0.5) / n_phi);
                sum += b * b * rho;
            }
        }
        return std::sqrt(sum * 2 * pi / (n_r * n_phi));
    }

    int64_t n_east_;
    std::vector<double> factor_;
};

class Zernike : public DiskBasis {
public:
    Zernike(int64_t n_max, double radius) : DiskBasis(radius) {
        for (int64_t n = 0; n < n_max; ++n)
            for (int64_t l = 0; l <= n; ++l) functions_.push_back(make(n, 2 * l - n));
    }

    int64_t size() const override { return static_cast<int64_t>(functions_.size()); }
    bool is_isotropic(int64_t k) const override {
        return functions_[static_cast<size_t>(k)].m == 0;
    }

protected:
    double at(int64_t k, double rho, double phi) const override {
        const Function& f = functions_[static_cast<size_t>(k)];
        double radial = 0;
        for (double c : f.coefficients) radial = radial * rho * rho + c;
        for (int64_t i = 0; i < std::abs(f.m); ++i) radial *= rho;
        const double angle = static_cast<double>(f.m) * phi;
        return radial * (f.m >= 0 ? std::cos(angle) : std::sin(angle));
    }

private:
    struct Function {
        int64_t m = 0;
        std::vector<double> coefficients;  ///< of rho^n, rho^(n-2), .. rho^|m|, over the norm
    };
    static double factorial(int64_t n) { return std::tgamma(static_cast<double>(n + 1)); }
    static Function make(int64_t n, int64_t signed_m) {
        const int64_t m = std::abs(signed_m);
        const double norm = std::sqrt(pi * (m == 0 ? 2.0 : 1.0) / (2 * static_cast<double>(n + 1)));
        Function f{signed_m, {}};
        for (int64_t j = 0; j <= (n - m) / 2; ++j) {
            const double size = factorial(n - j) / (factorial(j) * factorial((n + m) / 2 - j) *
                                                    factorial((n - m) / 2 - j));
            f.coefficients.push_back((j % 2 == 0 ? size : -size) / norm);
        }
        return f;
    }

    std::vector<Function> functions_;
};

/// Returns J_m(x) by the trapezoidal rule for Bessel's integral, whose integrand is even: the first
/// wrong term is J of order n - m, which is below 1e-16 for this n.
double bessel(int64_t m, double x) {
    const int64_t half = m + static_cast<int64_t>(x) + 20;  // n = 2 half
    const auto integrand = [&](int64_t j) {
        const double tau = pi * static_cast<double>(j) / static_cast<double>(half);
        return std::cos(static_cast<double>(m) * tau - x * std::sin(tau));
    };
    double sum = (integrand(0) + integrand(half)) / 2;
    for (int64_t j = 1; j < half; ++j) sum += integrand(j);
    return sum / static_cast<double>(half);
}

class FourierBessel : public DiskBasis {
public:
    FourierBessel(int64_t n_max, int64_t m_max, double radius) : DiskBasis(radius) {
        const double limit = zeros(0, n_max, 4 * static_cast<double>(n_max)).back();
        for (int64_t m = 0; m <= m_max; ++m) {
            for (double alpha : zeros(m, n_max, limit)) {
                const double norm = std::abs(bessel(m + 1, alpha)) / std::numbers::sqrt2 *
                                    std::sqrt(m == 0 ? 2 * pi : pi);
                functions_.push_back({m, alpha, 1 / norm, false});
                if (m > 0) functions_.push_back({m, alpha, 1 / norm, true});
            }
        }
        std::stable_sort(functions_.begin(), functions_.end(),
                         [](const auto& a, const auto& b) { return a.alpha < b.alpha; });
    }

    int64_t size() const override { return static_cast<int64_t>(functions_.size()); }
    bool is_isotropic(int64_t k) const override {
        return functions_[static_cast<size_t>(k)].m == 0;
    }

protected:
    double at(int64_t k, double rho, double phi) const override {
        const Function& f = functions_[static_cast<size_t>(k)];
        const double angle = static_cast<double>(f.m) * phi;
        return f.factor * bessel(f.m, f.alpha * rho) *
               (f.is_sine ? std::sin(angle) : std::cos(angle));
    }

private:
    struct Function {
        int64_t m = 0;
        double alpha = 0, factor = 1;
        bool is_sine = false;
    };
    /// Returns the first positive zeros of J_m up to a limit, at most `count`. The first zero is
    /// above m, and all distances are above 1.
    static std::vector<double> zeros(int64_t m, int64_t count, double limit) {
        std::vector<double> found;
        const double bound = limit * (1 + 1e-12);
        double before = static_cast<double>(m) + 0.5;
        while (static_cast<int64_t>(found.size()) < count && before <= bound) {
            const double next = before + 0.5;
            if ((bessel(m, before) > 0) != (bessel(m, next) > 0)) {
                const double alpha = zero_between(m, before, next);
                if (alpha <= bound) found.push_back(alpha);
            }
            before = next;
        }
        return found;
    }
    static double zero_between(int64_t m, double low, double high) {
        const bool is_positive = bessel(m, low) > 0;
        for (int step = 0; step < 60; ++step) {
            const double middle = (low + high) / 2;
            ((bessel(m, middle) > 0) == is_positive ? low : high) = middle;
        }
        return (low + high) / 2;
    }

    std::vector<Function> functions_;
};

void require(bool is_true, const Filter& filter, const char* what) {
    if (!is_true)
        throw Error(Status::invalid_argument,
                    std::string("filter shape (") + std::to_string(filter.shape[0]) + ", " +
                        std::to_string(filter.shape[1]) + ") is invalid: " + what);
}

}  // namespace

std::unique_ptr<FilterBasis> make_basis(const Filter& filter, double radius) {
    const auto [a, b] = filter.shape;
    switch (filter.basis) {
        case Basis::piecewise_linear:
            require(a >= 1 && b >= 1, filter,
                    "piecewise linear bases have at least 1 ring, 1 angle");
            return std::make_unique<PiecewiseLinear>(a, b, radius);
        case Basis::morlet:
        case Basis::harmonic:
            require(a >= 1 && b >= 1, filter, "harmonic bases have at least 1 wave each way");
            return std::make_unique<Waves>(a, b, radius, filter.basis == Basis::harmonic);
        case Basis::zernike:
            require(a >= 1, filter, "Zernike bases have at least 1 degree");
            return std::make_unique<Zernike>(a, radius);
        case Basis::fourier_bessel:
            require(a >= 1 && b >= 0, filter, "Fourier-Bessel bases have at least 1 zero");
            return std::make_unique<FourierBessel>(a, b, radius);
    }
    throw Error(Status::internal, "unhandled filter basis");
}

int64_t Filter::n_basis() const {
    return make_basis(*this, 1)->size();
}

}  // namespace surrogate::kernels::sphere
