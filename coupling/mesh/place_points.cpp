// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "coupling/mesh/placement.hpp"
#include "coupling/mesh/shared_rows.hpp"

namespace surrogate::tool {

namespace {

RowKeys read_keys(const Job& job, const vtk::MeshFile& mesh, const FieldPlan& plan) {
    RowKeys keys;
    job.agree([&] {
        keys.x = mesh.positions(plan.location);
        for (const FieldSource& source : plan.sources())
            keys.values.push_back(mesh.values(plan.location, source.array.name, source.component));
        keys.ids = mesh.global_ids(plan.location);
        keys.is_ghost = mesh.is_ghost(plan.location);
        keys.is_hidden = mesh.is_hidden(plan.location);
    });
    const int64_t n = mesh.n_rows(plan.location);
    keys.is_ghost.resize(static_cast<size_t>(n));
    keys.is_hidden.resize(static_cast<size_t>(n));
    // Ids on only some pieces cannot identify points of the other pieces.
    const bool lacks_ids = n > 0 && keys.ids.empty();
    keys.has_ids = job.max(int64_t{lacks_ids ? 1 : 0}) == 0;
    return keys;
}

/// Scattered points with ids, or without: ids_ is empty.
class Scattered : public Placement {
public:
    Domain make_domain(const Context& context, const std::vector<double>& x, int64_t n_axis,
                       const double* weights, const int64_t* clouds) const override {
        return Domain(context, points(x, n_axis, weights, clouds));
    }
    bool can_move() const override { return true; }
    bool has_ids() const override { return has_ids_; }
    void move(Domain& domain, const std::vector<double>& x, int64_t n_axis, const double* weights,
              const int64_t* clouds) const override {
        domain.update_points(points(x, n_axis, weights, clouds));
    }

protected:
    bool has_ids_ = false;
    std::vector<int64_t> ids_;  ///< [n] or empty

private:
    surrogate_points points(const std::vector<double>& x, int64_t n_axis, const double* weights,
                            const int64_t* clouds) const {
        const auto n = static_cast<int64_t>(chosen_.size());
        return {matrix(x.data(), n, n_axis), has_ids_ ? ids_.data() : nullptr, clouds, weights};
    }
};

class Points final : public Scattered {
public:
    Points(const Job& job, const RowKeys& keys, int64_t n) : rows_(job, keys, n) {
        has_ids_ = keys.has_ids;
        chosen_ = rows_.chosen();
        for (const int64_t row : chosen_) {
            if (has_ids_) ids_.push_back(keys.ids[static_cast<size_t>(row)]);
        }
        ids_.reserve(1);  // a rank without points still reports that points have ids
    }
    std::vector<double> spread(const Job& job,
                               const std::vector<double>& of_chosen) const override {
        return rows_.spread(job, of_chosen);
    }
    int64_t n_split() const override { return rows_.n_split(); }

private:
    SharedRows rows_;
};

class Both final : public Scattered {
public:
    Both(const Placement& first, const Placement& second) {
        for (const Placement* one : {&first, &second})
            chosen_.insert(chosen_.end(), one->chosen().begin(), one->chosen().end());
    }
    std::vector<double> spread(const Job&, const std::vector<double>&) const override {
        throw Failure(Exit::bad_usage, "results of two meshes are spread by their own placements");
    }
};

}  // namespace

void Placement::move(Domain&, const std::vector<double>&, int64_t, const double*,
                     const int64_t*) const {
    throw Failure(Exit::bad_usage, "the domain of a grid does not move");
}

std::unique_ptr<Placement> place_both(const Placement& first, const Placement& second) {
    return std::make_unique<Both>(first, second);
}

std::unique_ptr<Placement> place_points(const Job& job, const vtk::MeshFile& mesh,
                                        const FieldPlan& plan) {
    return std::make_unique<Points>(job, read_keys(job, mesh, plan), mesh.n_rows(plan.location));
}

}  // namespace surrogate::tool
