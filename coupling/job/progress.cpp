// SPDX-License-Identifier: Apache-2.0
#include "coupling/job/progress.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "coupling/job/output.hpp"

namespace surrogate::tool {

namespace {

constexpr int bar_width = 24;

double now_s() {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(since).count();
}

bool is_set(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && value[0] != '\0';  // convention of no-color.org
}

}  // namespace

bool can_redraw() {
    return isatty(STDERR_FILENO) != 0;
}

bool can_color() {
    return can_redraw() && !is_set("NO_COLOR");
}

int terminal_columns(int descriptor) {
    constexpr int usual = 80;
    winsize size = {};
    const bool is_known = ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return is_known ? size.ws_col : usual;
}

std::string fitted(const std::vector<std::string>& parts, const std::vector<size_t>& droppable,
                   int columns) {
    std::vector<std::string> kept = parts;
    const auto line = [&] {
        std::string text;
        for (const std::string& part : kept) text += part;
        return text;
    };
    const auto room = static_cast<size_t>(std::max(columns, 0));
    for (const size_t index : droppable)
        if (line().size() > room) kept[index].clear();
    return line().substr(0, room);
}

int columns_beside_bar() {
    // "[", the bar, "] ", "100%", two spaces. The last column stays free, because a full line may
    // wrap.
    constexpr int around_bar = 9;
    return terminal_columns(STDERR_FILENO) - bar_width - around_bar - 1;
}

std::string progress_bar(double share) {
    const int n_full = std::clamp(static_cast<int>(bar_width * share), 0, bar_width);
    const std::string full(static_cast<size_t>(n_full), '#');
    const std::string rest(static_cast<size_t>(bar_width - n_full), '.');
    char percent[8];
    std::snprintf(percent, sizeof percent, "%3d%%",
                  std::clamp(static_cast<int>(100 * share), 0, 100));
    const std::string bar = can_color() ? "[\033[32m" + full + "\033[0m" : "[" + full;
    return bar + rest + "] " + percent + "  ";
}

Progress::Progress(int n_stages, bool is_silent)
    : n_stages_(n_stages), is_silent_(is_silent), is_terminal_(can_redraw()), start_s_(now_s()) {}

// Starts a new line, so that an error message does not follow the bar.
Progress::~Progress() {
    erase();
}

void Progress::stage(const std::string& text) {
    if (is_silent_) return;
    if (is_terminal_)
        draw(text);
    else
        print_error("surrogate: " + std::to_string(done_ + 1) + " of " + std::to_string(n_stages_) +
                    ": " + text + " (" + seconds_text() + ")");
    ++done_;
}

void Progress::finish() {
    if (is_silent_) return;
    erase();
    if (!is_terminal_) print_error("surrogate: done (" + seconds_text() + ")");
    is_silent_ = true;
}

void Progress::draw(const std::string& text) const {
    // Adds a little to the fraction, so that 3 of 10 does not become 29 %.
    redraw(progress_bar((done_ + 1e-6) / std::max(1, n_stages_)),
           fitted({text}, {}, columns_beside_bar()));
}

void Progress::erase() const {
    if (is_silent_ || !is_terminal_ || done_ == 0) return;
    redraw("", "");
}

std::string Progress::seconds_text() const {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f s", now_s() - start_s_);
    return text;
}

}  // namespace surrogate::tool
