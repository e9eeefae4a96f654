// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/ranks/select_values.hpp"

#include <algorithm>
#include <vector>

#include "libsurrogate/src/ranks/partition.hpp"

namespace surrogate::impl {

namespace {

/// State of the search of one selection. Values of the window bound .. bound + 2^n_bit - 1 are
/// candidates; n_rest of them belong to the left. Each thread stores the candidates of its part of
/// the values.
struct Window {
    Selection* selection;
    int n_bit;
    int64_t n_rest;
    std::span<std::span<uint64_t>> candidates;  // (n_thread)

    bool is_found() const { return n_bit == 0 || n_rest == 0; }
};

class RadixSelect {
public:
    RadixSelect(Communicator& comm, const kernels::Queue& queue, std::span<Selection> selections)
        : comm_(comm), queue_(queue) {
        comm_.agree([&] { open_windows(selections); });
    }

    void run() {
        std::span<Window> open(windows_);
        for (open = still_open(open); !open.empty(); open = still_open(open)) {
            const int digit = std::ssize(open) > many ? short_digit : long_digit;
            const int64_t n_bin = int64_t{1} << digit;
            const auto counts = std::span(counts_).first(open.size() * static_cast<size_t>(n_bin));
            for (size_t w = 0; w < open.size(); ++w)
                count(open[w], digit, counts.subspan(w * static_cast<size_t>(n_bin)));
            comm_.all_reduce_sum(counts);
            for (size_t w = 0; w < open.size(); ++w)
                narrow(open[w], digit, counts.data() + static_cast<int64_t>(w) * n_bin);
        }
    }

private:
    static constexpr int long_digit = 11, short_digit = 8, many = 16;
    static constexpr int64_t most_bins = int64_t{1} << long_digit;

    void open_windows(std::span<Selection> selections) {
        const int n_thread = queue_.n_thread();
        candidates_.resize(selections.size() * static_cast<size_t>(n_thread));
        histograms_.resize(static_cast<size_t>(n_thread * most_bins));
        const int64_t n_selection = std::ssize(selections);
        counts_.resize(static_cast<size_t>(std::max(
            std::min<int64_t>(n_selection, many) << long_digit, n_selection << short_digit)));
        for (size_t s = 0; s < selections.size(); ++s) {
            Selection& selection = selections[s];
            selection.bound = 0;
            selection.n_below = 0;
            const auto shares =
                std::span(candidates_)
                    .subspan(s * static_cast<size_t>(n_thread), static_cast<size_t>(n_thread));
            for (int t = 0; t < n_thread; ++t) {
                const Range share = balanced_range(std::ssize(selection.values), t, n_thread);
                shares[static_cast<size_t>(t)] = selection.values.subspan(
                    static_cast<size_t>(share.begin), static_cast<size_t>(share.size()));
            }
            windows_.push_back({&selection, selection.n_bit, selection.n_left, shares});
        }
    }

    static std::span<Window> still_open(std::span<Window> windows) {
        const auto found = std::ranges::partition(
            windows, [](const Window& window) { return !window.is_found(); });
        return windows.first(windows.size() - found.size());
    }

    static int shift_of(const Window& window, int digit) {
        return std::max(window.n_bit - digit, 0);
    }

    /// Candidates of this rank by the digit that comes next.
    void count(const Window& window, int digit, std::span<int64_t> counts) {
        const int64_t n_bin = int64_t{1} << digit;
        const int shift = shift_of(window, digit);
        const uint64_t low = window.selection->bound;
        queue_.parallel_for(queue_.n_thread(), [&](int64_t t, int) {
            int64_t* const histogram = histograms_.data() + t * most_bins;
            std::fill_n(histogram, n_bin, int64_t{0});
            for (const uint64_t value : window.candidates[static_cast<size_t>(t)])
                ++histogram[(value - low) >> shift];
        });
        for (int64_t bin = 0; bin < n_bin; ++bin) {
            int64_t sum = 0;
            for (int t = 0; t < queue_.n_thread(); ++t)
                sum += histograms_[static_cast<size_t>(t * most_bins + bin)];
            counts[static_cast<size_t>(bin)] = sum;
        }
    }

    /// To the bin that holds the first value of the right.
    void narrow(Window& window, int digit, const int64_t* counts) {
        const int shift = shift_of(window, digit);
        uint64_t bin = 0;
        while (counts[bin] <= window.n_rest) window.n_rest -= counts[bin++];
        Selection& selection = *window.selection;
        selection.bound += bin << shift;
        selection.n_below = selection.n_left - window.n_rest;
        window.n_bit = shift;
        if (window.is_found()) return;
        queue_.parallel_for(queue_.n_thread(), [&](int64_t t, int) {
            auto& candidates = window.candidates[static_cast<size_t>(t)];
            size_t n = 0;
            for (const uint64_t value : candidates) {
                candidates[n] = value;
                n += (value - selection.bound) >> shift == 0;
            }
            candidates = candidates.first(n);
        });
    }

    Communicator& comm_;
    const kernels::Queue& queue_;
    std::vector<Window> windows_;
    std::vector<std::span<uint64_t>> candidates_;  // (n_selection, n_thread)
    std::vector<int64_t> histograms_;              // (n_thread, most_bins)
    std::vector<int64_t> counts_;                  // (n_selection, bins)
};

}  // namespace

void select_values(Communicator& comm, const kernels::Queue& queue,
                   std::span<Selection> selections) {
    RadixSelect(comm, queue, selections).run();
}

}  // namespace surrogate::impl
