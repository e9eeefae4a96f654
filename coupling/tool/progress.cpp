// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace surrogate::tool {

namespace {

constexpr int bar_width = 24;

double now_s() {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(since).count();
}

bool is_set(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && value[0] != '\0';  // as no-color.org asks
}

}  // namespace

Progress::Progress(int n_stages, bool is_silent)
    : n_stages_(n_stages),
      is_silent_(is_silent),
      is_terminal_(isatty(STDERR_FILENO) != 0),
      has_color_(is_terminal_ && !is_set("NO_COLOR")),
      start_s_(now_s()) {}

// After an error: the message starts on a clean line.
Progress::~Progress() {
    erase();
}

void Progress::stage(const std::string& text) {
    if (is_silent_) return;
    if (is_terminal_)
        draw(text);
    else
        std::fprintf(stderr, "surrogate: %d of %d: %s (%.1f s)\n", done_ + 1, n_stages_,
                     text.c_str(), seconds());
    std::fflush(stderr);
    ++done_;
}

void Progress::finish() {
    if (is_silent_) return;
    erase();
    if (!is_terminal_) std::fprintf(stderr, "surrogate: done (%.1f s)\n", seconds());
    is_silent_ = true;
}

void Progress::draw(const std::string& text) const {
    const int n_full = std::min(bar_width, bar_width * done_ / std::max(1, n_stages_));
    const std::string full(static_cast<size_t>(n_full), '#');
    const std::string rest(static_cast<size_t>(bar_width - n_full), '.');
    std::fprintf(stderr, "\r\033[K[%s%s%s%s] %3d%%  %s", has_color_ ? "\033[32m" : "", full.c_str(),
                 has_color_ ? "\033[0m" : "", rest.c_str(), 100 * done_ / std::max(1, n_stages_),
                 text.c_str());
}

void Progress::erase() const {
    if (is_silent_ || !is_terminal_ || done_ == 0) return;
    std::fprintf(stderr, "\r\033[K");
    std::fflush(stderr);
}

double Progress::seconds() const {
    return now_s() - start_s_;
}

}  // namespace surrogate::tool
