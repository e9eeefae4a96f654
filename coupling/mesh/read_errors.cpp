// SPDX-License-Identifier: Apache-2.0
#include "coupling/mesh/read_errors.hpp"

#include <vtkLogger.h>
#include <vtkObjectFactory.h>
#include <vtkOutputWindow.h>

namespace surrogate::vtk {

namespace {

// VTK's macro needs no semicolon; the formatter misreads it.
// clang-format off
class KeepingWindow : public vtkOutputWindow {
public:
    static KeepingWindow* New();
    vtkTypeMacro(KeepingWindow, vtkOutputWindow)
    void DisplayText(const char* text) override {
        if (first.empty() && text != nullptr) first = text;
    }
    std::string first;
};
// clang-format on
vtkStandardNewMacro(KeepingWindow)

}  // namespace

std::string printable(std::string_view text) {
    constexpr size_t most = 80;
    std::string result(text.substr(0, most));
    for (char& c : result)
        if (c < ' ' || c > '~') c = '?';
    return text.size() > most ? result + ".." : result;
}

// VTK's logger prints to stderr in addition to the window. Its verbosity can be set but not
// queried; the cutoff has the same value unless the process also logs to a file.
ReadErrors::ReadErrors()
    : previous_(vtkOutputWindow::GetInstance()),
      previous_verbosity_(vtkLogger::GetCurrentVerbosityCutoff()) {
    vtkLogger::SetStderrVerbosity(vtkLogger::VERBOSITY_OFF);
    vtkOutputWindow::SetInstance(vtkSmartPointer<KeepingWindow>::New());
}

ReadErrors::~ReadErrors() {
    vtkOutputWindow::SetInstance(previous_);
    vtkLogger::SetStderrVerbosity(static_cast<vtkLogger::Verbosity>(previous_verbosity_));
}

std::string ReadErrors::text() {
    const auto* window = KeepingWindow::SafeDownCast(vtkOutputWindow::GetInstance());
    if (window == nullptr) return "";
    const size_t begin =
        window->first.find("): ");  // after "ERROR: In file, line n\nvtkClass (0x..): "
    const std::string text =
        begin == std::string::npos ? window->first : window->first.substr(begin + 3);
    return text.substr(0, text.find('\n'));
}

}  // namespace surrogate::vtk
