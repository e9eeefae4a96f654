// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <surrogate/surrogate_dataset.hpp>
#include <surrogate/surrogate_mpi.hpp>
#include <vector>

#include "tests/support/answer.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/shared_folder.hpp"

namespace surrogate::test {

/// Any number, by where it belongs.
inline double number(int64_t field, int64_t sample, int64_t point) {
    return std::sin(static_cast<double>(field + 10 * sample + 1000 * point));
}

/// Points with ids, in any partition; a data set of two fields, float and double.
class PointSamples {
public:
    static constexpr int64_t n_sample = 3;

    PointSamples(MPI_Comm comm, const char* partition, int64_t n_point)
        : n_point_(n_point),
          context(mpi_context(comm)),
          points_(own_rows(partition, n_point, comm)),
          x_(x()),
          domain(make_domain()) {
        for (int64_t s = 0; s < n_sample; ++s) {
            pressure_.push_back(values<double>(0, s));
            height_.push_back(values<float>(1, s));
        }
    }

    /// Returns the call result, which is the same on every rank.
    void describe(NewDataset* set) const {
        set->set("title", "samples");
        set->add_axis("sample", n_sample);
        set->add_axis("point", n_point_);
        set->add("x", {"point"}, "m", nullptr, SURROGATE_FLOAT64, "X");
        set->add("pressure", {"sample", "point"}, "Pa", "pressure of the fluid");
        set->add("height", {"sample", "point"}, "m", nullptr, SURROGATE_FLOAT32);
    }
    /// All numbers of a file that has begun.
    void write(NewDataset* set) const {
        set->set_points(domain);
        set->write("x", 0, column(x_.data(), std::ssize(x_)));
        for (int64_t s = 0; s < n_sample; ++s) {
            const auto& p = pressure_[static_cast<size_t>(s)];
            const auto& h = height_[static_cast<size_t>(s)];
            set->write("pressure", s * n_point_, column(p.data(), std::ssize(p)));
            set->write("height", s * n_point_, column(h.data(), std::ssize(h)));
        }
    }
    Answer save(const std::string& path) const {
        try {
            NewDataset set(context, path);
            context.agree(described(&set));  // a rank may lack memory for its texts
            set.begin();
            write(&set);
            set.finish();
        } catch (const Error& error) {
            return {error.status(), surrogate_error(nullptr)};
        }
        return {};
    }

    template <class T>
    std::vector<T> values(int64_t field, int64_t sample) const {
        std::vector<T> values;
        for (const int64_t point : points_)
            values.push_back(static_cast<T>(number(field, sample, point)));
        return values;
    }
    std::vector<double> x() const {
        std::vector<double> x;
        for (const int64_t point : points_) x.push_back(static_cast<double>(point) / 8);
        return x;
    }

private:
    surrogate_status described(NewDataset* set) const {
        try {
            describe(set);
        } catch (const Error& error) {
            return error.status();
        } catch (const std::bad_alloc&) {
            return surrogate_context_fail(context.get(), SURROGATE_NO_MEMORY, "out of memory");
        }
        return SURROGATE_SUCCESS;
    }

    Domain make_domain() const {
        const std::vector<double> place = x();
        return Domain(context, matrix(place.data(), std::ssize(place), 1), points_.data());
    }

    int64_t n_point_;

public:
    const Context context;

private:
    std::vector<int64_t> points_;
    std::vector<double> x_;
    std::vector<std::vector<double>> pressure_;
    std::vector<std::vector<float>> height_;

public:
    const Domain domain;
};

}  // namespace surrogate::test
