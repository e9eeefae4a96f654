// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vtkSmartPointer.h>

#include <string>
#include <string_view>

class vtkOutputWindow;

namespace surrogate::vtk {

/// Text out of a file for a message: at most 80 bytes, control characters and whatever is not ASCII
/// as "?", so that it cannot steer a terminal.
std::string printable(std::string_view text);

/// While it lives, what VTK reports is kept instead of printed. VTK's readers report through inner
/// objects that cannot be observed one by one, so this changes two globals of VTK and restores
/// them: one at a time in a process.
class ReadErrors {
public:
    ReadErrors();
    ~ReadErrors();
    ReadErrors(const ReadErrors&) = delete;
    ReadErrors& operator=(const ReadErrors&) = delete;

    /// The first report since the last one was made, one line; "" if there was none.
    static std::string text();

private:
    vtkSmartPointer<vtkOutputWindow> previous_;
    int previous_verbosity_;
};

}  // namespace surrogate::vtk
