// SPDX-License-Identifier: Apache-2.0
#include "transform.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

namespace shallow_water {

namespace {

/// Returns the sum of a[k] b[k] in eight interleaved partial sums joined in a fixed order: bitwise
/// identical at every vector width.
double dot(const double* a, const double* b, int64_t n) {
    double part[8] = {};
    int64_t k = 0;
    for (; k + 8 <= n; k += 8)
        for (int j = 0; j < 8; ++j) part[j] += a[k + j] * b[k + j];
    for (int j = 0; k < n; ++k, ++j) part[j] += a[k] * b[k];
    return ((part[0] + part[4]) + (part[2] + part[6])) +
           ((part[1] + part[5]) + (part[3] + part[7]));
}

/// Adds y[k] += a x[k].
void add_scaled(double a, const double* x, double* y, int64_t n) {
    for (int64_t k = 0; k < n; ++k) y[k] += a * x[k];
}

std::vector<double> vector_factors(int64_t n_degree, bool official_rounding) {
    std::vector<double> factor{1};
    for (int64_t l = 1; l < n_degree; ++l) {
        const float rounded = 1 / float(l) / float(l + 1);
        factor.push_back(official_rounding ? double(rounded) : 1 / double(l * (l + 1)));
    }
    return factor;
}

int checked_count(int64_t n) {
    if (n > std::numeric_limits<int>::max())
        throw std::length_error("a message of " + std::to_string(n) +
                                " numbers is too long for MPI; use more ranks");
    return static_cast<int>(n);
}

std::size_t offsets(const std::vector<int>& count, std::vector<std::size_t>* at) {
    std::size_t sum = 0;
    at->clear();
    for (const int n : count) {
        at->push_back(sum);
        sum += static_cast<std::size_t>(n);
    }
    return sum;
}

Complex* as_complex(double* pairs) {
    return reinterpret_cast<Complex*>(pairs);  // std::complex<double> is two doubles
}

}  // namespace

Transform::Transform(const Layout& layout, bool official_rounding)
    : layout_(layout),
      latitudes_(layout.resolution().n_lat),
      tables_(order_tables(latitudes_, layout.resolution().n_degree, layout.orders())),
      vector_factor_(vector_factors(layout.resolution().n_degree, official_rounding)),
      fourier_(layout.resolution().n_lon) {}

int64_t Transform::n_coefficient() const {
    return static_cast<int64_t>(layout_.orders().size()) * layout_.resolution().n_degree;
}

void Transform::size_buffers(int64_t n_field) {
    n_rows_.clear();
    n_orders_.clear();
    for (int r = 0; r < layout_.size(); ++r) {
        const auto theirs = static_cast<int64_t>(layout_.orders(r).size());
        const auto mine = static_cast<int64_t>(layout_.orders().size());
        n_rows_.push_back(checked_count(2 * theirs * n_field * layout_.n_row()));
        n_orders_.push_back(checked_count(2 * mine * n_field * layout_.n_row(r)));
    }
    rows_.resize(offsets(n_rows_, &at_rows_));
    orders_.resize(offsets(n_orders_, &at_orders_));
    columns_.resize(static_cast<std::size_t>(2 * n_field * layout_.resolution().n_lat));
}

void Transform::exchange(const std::vector<double>& send, const std::vector<int>& n_send,
                         std::vector<double>* receive, const std::vector<int>& n_receive) const {
    std::vector<int> from, to;
    int sent = 0, received = 0;
    for (std::size_t r = 0; r < n_send.size(); ++r) {
        from.push_back(sent);
        to.push_back(received);
        sent = checked_count(int64_t(sent) + n_send[r]);
        received = checked_count(int64_t(received) + n_receive[r]);
    }
    MPI_Alltoallv(send.data(), n_send.data(), from.data(), MPI_DOUBLE, receive->data(),
                  n_receive.data(), to.data(), MPI_DOUBLE, layout_.comm());
}

/// Returns the values of one order (counted in the rank's list) and field at this rank's rows.
Complex* Transform::piece_of_rows(int rank, int64_t order, int64_t field, int64_t n_field) {
    double* first = rows_.data() + at_rows_[static_cast<std::size_t>(rank)];
    return as_complex(first) + (order * n_field + field) * layout_.n_row();
}

/// Returns the values of one order (counted in this rank's list) and field at the rows of `rank`.
Complex* Transform::piece_of_orders(int rank, int64_t order, int64_t field, int64_t n_field) {
    double* first = orders_.data() + at_orders_[static_cast<std::size_t>(rank)];
    return as_complex(first) + (order * n_field + field) * layout_.n_row(rank);
}

double* Transform::column(int64_t field, int part) {
    return columns_.data() + (2 * field + part) * layout_.resolution().n_lat;
}

void Transform::to_coefficients(Batch batch, const double* grid, Complex* coefficients) {
    const int64_t n_field = batch.n_field(), n_row = layout_.n_row();
    const int64_t n_lon = layout_.resolution().n_lon;
    size_buffers(n_field);
    for (int64_t f = 0; f < n_field; ++f)
        for (int64_t k = 0; k < n_row; ++k) {
            std::copy_n(grid + (f * n_row + k) * n_lon, n_lon, fourier_.row());
            fourier_.analyse();
            for (int r = 0; r < layout_.size(); ++r) {
                const std::vector<int64_t>& orders = layout_.orders(r);
                for (std::size_t i = 0; i < orders.size(); ++i)
                    piece_of_rows(r, int64_t(i), f, n_field)[k] = fourier_.orders()[orders[i]];
            }
        }
    exchange(rows_, n_rows_, &orders_, n_orders_);
    for (std::size_t i = 0; i < tables_.size(); ++i) {
        load_columns(i, batch);
        analyse_column(i, batch, coefficients);
    }
}

void Transform::to_grid(Batch batch, const Complex* coefficients, double* grid) {
    const int64_t n_field = batch.n_field(), n_row = layout_.n_row();
    const int64_t n_lon = layout_.resolution().n_lon;
    size_buffers(n_field);
    for (std::size_t i = 0; i < tables_.size(); ++i) {
        synthesise_column(i, batch, coefficients);
        store_columns(i, batch);
    }
    exchange(orders_, n_orders_, &rows_, n_rows_);
    for (int64_t f = 0; f < n_field; ++f)
        for (int64_t k = 0; k < n_row; ++k) {
            std::fill_n(fourier_.orders(), n_lon / 2 + 1, Complex(0));
            for (int r = 0; r < layout_.size(); ++r) {
                const std::vector<int64_t>& orders = layout_.orders(r);
                for (std::size_t i = 0; i < orders.size(); ++i)
                    fourier_.orders()[orders[i]] = piece_of_rows(r, int64_t(i), f, n_field)[k];
            }
            fourier_.synthesise();
            std::copy_n(fourier_.row(), n_lon, grid + (f * n_row + k) * n_lon);
        }
}

/// Loads the columns of one order, of all ranks' rows, multiplied by the weights of quadrature.
void Transform::load_columns(std::size_t order, Batch batch) {
    const int64_t n_field = batch.n_field();
    for (int64_t f = 0; f < n_field; ++f)
        for (int r = 0; r < layout_.size(); ++r) {
            const Complex* piece = piece_of_orders(r, int64_t(order), f, n_field);
            const int64_t first = layout_.first_row(r);
            for (int64_t k = 0; k < layout_.n_row(r); ++k) {
                const double weight = latitudes_.weight[static_cast<std::size_t>(first + k)];
                column(f, 0)[first + k] = weight * piece[k].real();
                column(f, 1)[first + k] = weight * piece[k].imag();
            }
        }
}

void Transform::store_columns(std::size_t order, Batch batch) {
    const int64_t n_field = batch.n_field();
    for (int64_t f = 0; f < n_field; ++f)
        for (int r = 0; r < layout_.size(); ++r) {
            Complex* piece = piece_of_orders(r, int64_t(order), f, n_field);
            const int64_t first = layout_.first_row(r);
            for (int64_t k = 0; k < layout_.n_row(r); ++k)
                piece[k] = {column(f, 0)[first + k], column(f, 1)[first + k]};
        }
}

void Transform::analyse_column(std::size_t order, Batch batch, Complex* coefficients) {
    const int64_t n_degree = layout_.resolution().n_degree, n_lat = layout_.resolution().n_lat;
    const int64_t m = layout_.orders()[order];
    const auto of = [&](int64_t f) {
        return coefficients + f * n_coefficient() + int64_t(order) * n_degree;
    };
    for (int64_t f = 0; f < batch.n_field(); ++f) std::fill_n(of(f), m, Complex(0));
    for (int64_t l = m; l < n_degree; ++l) {
        const double* p = tables_[order].p.data() + l * n_lat;
        const double* d0 = tables_[order].d0.data() + l * n_lat;
        const double* d1 = tables_[order].d1.data() + l * n_lat;
        for (int64_t f = 0; f < batch.n_scalar; ++f)
            of(f)[l] = {dot(p, column(f, 0), n_lat), dot(p, column(f, 1), n_lat)};
        for (int64_t f = batch.n_scalar; f < batch.n_field(); f += 2) {
            const double *re0 = column(f, 0), *im0 = column(f, 1);
            const double *re1 = column(f + 1, 0), *im1 = column(f + 1, 1);
            const double factor = vector_factor_[static_cast<std::size_t>(l)];
            // s = D0 V0 - i D1 V1,   t = -i D1 V0 - D0 V1
            of(f)[l] = factor * Complex(dot(d0, re0, n_lat) + dot(d1, im1, n_lat),
                                        dot(d0, im0, n_lat) - dot(d1, re1, n_lat));
            of(f + 1)[l] = factor * Complex(dot(d1, im0, n_lat) - dot(d0, re1, n_lat),
                                            -dot(d1, re0, n_lat) - dot(d0, im1, n_lat));
        }
    }
}

void Transform::synthesise_column(std::size_t order, Batch batch, const Complex* coefficients) {
    const int64_t n_degree = layout_.resolution().n_degree, n_lat = layout_.resolution().n_lat;
    const auto of = [&](int64_t f) {
        return coefficients + f * n_coefficient() + int64_t(order) * n_degree;
    };
    std::fill(columns_.begin(), columns_.end(), 0.0);
    for (int64_t l = layout_.orders()[order]; l < n_degree; ++l) {
        const double* p = tables_[order].p.data() + l * n_lat;
        const double* d0 = tables_[order].d0.data() + l * n_lat;
        const double* d1 = tables_[order].d1.data() + l * n_lat;
        for (int64_t f = 0; f < batch.n_scalar; ++f) {
            add_scaled(of(f)[l].real(), p, column(f, 0), n_lat);
            add_scaled(of(f)[l].imag(), p, column(f, 1), n_lat);
        }
        for (int64_t f = batch.n_scalar; f < batch.n_field(); f += 2) {
            const Complex s = of(f)[l], t = of(f + 1)[l];
            // V0 = s D0 + i t D1,   V1 = i s D1 - t D0
            add_scaled(s.real(), d0, column(f, 0), n_lat);
            add_scaled(s.imag(), d0, column(f, 1), n_lat);
            add_scaled(-t.imag(), d1, column(f, 0), n_lat);
            add_scaled(t.real(), d1, column(f, 1), n_lat);
            add_scaled(-s.imag(), d1, column(f + 1, 0), n_lat);
            add_scaled(s.real(), d1, column(f + 1, 1), n_lat);
            add_scaled(-t.real(), d0, column(f + 1, 0), n_lat);
            add_scaled(-t.imag(), d0, column(f + 1, 1), n_lat);
        }
    }
}

}  // namespace shallow_water
