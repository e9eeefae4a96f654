// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate.h>

#include <cstdint>
#include <surrogate/surrogate.hpp>
#include <vector>

#include "coupling/timeloop/exact_sum.hpp"
#include "coupling/timeloop/solver_array.hpp"

namespace surrogate::timeloop {

/// Holds the weight of each point of a domain: the domain's weight, on the sphere the area of the
/// point, otherwise 1.
class PointWeights {
public:
    /// Reads the weights of the domain, which must outlive the object. Collective; errors are the
    /// same on all ranks.
    PointWeights(surrogate_context* context, const surrogate_model* model, const Domain& domain,
                 bool is_output);

    /// Reads the domain again, because its points may have moved. Local.
    void refresh();

    const Placement& placement() const { return placement_; }  ///< of this rank
    int64_t n_point() const { return placement_.n_point; }
    int64_t n_global() const { return n_global_; }     ///< of all ranks
    const double* values() const { return values_; }   ///< [n_point], NULL: all are 1
    const int64_t* clouds() const { return clouds_; }  ///< [n_point], NULL: all are 0
    int64_t n_cloud() const { return n_cloud_; }

    /// Slots in a sum over the ranks, from which total() returns the sum of all weights. Weights of
    /// a domain may change.
    int64_t n_sum() const { return is_given_ ? ExactSum::n_limb : 0; }
    void write_sums(double* sums);
    double total(const double* sums) const;

private:
    void take_steps();
    void take_areas(surrogate_context* context, const surrogate_domain_info& grid);

    const Domain& domain_;
    bool is_sphere_ = false, is_given_ = false;
    std::vector<double> areas_;
    const double* values_ = nullptr;
    const int64_t* clouds_ = nullptr;
    Placement placement_;
    int64_t n_global_ = 0, n_cloud_ = 1;
    double area_ = 0;
    ExactSum sum_;
};

/// Returns the exact sum of [n] numbers of each rank, on all ranks. Collective.
double sum_over_ranks(surrogate_context* context, const double* values, int64_t n);

}  // namespace surrogate::timeloop
