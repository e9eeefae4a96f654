// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/transport/device_transports.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

namespace surrogate::impl {

bool Polling::pause() {
    using namespace std::chrono;
    constexpr milliseconds quick{1};
    const auto passed = steady_clock::now() - start_;
    if (limit_s_ > 0 && passed > duration<double>(limit_s_)) return false;
    if (passed < quick)
        std::this_thread::yield();
    else
        std::this_thread::sleep_for(microseconds(50));
    return true;
}

std::string seconds_text(double seconds) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g s", seconds);
    return text;
}

bool is_done_within(kernels::Device& device, kernels::Stream stream, double limit_s) {
    for (Polling polling(limit_s); !device.is_done(stream);)
        if (!polling.pause()) return false;
    return true;
}

void throw_late(double timeout_s) {
    throw Error(Status::device, "the work of the stream has not ended within " +
                                    seconds_text(timeout_s) +
                                    " (timeout_s); something it waits for does not come, or the "
                                    "limit is too short");
}

void wait_for_stream(kernels::Device& device, kernels::Stream stream, double timeout_s) {
    if (!is_done_within(device, stream, timeout_s)) throw_late(timeout_s);
}

namespace {

/// One rank: its numbers are the result.
class NoCollectives final : public DeviceCollectives {
public:
    NoCollectives(kernels::Device& device, double timeout_s)
        : device_(device), timeout_s_(timeout_s) {}

    std::string transport() const override { return "none"; }
    std::string reason() const override { return "one rank"; }
    bool is_enqueued() const override { return true; }
    void reserve(int64_t) override {}
    void reserve_gather(int64_t) override {}
    void reserve_exchange(int64_t, int64_t) override {}
    void check() override {}
    void wait(kernels::Stream stream) override { wait_for_stream(device_, stream, timeout_s_); }

protected:
    void do_all_reduce(void*, int64_t, Type, Reduction, kernels::Stream) override {}
    void do_all_gather(void*, int64_t, kernels::Stream) override {}
    void do_exchange(const DeviceParts&, const DeviceParts&, kernels::Stream) override {}

private:
    kernels::Device& device_;
    double timeout_s_;
};

/// Data that ranks exchange before a transport is chosen.
struct Presence {
    std::array<uint8_t, 16> uuid{};
    int32_t nccl_version = 0;  // 0: none
};

/// "rank 3", "ranks 0, 1, 2", long lists cut.
std::string ranks_text(const std::vector<size_t>& ranks) {
    constexpr size_t n_shown = 8;
    std::string text = ranks.size() == 1 ? "rank " : "ranks ";
    for (size_t i = 0; i < std::min(ranks.size(), n_shown); ++i)
        text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
    if (ranks.size() > n_shown) text += ", ... (" + std::to_string(ranks.size()) + " in all)";
    return text;
}

std::vector<size_t> ranks_without_nccl(const std::vector<Presence>& all) {
    std::vector<size_t> ranks;
    for (size_t r = 0; r < all.size(); ++r)
        if (all[r].nccl_version == 0) ranks.push_back(r);
    return ranks;
}

/// The ranks on the first device that several of them hold.
std::vector<size_t> ranks_on_one_device(const std::vector<Presence>& all) {
    std::vector<size_t> order(all.size());
    for (size_t r = 0; r < order.size(); ++r) order[r] = r;
    const auto uuid = [&](size_t r) -> const auto& {
        return all[r].uuid;
    };
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return uuid(a) != uuid(b) ? uuid(a) < uuid(b) : a < b; });
    std::vector<size_t> found;
    for (size_t first = 0, last = 0; first < order.size(); first = last) {
        while (last < order.size() && uuid(order[last]) == uuid(order[first])) ++last;
        if (last - first > 1 && (found.empty() || order[first] < found[0])) {
            found.assign(order.begin() + static_cast<ptrdiff_t>(first),
                         order.begin() + static_cast<ptrdiff_t>(last));
        }
    }
    return found;
}

