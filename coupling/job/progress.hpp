// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace surrogate::tool {

/// Returns true if standard error is a terminal on which a bar can be drawn; can_color()
/// returns true if it shows colors (not with NO_COLOR).
bool can_redraw();
bool can_color();

/// Returns the columns of a terminal; 80 if the descriptor has no size.
int terminal_columns(int descriptor);

/// Returns the parts of a line, joined, in at most `columns` characters. Omits the parts with the
/// indices `droppable`, one after the other, until the line fits, and shortens the rest.
std::string fitted(const std::vector<std::string>& parts, const std::vector<size_t>& droppable,
                   int columns);

/// Returns the columns available beside a progress bar on this terminal.
int columns_beside_bar();

/// Returns "[####....]  42%  " for a fraction in 0 .. 1.
std::string progress_bar(double share);

/// Prints the progress of a command to stderr: on a terminal one line with a bar that is redrawn,
/// elsewhere (a log) one plain line per stage. Prints nothing with `is_silent`. Uses colors only on
/// a terminal without NO_COLOR.
class Progress {
public:
    /// Starts the clock. is_silent: on all ranks but one, and with --quiet.
    Progress(int n_stages, bool is_silent);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    /// Starts the next of the n_stages, for example "reading the mesh".
    void stage(const std::string& text);

    /// Ends the last stage: erases the bar, prints the time to a log.
    void finish();

    /// Erases the bar until the next stage, so that other text can be printed.
    void erase() const;

private:
    void draw(const std::string& text) const;
    std::string seconds_text() const;

    int n_stages_, done_ = 0;
    bool is_silent_, is_terminal_;
    double start_s_;
};

}  // namespace surrogate::tool
