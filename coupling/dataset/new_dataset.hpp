// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <surrogate/surrogate.hpp>
#include <vector>

#include "coupling/dataset/content.hpp"
#include "coupling/error/problem.hpp"
#include "coupling/file/new_file.hpp"
#include "coupling/hdf5/disk_file.hpp"

namespace surrogate::dataset {

/// Writes a data set; see surrogate_dataset.h. Functions throw Error or KeptFailure (error.hpp);
/// collective functions on all ranks.
class NewDataset {
public:
    NewDataset(surrogate_context* context, const std::string& path);

    surrogate_context* context() const { return context_; }

    /// Returns the description of the file for changes. Throws after begin().
    Content& description();

    void begin();
    void set_points(const surrogate_domain* domain);
    void write(const char* name, int64_t first, const surrogate_array* array);
    void put(const char* name, int64_t first, const surrogate_array* array);
    void finish();

private:
    /// The points of the domain that was set last.
    struct Points {
        detail::Owner<surrogate_ordering, surrogate_ordering_destroy> order;
        int64_t n_local = 0, n_global = 0;
        int64_t first = 0, n = 0;  ///< this rank's range of the order
    };

    void compare_ranks();
    void make_file();
    void open_file();
    void require_open() const;
    /// Throws unless the file is open for numbers first .. first + n - 1 of the variable.
    const Variable& checked(const char* name, int64_t first, int64_t n) const;
    void write_numbers(const Variable& variable, int64_t first, int64_t n, const std::byte* bytes);
    /// Returns "" if every number was written once, and otherwise an error text.
    std::string missing(const std::vector<double>& n_written) const;
    void commit();

    surrogate_context* context_;
    std::string path_, temporary_;
    int32_t rank_ = 0;
    Content content_;
    bool is_open_ = false, is_finished_ = false;
    std::optional<file::NewFile> file_;  ///< on rank 0; deleted unless it is committed
    std::optional<h5::DiskFile> disk_;
    std::optional<Points> points_;
    std::vector<std::byte> local_, ordered_;
    std::vector<double> n_written_;  ///< numbers of each variable that this rank has written
    coupling::Problem problem_;      ///< this rank's first failed write
};

}  // namespace surrogate::dataset
