// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "libsurrogate/src/model/hept/token_exchange.hpp"
#include "libsurrogate/src/ranks/partition.hpp"
#include "libsurrogate/src/transport/mpi_communicator.hpp"
#include "tests/libsurrogate/hept/token_cases.hpp"
#include "tests/libsurrogate/hept/token_reference.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/trap_guard.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {

using impl::hept::Padding;
using impl::hept::TokenExchange;
using impl::hept::TokenPlan;

/// Rows of this rank. "last": all on the last rank.
inline std::vector<int64_t> rows_of(const std::string& partition, int64_t n) {
    if (partition != "last") return own_rows(partition.c_str(), n, world);
    std::vector<int64_t> rows;
    for (int64_t row = 0; row < n && rank_of(world) == size_of(world) - 1; ++row)
        rows.push_back(row);
    return rows;
}

/// A case on ranks: its plan, and of each token of this rank its number in the definition.
class PlannedTokens {
public:
    PlannedTokens(const TokenCase& test, Padding padding, const std::string& partition)
        : config_(test.config(padding)),
          reference_(config_, test.regions, test.points),
          planned_(impl::mpi_communicator(world), config_,
                   test.points.rows(rows_of(partition, test.points.n()))),
          points_(test.points) {
        planned_.connect(config_, test.regions);
        set_places();
        set_own_numbers();
    }

    const TokenPlan& plan() const { return planned_.plan; }

    void expect_home_in_order() {
        const std::vector<int64_t> home = reference_.home();
        const auto& begins = planned_.home.begins;
        const int64_t begin = begins[static_cast<size_t>(rank_of(world))];
        ASSERT_EQ(begins.back(), std::ssize(home));
        for (int64_t i = 0; i < planned_.home.places.size(); ++i) {
            const impl::hept::Place& place = planned_.home.places[i];
            const auto point = home[static_cast<size_t>(begin + i)];
            ASSERT_EQ(place.id, points_.ids[static_cast<size_t>(point)]);
            ASSERT_EQ(place.cloud, points_.clouds[static_cast<size_t>(point)]);
            for (int axis : {0, 1}) ASSERT_EQ(place.rank[axis], reference_.rank(axis, point));
        }
    }

    void expect_blocks_of_this_rank() const {
        int64_t first = 0;
        ASSERT_EQ(std::ssize(plan().blocks()), blocks_.size());
        for (int64_t b = 0; b < blocks_.size(); ++b) {
            const TokenPlan::Block& block = plan().blocks()[static_cast<size_t>(b)];
            const auto& expected = reference_.blocks()[static_cast<size_t>(blocks_.begin + b)];
            EXPECT_EQ(block.first, first);
            EXPECT_EQ(block.n, expected.n);
            EXPECT_EQ(block.n_zero_key, expected.n_zero);
            first += block.n;
        }
        EXPECT_EQ(plan().n_place(), first);
    }

    /// Sends the numbers of ghost tokens. Collective.
    template <class T>
    void exchange_numbers() {
        constexpr int64_t n_channel = 3;
        TokenExchange<T> exchange;
        exchange.resize(planned_.comm(), plan(), n_channel, 2);
        const int64_t n_tile = plan().n_token() / kernels::tile_points + 1;
        std::vector<T> memory(static_cast<size_t>(n_tile * n_channel * kernels::tile_points), -1);
        const kernels::Tiles<T> x{memory.data(), n_channel, plan().n_token()};
        for (int64_t t = 0; t < plan().n_own(); ++t)
            for (int64_t c = 0; c < n_channel; ++c) x(c, t) = static_cast<T>(4 * number(t) + c);
        exchange.visit(planned_.comm(), kernels::Queue(), x);
        numbers_.resize(static_cast<size_t>(plan().n_own()));
        for (int64_t t = plan().n_own(); t < plan().n_token(); ++t) {
            const auto n = static_cast<int64_t>(x(0, t)) / 4;
            for (int64_t c = 0; c < n_channel; ++c) ASSERT_EQ(x(c, t), static_cast<T>(4 * n + c));
            numbers_.push_back(n);
        }
    }

    void expect_cells() const {
        int64_t n_cut = 0, largest = 0;
        for (int64_t row = 0; row < config_.n_row(); ++row) {
            std::vector<TokenPlan::Cell> cells(plan().cells(row).begin(), plan().cells(row).end());
            std::ranges::sort(cells, {}, &TokenPlan::Cell::to);
            auto next = cells.begin();
            for (const TokenReference::Cell& cell : reference_.cells(row)) {
                const impl::Range all{cell.place, cell.place + std::ssize(cell.tokens)};
                const impl::Range here = impl::intersection(all, places_);
                if (all.begin >= places_.begin && here.size() > 0 && all.end > places_.end) ++n_cut;
                if (here.size() == 0) continue;
                ASSERT_NE(next, cells.end()) << "row " << row;
                EXPECT_EQ(next->first, here.begin - cell.place);
                EXPECT_EQ(next->last, here.end - cell.place);
                EXPECT_EQ(next->to, here.begin - places_.begin);
                EXPECT_EQ(members(row, *next), cell.tokens) << "row " << row;
                largest = std::max(largest, std::ssize(cell.tokens));
                ++next;
            }
            EXPECT_EQ(next, cells.end());
        }
        EXPECT_EQ(plan().largest_cell(), largest);
        EXPECT_EQ(plan().n_cut_cell(), sum_of_ranks(n_cut));
    }

