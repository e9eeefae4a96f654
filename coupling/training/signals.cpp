// SPDX-License-Identifier: Apache-2.0
#include "coupling/training/signals.hpp"

#include <array>
#include <csignal>

namespace surrogate::tool {

namespace {

constexpr std::array<int, 3> signals = {SIGTERM, SIGINT, SIGUSR1};
volatile std::sig_atomic_t has_come = 0;  // a handler can only access globals
std::array<struct sigaction, signals.size()> earlier_actions;

extern "C" void remember_signal(int) {
    has_come = 1;
}

}  // namespace

StopRequests::StopRequests() {
    has_come = 0;
    struct sigaction action = {};
    action.sa_handler = remember_signal;
    action.sa_flags = SA_RESETHAND | SA_RESTART;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], &action, &earlier_actions[i]);
}

StopRequests::~StopRequests() {
    for (size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], &earlier_actions[i], nullptr);
}

bool StopRequests::have_come() const {
    return has_come != 0;
}

}  // namespace surrogate::tool
