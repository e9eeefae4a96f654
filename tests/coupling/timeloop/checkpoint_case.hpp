// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <string>
#include <surrogate/surrogate_mpi.hpp>
#include <vector>

#include "coupling/timeloop/checkpoint.hpp"
#include "coupling/timeloop/error.hpp"
#include "tests/support/answer.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/shared_folder.hpp"
#include "tests/support/small_darcy_model.hpp"
#include "tests/support/sphere_case.hpp"
#include "tests/support/sphere_models.hpp"

namespace surrogate::test {

using timeloop::Snapshot;
using timeloop::StateField;

/// Numbers of points, each of which depends on the point alone.
template <class T>
StateField field_of(const std::string& name, const std::string& unit,
                    const std::vector<int64_t>& points, int64_t n_component, bool at_output) {
    std::vector<T> values;
    for (const int64_t point : points)
        for (int64_t c = 0; c < n_component; ++c)
            values.push_back(static_cast<T>(std::sin(static_cast<double>(point * n_component + c)) *
                                            std::exp2(c * 30 - 60)));
    StateField field;
    field.name = name;
    field.unit = unit;
    field.dtype = sizeof(T) == 4 ? SURROGATE_FLOAT32 : SURROGATE_FLOAT64;
    field.n_component = n_component;
    field.at_output = at_output;
    field.values.resize(values.size() * sizeof(T));
    if (!values.empty()) std::memcpy(field.values.data(), values.data(), field.values.size());
    return field;
}

/// A loop's state at awkward numbers: doubles, floats, a vector, a name with what HDF5 reads as a
/// path, integrals known and not yet known.
inline Snapshot snapshot_of(const std::vector<int64_t>& points) {
    Snapshot snapshot;
    snapshot.time_s = -1.0 / 3;
    snapshot.step = (int64_t{1} << 40) + 7;
    snapshot.n_skip = 3;
    snapshot.integrals = {{"mass", true, -0.1, 1e300}, {"energy/volume", false, 0, 0}};
    snapshot.fields = {field_of<double>("pressure", "Pa", points, 1, true),
                       field_of<float>("velocity", "m/s", points, 3, false),
                       field_of<float>("50% of a/b", "", points, 1, true)};
    return snapshot;
}

/// The same loop before anything is restored.
inline Snapshot emptied(Snapshot snapshot) {
    snapshot.time_s = 0;
    snapshot.step = snapshot.n_skip = 0;
    for (timeloop::ExpectedIntegral& integral : snapshot.integrals) integral = {integral.name};
    for (StateField& field : snapshot.fields)
        std::fill(field.values.begin(), field.values.end(), std::byte{0xff});
    return snapshot;
}

inline bool operator==(const Snapshot& a, const Snapshot& b) {
    const auto same_integrals = [](const auto& x, const auto& y) {
        return x.name == y.name && x.is_known == y.is_known && x.value == y.value &&
               x.scale == y.scale;
    };
    const auto same_fields = [](const auto& x, const auto& y) {
        return x.name == y.name && x.values == y.values;
    };
    return a.time_s == b.time_s && a.step == b.step && a.n_skip == b.n_skip &&
           std::equal(a.integrals.begin(), a.integrals.end(), b.integrals.begin(),
                      b.integrals.end(), same_integrals) &&
           std::equal(a.fields.begin(), a.fields.end(), b.fields.begin(), b.fields.end(),
                      same_fields);
}

/// Points on a line with a plan of them, on the ranks of a communicator.
class PointsLoop {
public:
    struct Kind {
        const char* partition = "scattered";
        int64_t n_point = 200;
        bool has_ids = true;
        double moved_by = 0;  ///< the last point
        int64_t first_id = 1000;
        bool is_other_model = false;  ///< one weight differs
    };

    PointsLoop(MPI_Comm comm, const Kind& kind)
        : comm_(comm),
          context(mpi_context(comm)),
          model(context, path_of_model(kind.is_other_model)),
          points(own_rows(kind.partition, kind.n_point, comm)),
          plan(model, domain(kind)),
          snapshot(snapshot_of(points)) {}

    Answer save(const std::string& path) const {
        return answer_of([&] {
            timeloop::save_checkpoint(context.get(), plan.get(), snapshot, path, &orders_);
        });
    }
    /// Into `restored`.
    Answer restore(const std::string& path) {
        restored = emptied(snapshot);
        return restore_into(path, &restored);
    }
    Answer restore_into(const std::string& path, Snapshot* into) const {
        return answer_of(
            [&] { timeloop::restore_checkpoint(context.get(), plan.get(), path, into, &orders_); });
    }
    bool is_restored() const { return restored == snapshot; }

private:
    template <class Work>
    Answer answer_of(const Work& work) const {
        return answer(timeloop::guarded(context.get(), work));
    }

    std::string path_of_model(bool is_other) const {
        if (rank_of(comm_) != 0) return "";
        const std::string path = small_darcy_model();
        if (!is_other) return path;
        std::string bytes = bytes_of(path);
        bytes.back() = static_cast<char>(bytes.back() ^ 1);  // the sign or exponent of a weight
        write_bytes(path, bytes);
        return path;
    }

    Domain domain(const Kind& kind) {
        std::vector<double> x;
        std::vector<int64_t> ids;
        for (const int64_t point : points) {
            const bool is_last = point == kind.n_point - 1;
            x.push_back(static_cast<double>(point * 37 % kind.n_point) /
                            static_cast<double>(kind.n_point) +
                        (is_last ? kind.moved_by : 0));
            ids.push_back(kind.first_id - 7 * point);
        }
        return Domain(context, matrix(x.data(), std::ssize(x), 1),
                      kind.has_ids ? ids.data() : nullptr);
    }

    MPI_Comm comm_;
    mutable timeloop::CheckpointOrders orders_;

public:
    const Context context;
    const Model model;
    const std::vector<int64_t> points;
    const Plan plan;
    Snapshot snapshot, restored;
};

}  // namespace surrogate::test