    void expect_only_visitors_that_are_needed() const {
        std::set<int32_t> needed;
        for (int64_t row = 0; row < config_.n_row(); ++row)
            needed.insert(plan().members(row).begin(), plan().members(row).end());
        for (int64_t t = plan().n_own(); t < plan().n_token(); ++t)
            EXPECT_TRUE(needed.contains(static_cast<int32_t>(t)));
        std::vector<int64_t> sorted = numbers_;
        std::ranges::sort(sorted);
        EXPECT_EQ(std::ranges::adjacent_find(sorted), sorted.end());
        EXPECT_EQ(plan().n_visit(), sum_of_ranks(plan().n_token() - plan().n_own()));
        EXPECT_EQ(plan().n_token_global(), std::ssize(reference_.tokens()));
        EXPECT_EQ(sum_of_ranks(plan().n_own()), plan().n_token_global());
        EXPECT_EQ(sum_of_ranks(plan().n_place()), plan().n_token_global());
    }

    /// Collective: every rank computes its places, and every token gets all its sums.
    void expect_sums_of_all_tables() {
        constexpr int64_t n_sum = 2;
        TokenExchange<double> exchange;
        exchange.resize(planned_.comm(), plan(), 1, n_sum);
        impl::hept::HeadSums<double> sums;
        sums.resize(plan(), config_.num_heads, config_.n_hashes, n_sum);
        for (int64_t head = 0; head < config_.num_heads; ++head) {
            sums.fill(std::numeric_limits<double>::quiet_NaN());
            sums.begin(head);
            for (int64_t table = 0; table < config_.n_hashes; ++table) {
                const int64_t row = table * config_.num_heads + head;
                for (const TokenPlan::Cell& cell : plan().cells(row)) {
                    // In the order of ids: any order does that all ranks agree on.
                    for (int64_t place = cell.first; place < cell.last; ++place) {
                        const int32_t t =
                            plan().members(row)[static_cast<size_t>(cell.begin + place)];
                        double* const sum = sums.data() + sums.row(table, t) * n_sum;
                        for (int64_t k = 0; k < n_sum; ++k)
                            sum[k] = (table > 0 ? sum[k] : 0) + value(row, t, k);
                    }
                }
            }
            exchange.return_sums(planned_.comm(), kernels::Queue(), head, sums);
            for (int64_t t = 0; t < plan().n_own(); ++t) {
                for (int64_t k = 0; k < n_sum; ++k) {
                    double sum = 0;  // its last bit depends on the order of the tables
                    for (int64_t table = 0; table < config_.n_hashes; ++table)
                        sum += value(table * config_.num_heads + head, t, k);
                    EXPECT_EQ(sums.data()[t * n_sum + k], sum);
                }
            }
        }
    }

private:
    int64_t number(int64_t token) const { return numbers_[static_cast<size_t>(token)]; }
    double value(int64_t row, int64_t token, int64_t k) const {
        return 0.1 + static_cast<double>((number(token) * 10 + row) * 2 + k);
    }
    static int64_t sum_of_ranks(int64_t own) {
        int64_t sum = 0;
        MPI_Allreduce(&own, &sum, 1, MPI_INT64_T, MPI_SUM, world);
        return sum;
    }

    void set_places() {
        const auto& all = reference_.blocks();
        blocks_ = impl::balanced_range(std::ssize(all), rank_of(world), size_of(world));
        const auto place = [&](int64_t block) {
            return block < std::ssize(all) ? all[static_cast<size_t>(block)].place
                                           : std::ssize(reference_.tokens());
        };
        places_ = {place(blocks_.begin), place(blocks_.end)};
    }

    /// Copies of a point follow each other in the order of their numbers.
    void set_own_numbers() {
        std::map<std::pair<int64_t, int64_t>, int64_t> number;  // of (id, copies of it before)
        std::map<int64_t, int64_t> n_of_id, n_here;
        for (int64_t t = 0; t < std::ssize(reference_.tokens()); ++t) {
            const int64_t id = reference_.tokens()[static_cast<size_t>(t)].id;
            number[{id, n_of_id[id]++}] = t;
        }
        for (int64_t t = 0; t < plan().n_own(); ++t) {
            const int64_t i = t - plan().n_point();
            const int64_t point = i < 0 ? t : plan().copied()[static_cast<size_t>(i)];
            const int64_t id = planned_.home.places[point].id;
            numbers_.push_back(number.at({id, n_here[id]++}));
        }
    }

    std::vector<int64_t> members(int64_t row, const TokenPlan::Cell& cell) const {
        std::vector<int64_t> list;
        for (int64_t i = cell.begin; i < cell.end; ++i)
            list.push_back(number(plan().members(row)[static_cast<size_t>(i)]));
        return list;
    }

    impl::hept::Config config_;
    TokenReference reference_;
    HeptPlan planned_;
    HeptPoints points_;
    impl::Range blocks_, places_;  // of this rank
    std::vector<int64_t> numbers_;
};

inline const std::vector<TokenCase>& all_cases() {
    static const std::vector<TokenCase> cases = token_cases();
    return cases;
}

/// Calls test(case, padding, partition) for all.
template <class Test>
void for_all(const Test& test) {
    const TrapGuard traps;
    for (const TokenCase& each : all_cases()) {
        for (const Padding padding : {Padding::zero, Padding::duplicate, Padding::masked}) {
            if (padding == Padding::zero && !each.has_one_cloud()) continue;
            for (const char* partition : {"contiguous", "scattered", "uneven", "last"}) {
                SCOPED_TRACE(each.name + ", padding " + std::to_string(static_cast<int>(padding)) +
                             ", " + partition);
                test(each, padding, partition);
            }
        }
    }
}

}  // namespace surrogate::test
