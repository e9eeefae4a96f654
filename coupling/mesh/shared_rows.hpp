// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "coupling/job/job.hpp"

namespace surrogate::tool {

/// Identity of a row (point or cell of a mesh file, on any rank): two rows are the same one.
struct RowKeys {
    /// With ids, equal ids are one row. Without: equal coordinates and equal `values`; a ghost
    /// needs equal coordinates only. Points that coincide but hold different values (both sides of
    /// a jump) stay two points.
    bool has_ids = false;
    std::vector<int64_t> ids;                 ///< [n]
    std::vector<double> x;                    ///< [n][3]
    std::vector<std::vector<double>> values;  ///< input fields, each [n]
    std::vector<uint8_t> is_ghost;   ///< [n] a copy: never chosen while the original is in the job
    std::vector<uint8_t> is_hidden;  ///< [n] not part of the mesh: no row at all
};

/// Finds, over all ranks, which rows are the same, and chooses one of each: whatever is not chosen
/// gets the chosen row's results. Thus a point counts once, however a file is cut. The choice: the
/// lowest rank, there the first row. Memory: about 100 bytes a row; every rank looks after an
/// equal, hashed share of the keys.
class SharedRows {
public:
    /// Collective. n = number of local rows.
    SharedRows(const Job& job, const RowKeys& keys, int64_t n);

    /// Chosen local rows, ascending.
    const std::vector<int64_t>& chosen() const { return chosen_; }

    /// Rows, over all ranks, that lie at the coordinates of another but hold other values (without
    /// ids).
    int64_t n_split() const { return n_split_; }

    /// of_chosen [chosen().size()] -> all local rows [n]; NaN in hidden ones. Collective.
    std::vector<double> spread(const Job& job, const std::vector<double>& of_chosen) const;

private:
    struct Choice {  ///< the index-th row that `rank` sent to a keeper
        int64_t rank, index;
    };
    class Keeper;
    using Lists = std::vector<std::vector<int64_t>>;  ///< [rank]

    void settle(const Job& job, const Lists& sent_rows,
                const std::vector<std::vector<Choice>>& answers);

    int64_t n_ = 0, n_split_ = 0;
    std::vector<int64_t> chosen_;
    Lists wanted_;  ///< [rank] local rows that rank's results are for
    Lists given_;   ///< [rank] positions in chosen() that rank asks for
};

}  // namespace surrogate::tool