/// A rank whose NCCL is another version than rank 0's, or 0. All have one.
size_t rank_of_other_version(const std::vector<Presence>& all) {
    for (size_t r = 0; r < all.size(); ++r)
        if (all[r].nccl_version != all[0].nccl_version) return r;
    return 0;
}

/// Returns true, and says so in `problem`, if the environment makes NCCL's calls block, which
/// overrides NcclConfig::blocking: no limit of time would end them.
bool is_made_blocking(std::string& problem) {
    constexpr const char* name = "NCCL_COMM_BLOCKING";
    const char* const value = std::getenv(name);
    if (!value || std::strtol(value, nullptr, 0) != 1) return false;
    problem =
        std::string(name) + "=" + value + " takes the time limit from calls of NCCL; unset it";
    return true;
}

/// Why NCCL cannot be used, or "". problem: the words of the first rank that lacks it.
std::string why_not_nccl(const std::vector<Presence>& all, const char* problem) {
    std::string text;
    if (const auto ranks = ranks_on_one_device(all); !ranks.empty())
        text = ranks_text(ranks) + " share a device";
    if (const auto ranks = ranks_without_nccl(all); !ranks.empty()) {
        text += (text.empty() ? "" : "; ") + ranks_text(ranks) + " without NCCL (rank " +
                std::to_string(ranks[0]) + ": " + problem + ")";
    } else if (const size_t r = rank_of_other_version(all); r != 0) {
        text += (text.empty() ? "" : "; ") + std::string("versions of NCCL differ (rank 0: ") +
                nccl_version_text(all[0].nccl_version) + ", rank " + std::to_string(r) + ": " +
                nccl_version_text(all[r].nccl_version) + ")";
    }
    return text;
}

/// The same words on all ranks. Collective.
std::string why_not_nccl(Communicator& comm, const kernels::Device& device, const NcclApi* nccl,
                         const std::string& nccl_problem) {
    char words[500] = "";
    Presence own;
    std::vector<Presence> all;
    comm.agree([&] {
        std::string problem = nccl_problem;
        own.uuid = device.properties().uuid;
        own.nccl_version = nccl && !is_made_blocking(problem) ? nccl_version(*nccl, problem) : 0;
        std::strncpy(words, problem.c_str(), sizeof words - 1);
        all.resize(static_cast<size_t>(comm.size()));
    });
    comm.all_gather(&own, all.data(), sizeof own);
    const auto lacking =
        std::find_if(all.begin(), all.end(), [](const Presence& p) { return p.nccl_version == 0; });
    if (lacking != all.end())
        comm.broadcast(words, sizeof words, static_cast<int>(lacking - all.begin()));
    std::string text;
    comm.agree([&] { text = why_not_nccl(all, words); });
    return text;
}

}  // namespace

std::unique_ptr<DeviceCollectives> make_device_collectives(Communicator& comm,
                                                           kernels::Device& device,
                                                           const NcclApi* nccl,
                                                           const std::string& nccl_problem,
                                                           double timeout_s) {
    if (comm.size() == 1) return std::make_unique<NoCollectives>(device, timeout_s);
    std::string why_not = why_not_nccl(comm, device, nccl, nccl_problem);
    std::unique_ptr<DeviceCollectives> made;
    if (why_not.empty()) {
        std::string reason;
        comm.agree([&] { reason = "every rank has a device of its own"; });
        return make_nccl_collectives(comm, device, *nccl, std::move(reason), timeout_s);
    }
    comm.agree(
        [&] { made = make_staged_collectives(comm, device, std::move(why_not), timeout_s); });
    return made;
}

DeviceCollectivesFactory collectives_with(NcclLoader loader) {
    return [loader](Communicator& comm, kernels::Device& device, double timeout_s) {
        const NcclApi* nccl = nullptr;
        std::string problem = "NCCL was not looked for";
        if (comm.size() > 1 && loader) {
            comm.agree([&] {
                problem.clear();
                nccl = loader(problem);
            });
        }
        return make_device_collectives(comm, device, nccl, problem, timeout_s);
    };
}

}  // namespace surrogate::impl
