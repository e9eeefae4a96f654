// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sphere/device_rings.hpp"

#include <algorithm>

namespace surrogate::impl::sphere {

using kernels::sphere::RingsArgs;

Wanted wanted_of_all(Communicator& comm, Range own) {
    Wanted wanted(static_cast<size_t>(comm.size()));
    comm.all_gather(&own, wanted.data(), sizeof own);
    return wanted;
}

Range rows_read(const kernels::sphere::Stencil& stencil) {
    if (stencil.strips.empty()) return {};
    const auto [least, most] =
        std::ranges::minmax(stencil.strips, {}, &kernels::sphere::Strip::row);
    return {least.row / stencil.n_phase_in, most.row / stencil.n_phase_in + 1};
}

std::vector<int64_t> places_of(const Bands& bands, int64_t most_rows) {
    std::vector<int64_t> places(static_cast<size_t>(bands.grid().n_lat));
    for (int rank = 0; rank < bands.n_rank(); ++rank) {
        const Range own = bands.of(rank);
        for (int64_t row = own.begin; row < own.end; ++row)
            places[static_cast<size_t>(row)] = rank * most_rows + row - own.begin;
    }
    return places;
}

RingExchange::RingExchange(const Bands& bands, const Wanted& wanted, int rank, int64_t n_run,
                           int64_t n_word)
    : own_(bands.of(rank)),
      wanted_(wanted[static_cast<size_t>(rank)]),
      n_run_(n_run),
      n_word_(n_word) {
    const auto add = [&](Range rows, std::vector<int64_t>& rings, std::vector<int64_t>& bytes) {
        for (int64_t row = rows.begin; row < rows.end; ++row) rings.push_back(row);
        bytes.push_back(ring_bytes() * std::max<int64_t>(0, rows.size()));
    };
    for (int other = 0; other < bands.n_rank(); ++other) {
        const bool is_self = other == rank;
        const Range theirs = wanted[static_cast<size_t>(other)];
        add(is_self ? Range{} : intersection(own_, theirs), given_rings_, given_bytes_);
        add(is_self ? Range{} : intersection(wanted_, bands.of(other)), taken_rings_, taken_bytes_);
    }
}

std::vector<int32_t> RingExchange::relative(const std::vector<int64_t>& rings, int64_t first) {
    std::vector<int32_t> list;
    for (const int64_t ring : rings) list.push_back(static_cast<int32_t>(ring - first));
    return list;
}

void RingExchange::add_to(DeviceArena& arena) {
    given_at_ = arena.add(4 * std::ssize(given_rings_));
    taken_at_ = arena.add(4 * std::ssize(taken_rings_));
}

DeviceExchange RingExchange::exchange(const RingStaging& staging) const {
    return {{staging.given, given_bytes_}, {staging.taken, taken_bytes_}};
}

RingsArgs RingExchange::args(int64_t n_ring, const RingMemory& from, const RingMemory& to) const {
    RingsArgs args;
    args.n_ring = n_ring;
    args.n_run = n_run_;
    args.n_word = n_word_;
    args.from = from.words;
    args.from_ring = from.ring_step;
    args.from_run = from.run_step;
    args.to = to.words;
    args.to_ring = to.ring_step;
    args.to_run = to.run_step;
    return args;
}

void RingExchange::enqueue(const kernels::sphere::DeviceKernels& kernels, kernels::Device& device,
                           const DeviceArena& arena, const RingStaging& staging,
                           const RingMemory& from, const RingMemory& to,
                           kernels::DeviceFindings* findings, DeviceSteps& steps) const {
    const auto run = [&](const RingsArgs& args) {
        kernels.rings(device.properties(), args, steps.stream());
    };
    const auto ring = [](const RingMemory& memory, int64_t row) {
        RingMemory at = memory;
        at.words += (row - memory.first) * memory.ring_step;
        return at;
    };
    steps.compute([&] {
        RingsArgs give =
            args(std::ssize(given_rings_), ring(from, own_.begin), packed(staging.given));
        give.from_rings = arena.at<int32_t>(given_at_);
        give.gives = true;
        give.findings = findings;
        run(give);
        const Range kept = intersection(own_, wanted_);
        if (from.words != to.words && kept.size() > 0)
            run(args(kept.size(), ring(from, kept.begin), ring(to, kept.begin)));
    });
    steps.exchange(exchange(staging));
    steps.compute([&] {
        RingsArgs take =
            args(std::ssize(taken_rings_), packed(staging.taken), ring(to, wanted_.begin));
        take.to_rings = arena.at<int32_t>(taken_at_);
        take.takes = true;
        take.findings = findings;
        run(take);
    });
}

}  // namespace surrogate::impl::sphere
