// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/domain/point_order.hpp"

#include <limits>
#include <new>
#include <string>

#include "libsurrogate/src/domain/canonical_order.hpp"
#include "libsurrogate/src/domain/sphere_domain.hpp"

namespace surrogate::impl {

namespace {

std::vector<int64_t> positions_of(const Domain& domain) {
    if (const auto* points = dynamic_cast<const PointDomain*>(&domain))
        return canonical_positions(*points, "surrogate_ordering_create");
    const auto& sphere = dynamic_cast<const SphereDomain&>(domain);
    std::vector<int64_t> positions;
    domain.context().comm().agree([&] {
        positions.resize(static_cast<size_t>(sphere.n_local()));
        for (int64_t i = 0; i < sphere.n_local(); ++i)
            positions[static_cast<size_t>(i)] = sphere.position(i);
    });
    return positions;
}

kernels::Buffer<std::byte> scratch_of(int64_t n_row, int64_t row_bytes) {
    if (n_row > std::numeric_limits<int64_t>::max() / row_bytes) throw std::bad_alloc();
    return kernels::Buffer<std::byte>(n_row * row_bytes);
}

}  // namespace

PointOrder::PointOrder(std::shared_ptr<Context> context, const Domain* domain, int64_t row_bytes)
    : context_(std::move(context)), largest_row_bytes_(row_bytes) {
    Communicator& comm = context_->comm();
    std::vector<int64_t> begins;
    comm.agree([&] {
        if (row_bytes < 1) {
            throw Error(Status::shape,
                        "row_bytes is " + std::to_string(row_bytes) + ", expected 1 or more");
        }
        begins = block_begins(domain->n_global(), 1, comm.size());
    });
    const std::vector<int64_t> positions = positions_of(*domain);
    route_.emplace(comm, positions, begins);
    comm.agree([&] {
        scratch_ = scratch_of(route_->scratch_rows(), row_bytes);
        route_->reserve(comm, row_bytes);
    });
}

void PointOrder::agree_on_arguments(int64_t row_bytes, const void* local,
                                    const void* ordered) const {
    Communicator& comm = context_->comm();
    comm.agree([&] {
        if (row_bytes < 1 || row_bytes > largest_row_bytes_) {
            throw Error(Status::shape, "row_bytes is " + std::to_string(row_bytes) +
                                           ", expected 1 .. " + std::to_string(largest_row_bytes_) +
                                           ", which surrogate_ordering_create was given");
        }
        if (!local && route_->n_origin() > 0)
            throw Error(Status::invalid_argument, "argument 'local' is NULL");
        if (!ordered && rows().size() > 0)
            throw Error(Status::invalid_argument, "argument 'ordered' is NULL");
    });
    int64_t range[] = {row_bytes, -row_bytes};
    comm.all_reduce_max(std::span(range));
    if (range[0] == -range[1]) return;
    throw Error(Status::invalid_argument,
                "ranks give different row_bytes: " + std::to_string(-range[1]) + " .. " +
                    std::to_string(range[0]));
}

void PointOrder::forward(int64_t row_bytes, const void* local, void* ordered) const {
    agree_on_arguments(row_bytes, local, ordered);
    if (context_->comm().size() == 1) return route_->to_target_alone(local, ordered, row_bytes);
    route_->to_target(context_->comm(), local, scratch_.data(), ordered, row_bytes);
}

void PointOrder::backward(int64_t row_bytes, const void* ordered, void* local) const {
    agree_on_arguments(row_bytes, local, ordered);
    if (context_->comm().size() == 1) return route_->to_origin_alone(ordered, local, row_bytes);
    route_->to_origin(context_->comm(), ordered, scratch_.data(), local, row_bytes);
}

}  // namespace surrogate::impl
