// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "coupling/job/job.hpp"

namespace surrogate::tool {

/// Data that identify a row (point or cell of a mesh file, on any rank).
struct RowKeys {
    /// With ids, rows with equal ids are one row. Without ids, rows with equal coordinates and
    /// equal `values` are one row; a ghost needs only equal coordinates. Points that coincide but
    /// have different values (both sides of a jump) stay two points.
    bool has_ids = false;
    std::vector<int64_t> ids;                 ///< [n]
    std::vector<double> x;                    ///< [n][3]
    std::vector<std::vector<double>> values;  ///< input fields, each [n]
    std::vector<uint8_t> is_ghost;            ///< [n] a copy: not chosen if an original exists
    std::vector<uint8_t> is_hidden;           ///< [n] not part of the mesh: ignored
};

/// Finds equal rows over all ranks and chooses one row of each group; the other rows get the
/// results of the chosen row. A point thus counts once, independent of the partition of the file.
/// The choice is the first row of the lowest rank. Memory: about 100 bytes per row; every rank
/// processes an equal, hashed part of the keys.
class SharedRows {
public:
    /// Finds rows that several ranks have. `n` is the number of local rows. Collective.
    SharedRows(const Job& job, const RowKeys& keys, int64_t n);

    /// Returns the chosen local rows, ascending.
    const std::vector<int64_t>& chosen() const { return chosen_; }

    /// Returns the number of rows, over all ranks, that are at the coordinates of another row but
    /// have other values (without ids).
    int64_t n_split() const { return n_split_; }

    /// Sends of_chosen [chosen().size()] to all local rows [n]; NaN in hidden rows. Collective.
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
    Lists wanted_;  ///< [rank] local rows that get results of the rank
    Lists given_;   ///< [rank] positions in chosen() that the rank requests
};

}  // namespace surrogate::tool
