// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace surrogate::tool {

/// Standard error is a terminal that a bar can be drawn on; and one that shows colours (not with
/// NO_COLOR).
bool can_redraw();
bool can_color();

/// Returns the columns of a terminal; 80 where the descriptor does not say.
int terminal_columns(int descriptor);

/// Returns the parts of a line, joined, in at most `columns` characters: leaves out the parts with
/// the indices `droppable`, one after the other, until the line fits, and cuts the rest.
std::string fitted(const std::vector<std::string>& parts, const std::vector<size_t>& droppable,
                   int columns);

/// The columns that a line beside a progress bar may have on this terminal.
int columns_beside_bar();

/// "[####....]  42%  ", of 0 .. 1.
std::string progress_bar(double share);

/// Tells a person how far a verb is, on stderr: on a terminal one line with a bar that is drawn
/// again, elsewhere (a log) one plain line a stage. Silent if asked to be. Colours only on a
/// terminal and without NO_COLOR.
class Progress {
public:
    /// is_silent: on all ranks but one, and with --quiet.
    Progress(int n_stages, bool is_silent);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    /// The next of the n_stages begins: "reading the mesh".
    void stage(const std::string& text);

    /// All stages are done: the bar goes away, the log gets the time.
    void finish();

    /// Takes the bar away until the next stage, so that something else can be printed.
    void erase() const;

private:
    void draw(const std::string& text) const;
    std::string seconds_text() const;

    int n_stages_, done_ = 0;
    bool is_silent_, is_terminal_;
    double start_s_;
};

}  // namespace surrogate::tool
