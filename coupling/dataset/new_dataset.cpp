// SPDX-License-Identifier: Apache-2.0
#include "coupling/dataset/new_dataset.hpp"

#include <cstdint>
#include <limits>

#include "coupling/dataset/numbers.hpp"
#include "coupling/error/file_errors.hpp"
#include "coupling/error/shared_words.hpp"

namespace surrogate::dataset {

using coupling::agreed;
using coupling::fail;
using coupling::with_file;

NewDataset::NewDataset(surrogate_context* context, const std::string& path)
    : context_(context), path_(path), problem_(context) {
    int32_t n_rank = 0;
    check(surrogate_context_rank(context, &rank_, &n_rank));
}

Content& NewDataset::description() {
    if (is_open_ || is_finished_)
        fail(SURROGATE_INVALID_ARGUMENT,
             "data set '" + path_ + "' has begun; describe it before surrogate_dataset_begin");
    return content_;
}

/// Checks that all ranks describe the same file.
void NewDataset::compare_ranks() {
    uint64_t own = 0;
    coupling::SharedWords of_rank_0;
    agreed(context_, [&] {
        if (description().variables.empty())
            fail(SURROGATE_INVALID_ARGUMENT, "data set '" + path_ + "' has no variable");
        own = content_.hash(path_);
        of_rank_0.resize(1);
    });
    if (rank_ == 0) of_rank_0[0] = own;
    of_rank_0.share(context_);
    agreed(context_, [&] {
        if (of_rank_0[0] != own)
            fail(SURROGATE_INVALID_ARGUMENT, "data set '" + path_ +
                                                 "' is described differently on this rank and rank "
                                                 "0 (path, attributes, axes or variables)");
    });
}

/// Creates the HDF5 file without its numbers. Every rank lays it out in memory, rank 0 writes it to
/// disk.
void NewDataset::make_file() {
    h5::SparseFile layout;
    lay_out(&content_, &layout);
    n_written_.assign(content_.variables.size(), 0);
    temporary_ = file::temporary_of(path_);
    if (rank_ != 0) return;
    with_file([&] { file_.emplace(path_); });
    if (file_->temporary() != temporary_)
        fail(SURROGATE_IO, "'" + path_ + "' is not a regular file");
    h5::DiskFile disk(temporary_, h5::DiskFile::write_only, path_);
    layout.copy_to(&disk);
}

void NewDataset::open_file() {
    disk_.emplace(temporary_, h5::DiskFile::write_only, path_);
    disk_->require_size(content_.file_bytes);
}

void NewDataset::begin() {
    compare_ranks();
    try {
        agreed(context_, [&] { make_file(); });
        agreed(context_, [&] { open_file(); });
    } catch (...) {
        disk_.reset();
        file_.reset();
        throw;
    }
    is_open_ = true;
}

void NewDataset::set_points(const surrogate_domain* domain) {
    points_.reset();
    Points points;
    agreed(context_, [&] {
        coupling::require(domain, "domain");
        check(surrogate_domain_n_points(domain, &points.n_local, &points.n_global));
    });
    surrogate_ordering* order = nullptr;
    coupling::require_success(surrogate_ordering_create(domain, 8, &order));
    points.order.reset(order);
    agreed(context_, [&] {
        check(surrogate_ordering_range(order, &points.first, &points.n));
        local_.reserve(static_cast<size_t>(8 * points.n_local));
        ordered_.resize(static_cast<size_t>(8 * points.n));
    });
    points_ = std::move(points);
}

void NewDataset::require_open() const {
    if (is_open_) return;
    fail(SURROGATE_INVALID_ARGUMENT,
         "data set '" + path_ + "' is not open: " +
             (is_finished_ ? "it is finished" : "call surrogate_dataset_begin first"));
}

const Variable& NewDataset::checked(const char* name, int64_t first, int64_t n) const {
    coupling::require(name, "name");
    require_open();
    const Variable& variable = content_.variable(name);
    constexpr int64_t most = std::numeric_limits<int64_t>::max();
    const int64_t last = n < 1 ? first : first > most - n ? most : first + n - 1;
    if (first < 0 || n < 0 || first > variable.n_number - n)
        fail(SURROGATE_SHAPE, "numbers " + std::to_string(first) + " to " + std::to_string(last) +
                                  " of '" + variable.name + "' do not exist: it has " +
                                  std::to_string(variable.n_number));
    return variable;
}

void NewDataset::write_numbers(const Variable& variable, int64_t first, int64_t n,
                               const std::byte* bytes) {
    const auto size = static_cast<uint64_t>(variable.number_bytes());
    disk_->write(variable.offset + static_cast<uint64_t>(first) * size, bytes,
                 static_cast<size_t>(n) * size);
    n_written_[static_cast<size_t>(&variable - content_.variables.data())] +=
        static_cast<double>(n);
}

void NewDataset::write(const char* name, int64_t first, const surrogate_array* array) {
    const Variable* variable = nullptr;
    agreed(context_, [&] {
        coupling::require(array, "array");
        if (!points_)
            fail(SURROGATE_INVALID_ARGUMENT,
                 "no points: call surrogate_dataset_set_points before surrogate_dataset_write");
        variable = &checked(name, first, points_->n_global);
        check_numbers(*array, *variable, points_->n_local);
        pack(*array, *variable, first, &local_);
    });
    coupling::require_success(surrogate_ordering_to_canonical(
        points_->order.get(), variable->number_bytes(), local_.data(), ordered_.data()));
    const surrogate_status status = coupling::guarded(context_, [&] {
        write_numbers(*variable, first + points_->first, points_->n, ordered_.data());
    });
    problem_.keep(status);
    coupling::require_success(surrogate_context_agree(context_, status, nullptr));
}

void NewDataset::put(const char* name, int64_t first, const surrogate_array* array) {
    const surrogate_status status = coupling::guarded(context_, [&] {
        coupling::require(array, "array");
        const Variable& variable = checked(name, first, array->shape[0]);
        check_numbers(*array, variable, -1);
        pack(*array, variable, first, &local_);
        write_numbers(variable, first, array->shape[0], local_.data());
    });
    if (is_open_) problem_.keep(status);
    coupling::require_success(status);
}

std::string NewDataset::missing(const std::vector<double>& n_written) const {
    for (size_t i = 0; i < n_written.size(); ++i) {
        const Variable& variable = content_.variables[i];
        const auto n = static_cast<int64_t>(n_written[i]);
        if (n != variable.n_number)
            return std::to_string(n) + " numbers of '" + variable.name +
                   "' were written, and it has " + std::to_string(variable.n_number);
    }
    return "";
}

void NewDataset::commit() {
    std::vector<double> n_written;
    agreed(context_, [&] { n_written = n_written_; });
    coupling::require_success(surrogate_context_reduce(
        context_, SURROGATE_SUM, static_cast<int64_t>(n_written.size()), n_written.data()));
    const std::string what = missing(n_written);
    // A failed write is the better error than missing numbers.
    if (!what.empty()) coupling::require_success(problem_.agree());
    agreed(context_, [&] {
        if (!what.empty())
            fail(SURROGATE_INVALID_ARGUMENT, "cannot finish '" + path_ + "': " + what);
        disk_->flush();
    });
    agreed(context_, [&] {
        if (rank_ == 0) with_file([&] { file_->commit(); });
    });
}

void NewDataset::finish() {
    agreed(context_, [&] { require_open(); });
    is_open_ = false;
    is_finished_ = true;
    const auto close = [&] {
        disk_.reset();
        file_.reset();
    };
    try {
        commit();
    } catch (...) {
        close();
        throw;
    }
    close();
}

}  // namespace surrogate::dataset
