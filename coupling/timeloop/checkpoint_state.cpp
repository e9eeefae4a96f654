// SPDX-License-Identifier: Apache-2.0
#include "coupling/timeloop/checkpoint_state.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <type_traits>

#include "coupling/error/shared_words.hpp"
#include "coupling/timeloop/error.hpp"

namespace surrogate::timeloop {

namespace {

constexpr const char* group_names[] = {"points", "points_output"};

/// Returns a hash of the request, for the comparison of ranks.
uint64_t request_of(const Snapshot& snapshot, const std::string& path) {
    std::string text = path;
    const auto add = [&](const std::string& part) { text += '\0' + part; };
    for (const StateField& field : snapshot.fields) {
        add("field " + field.name);
        add(field.unit);
        add(std::to_string(field.dtype) + " " + std::to_string(field.n_component) + " " +
            std::to_string(field.at_output));
    }
    for (const ExpectedIntegral& integral : snapshot.integrals) add("integral " + integral.name);
    return XXH3_64bits(text.data(), text.size());
}

/// Throws if another rank makes a different request.
void compare_ranks(surrogate_context* context, int32_t rank, const Snapshot& snapshot,
                   const std::string& path) {
    uint64_t own = 0;
    SharedWords of_rank_0;
    agreed(context, [&] {
        own = request_of(snapshot, path);
        of_rank_0.resize(1);
    });
    if (rank == 0) of_rank_0[0] = own;
    of_rank_0.share(context);
    agreed(context, [&] {
        if (of_rank_0[0] != own)
            fail(SURROGATE_INVALID_ARGUMENT,
                 "path, fields or integrals of the checkpoint on this rank differ from rank 0: '" +
                     path + "', " + std::to_string(snapshot.fields.size()) + " fields");
    });
}

}  // namespace

CheckpointState::CheckpointState(surrogate_context* context, const surrogate_plan* plan,
                                 const Snapshot& snapshot, const std::string& path,
                                 CheckpointOrders* orders)
    : context_(context), kept_(orders) {
    int32_t n_rank = 0;
    check(surrogate_context_rank(context, &rank_, &n_rank));
    compare_ranks(context, rank_, snapshot, path);
    agreed(context, [&] {
        for (size_t group = 0; group < 2; ++group) {
            const PlanPoints& own = points_[group].emplace(plan, group == 1);
            common_[n_axis + group] = static_cast<double>(own.points.x.shape[1]);
            common_[has_id + group] = own.points.global_id != nullptr;
            common_[is_moved + group] = own.fingerprint() != kept_->fingerprints[group];
        }
        check_fields(snapshot);
        const bool is_at_output =
            std::any_of(snapshot.fields.begin(), snapshot.fields.end(),
                        [](const StateField& field) { return field.at_output; });
        common_[is_second_used] = is_at_output && !points_[1]->is(*points_[0]);
    });
    check(surrogate_context_reduce(context, SURROGATE_MAX, n_common, common_.data()));
    agreed(context, [&] { set_content(snapshot); });
    make_orders();
}

void CheckpointState::make_orders() {
    for (size_t group = 0; group < content.points.size(); ++group) {
        int64_t& row_bytes = kept_->row_bytes[group];
        if (common_[is_moved + group] == 0 && row_bytes >= row_bytes_) continue;
        row_bytes = 0;
        kept_->orders[group].emplace(points_[group]->domain, row_bytes_);
        kept_->fingerprints[group] = points_[group]->fingerprint();
        row_bytes = row_bytes_;
    }
}

void CheckpointState::check_fields(const Snapshot& snapshot) const {
    for (const StateField& field : snapshot.fields) {
        const Rows rows = {points_[field.at_output]->n_local, field.n_component, field.dtype, 0};
        if (rows.n_byte() != static_cast<int64_t>(field.values.size()))
            fail(SURROGATE_SHAPE, "field '" + field.name + "' has " +
                                      std::to_string(field.values.size()) +
                                      " bytes; its points need " + std::to_string(rows.n_byte()));
    }
}

void CheckpointState::set_content(const Snapshot& snapshot) {
    const PlanPoints& input = *points_[0];
    content.time_s = snapshot.time_s;
    content.step = snapshot.step;
    content.n_skip = snapshot.n_skip;
    content.family = input.model.family();
    check(surrogate_model_hash(input.model.get(), &content.model_hash));
    content.integrals = snapshot.integrals;
    const size_t n_group = common_[is_second_used] != 0 ? 2 : 1;
    for (size_t group = 0; group < n_group; ++group)
        content.points.push_back(points_[group]->content(
            group_names[group], static_cast<int64_t>(common_[n_axis + group]),
            common_[has_id + group] != 0));
    for (const StateField& field : snapshot.fields) {
        const PointsContent& points = content.points[group_of(field)];
        const Rows rows = {points.n_global, field.n_component, field.dtype, 0};
        content.fields.push_back({field.name, field.unit, points.group, rows});
        row_bytes_ = std::max(row_bytes_, rows.row_bytes());
    }
    for (const PointsContent& points : content.points)
        row_bytes_ = std::max({row_bytes_, points.x.row_bytes(), points.id.row_bytes()});
}

template <class Visit>
void CheckpointState::visit_shared(const Visit& visit) {
    const auto visit_number = [&](auto& number) {
        auto word = std::bit_cast<uint64_t>(number);
        visit(word);
        number = std::bit_cast<std::remove_reference_t<decltype(number)>>(word);
    };
    visit_number(content.time_s);
    visit_number(content.step);
    visit_number(content.n_skip);
    visit_number(content.file_bytes);
    for (ExpectedIntegral& integral : content.integrals) {
        uint64_t is_known = integral.is_known;
        visit(is_known);
        integral.is_known = is_known != 0;
        visit_number(integral.value);
        visit_number(integral.scale);
    }
    for (PointsContent& points : content.points) {
        visit(points.x.offset);
        visit(points.id.offset);
    }
    for (FieldContent& field : content.fields) visit(field.rows.offset);
}

void CheckpointState::share_content() {
    SharedWords words;
    agreed(context_, [&] {
        size_t n = 0;
        visit_shared([&](uint64_t&) { ++n; });
        words.resize(n);
    });
    size_t i = 0;
    if (rank_ == 0) visit_shared([&](uint64_t& word) { words[i++] = word; });
    words.share(context_);
    i = 0;
    visit_shared([&](uint64_t& word) { word = words[i++]; });
}

}  // namespace surrogate::timeloop
