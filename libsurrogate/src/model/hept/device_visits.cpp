// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/hept/device_visits.hpp"

#include <algorithm>
#include <utility>

namespace surrogate::impl::hept {

using kernels::MoveArgs;
using kernels::hept::DeviceShare;
using kernels::hept::DeviceSum;
using kernels::hept::most_coordinates;
using kernels::hept::ShareArgs;

namespace {

using Neighbor = TokenPlan::Neighbor;

/// Calls use(sum) for the parts of all heads, in the order that two ranks agree on.
template <class Use>
void for_sums(const std::vector<std::vector<Neighbor::Part>>& parts, const Use& use) {
    const auto n_head = static_cast<int32_t>(parts.size());
    for (int32_t head = 0; head < n_head; ++head)
        for (const Neighbor::Part& part : parts[static_cast<size_t>(head)])
            use(DeviceSum{part.table * n_head + head, part.token});
}

}  // namespace

VisitLists::VisitLists(const Config& config, const TokenPlan& plan, int n_rank) {
    for (std::vector<int64_t>* counts : {&n_token, &n_visitor, &n_sum_given, &n_sum_taken})
        counts->assign(static_cast<size_t>(n_rank), 0);
    for (const Neighbor& neighbor : plan.neighbors()) {
        const auto r = static_cast<size_t>(neighbor.rank);
        tokens.insert(tokens.end(), neighbor.sent.begin(), neighbor.sent.end());
        n_token[r] = std::ssize(neighbor.sent);
        n_visitor[r] = neighbor.visitor_end - neighbor.visitor_begin;
        const int64_t n_given = std::ssize(given), n_taken = std::ssize(taken);
        for_sums(neighbor.to_it, [&](const DeviceSum& sum) { given.push_back(sum); });
        for_sums(neighbor.from_it, [&](const DeviceSum& sum) {
            taken.push_back({sum, static_cast<int32_t>(taken.size())});
        });
        n_sum_given[r] = std::ssize(given) - n_given;
        n_sum_taken[r] = std::ssize(taken) - n_taken;
    }
    constexpr int64_t limit = int64_t{1} << 31;
    if (std::ssize(taken) >= limit || config.n_row() >= limit)
        throw Error(Status::shape, std::to_string(taken.size()) +
                                       " sums of tokens on other ranks exceed the limit of one "
                                       "rank (2^31); use more ranks");
    std::ranges::sort(taken, {}, [](const DeviceShare& share) {
        return std::tuple(share.sum.row, share.sum.token, share.from);
    });
}

void DeviceVisits::add(int n_rank) {
    if (!is_needed()) return;
    lists_ = VisitLists(config_, plan_, n_rank);
    const int64_t widest = std::max(config_.h_dim, most_coordinates);
    const int64_t n_visitor = plan_.n_token() - plan_.n_own();
    tokens_ = arena_.add(4 * std::ssize(lists_.tokens));
    given_sums_ = arena_.add(std::ssize(lists_.given) * int64_t{sizeof(DeviceSum)});
    taken_sums_ = arena_.add(std::ssize(lists_.taken) * int64_t{sizeof(DeviceShare)});
    given_ = arena_.add(
        4 * std::max(std::ssize(lists_.tokens) * widest, std::ssize(lists_.given) * n_number()));
    taken_ = arena_.add(4 * std::max(n_visitor * widest, std::ssize(lists_.taken) * n_number()));
}

void DeviceVisits::fill(ArenaWriter& put) const {
    put(tokens_, lists_.tokens);
    put(given_sums_, lists_.given);
    put(taken_sums_, lists_.taken);
}

void DeviceVisits::add_way(Way way, int64_t n_number, std::span<const int64_t> n_given,
                           std::span<const int64_t> n_taken) {
    Bytes& bytes = bytes_[way];
    for (const int64_t n : n_given) bytes.given.push_back(4 * n * n_number);
    for (const int64_t n : n_taken) bytes.taken.push_back(4 * n * n_number);
    exchanges_.push_back(
        {{arena_.at<float>(given_), bytes.given}, {arena_.at<float>(taken_), bytes.taken}});
}

void DeviceVisits::connect(kernels::DeviceFindings* findings, float* sums) {
    findings_ = findings;
    sums_ = sums;
    if (!is_needed()) return;
    add_way(coordinate_way, config_.coords_dim, lists_.n_token, lists_.n_visitor);
    add_way(token_way, config_.h_dim, lists_.n_token, lists_.n_visitor);
    add_way(sum_way, n_number(), lists_.n_sum_given, lists_.n_sum_taken);
}

int64_t DeviceVisits::coordinate_bytes() const {
    return is_needed() ? exchanges_[coordinate_way].given.bytes() : 0;
}

int64_t DeviceVisits::layer_bytes() const {
    if (!is_needed()) return 0;
    return exchanges_[token_way].given.bytes() + exchanges_[sum_way].given.bytes();
}

void DeviceVisits::bring(Way way, float* stream, int64_t width, int64_t n_channel,
                         DeviceSteps& steps) const {
    if (!is_needed()) return;
    const auto move = [&](const MoveArgs& args) {
        steps.compute([&] { kernels_.move(device_.properties(), args, steps.stream()); });
    };
    MoveArgs args;
    args.n_row = std::ssize(lists_.tokens);
    args.rows = arena_.at<int32_t>(tokens_);
    args.stream = stream;
    args.width = width;
    args.n_channel = static_cast<int32_t>(n_channel);
    args.memory = arena_.at<float>(given_);
    args.findings = findings_;
    move(args);
    steps.exchange(exchanges_[way]);
    args.gives = false;
    args.n_row = plan_.n_token() - plan_.n_own();
    args.rows = nullptr;
    args.begin_row = plan_.n_own();
    args.memory = arena_.at<float>(taken_);
    move(args);
}

void DeviceVisits::bring_coordinates(float* stream, DeviceSteps& steps) const {
    bring(coordinate_way, stream, most_coordinates, config_.coords_dim, steps);
}

void DeviceVisits::bring_tokens(float* stream, int64_t width, DeviceSteps& steps) const {
    bring(token_way, stream, width, config_.h_dim, steps);
}

void DeviceVisits::share(ShareArgs::Step step, float* memory, DeviceSteps& steps) const {
    ShareArgs args;
    args.step = step;
    args.head = head_;
    args.n_token = plan_.n_token();
    args.sums = sums_;
    args.given = arena_.at<DeviceSum>(given_sums_);
    args.n_given = std::ssize(lists_.given);
    args.taken = arena_.at<DeviceShare>(taken_sums_);
    args.n_taken = std::ssize(lists_.taken);
    args.memory = memory;
    args.findings = findings_;
    steps.compute([&] { kernels_.share(device_.properties(), args, steps.stream()); });
}

void DeviceVisits::clear_sums(DeviceSteps& steps) const {
    if (is_needed()) share(ShareArgs::Step::clear, nullptr, steps);
}

void DeviceVisits::return_sums(DeviceSteps& steps) const {
    if (!is_needed()) return;
    share(ShareArgs::Step::give, arena_.at<float>(given_), steps);
    steps.exchange(exchanges_[sum_way]);
    share(ShareArgs::Step::take, arena_.at<float>(taken_), steps);
}

}  // namespace surrogate::impl::hept
