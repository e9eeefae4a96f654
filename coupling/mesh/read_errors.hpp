// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vtkSmartPointer.h>

#include <string>
#include <string_view>

class vtkOutputWindow;

namespace surrogate::vtk {

/// Returns text from a file for a message: at most 80 bytes, with "?" for control characters and
/// all bytes that are not ASCII, so that it cannot control a terminal.
std::string printable(std::string_view text);

/// While an object exists, errors that VTK reports are stored instead of printed. VTK's readers
/// report through inner objects that cannot be observed one by one, so this changes two globals of
/// VTK and restores them. At most one object may exist in a process.
class ReadErrors {
public:
    ReadErrors();
    ~ReadErrors();
    ReadErrors(const ReadErrors&) = delete;
    ReadErrors& operator=(const ReadErrors&) = delete;

    /// Returns the first report since the newest object was created, as one line; "" without a
    /// report.
    static std::string text();

private:
    vtkSmartPointer<vtkOutputWindow> previous_;
    int previous_verbosity_;
};

}  // namespace surrogate::vtk
