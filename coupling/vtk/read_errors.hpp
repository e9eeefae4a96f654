// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vtkSmartPointer.h>

#include <string>

class vtkOutputWindow;

namespace surrogate::vtk {

/// While it lives, what VTK reports is kept instead of printed. VTK's readers report through inner
/// objects that cannot be observed one by one, so this changes two globals of VTK and restores
/// them: one at a time in a process.
class ReadErrors {
public:
    ReadErrors();
    ~ReadErrors();
    ReadErrors(const ReadErrors&) = delete;
    ReadErrors& operator=(const ReadErrors&) = delete;

    /// The first report, one line; "" if there was none.
    std::string text() const;

private:
    vtkSmartPointer<vtkOutputWindow> previous_;
    int previous_verbosity_;
};

}  // namespace surrogate::vtk
