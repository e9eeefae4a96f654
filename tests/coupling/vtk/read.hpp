// SPDX-License-Identifier: Apache-2.0
#pragma once

// Reading back through VTK's own readers what the library wrote, for tests.

#include <vtkDataArray.h>
#include <vtkDataSet.h>
#include <vtkNew.h>
#include <vtkSmartPointer.h>
#include <vtkXMLDataElement.h>
#include <vtkXMLUtilities.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace surrogate::test {

/// An empty folder of this process; removed at the end.
class Folder {
public:
    Folder() {
        std::string name = (std::filesystem::temp_directory_path() / "surrogate_XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
        path_ = name;
    }
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    std::string operator/(const std::string& file) const { return path_ + "/" + file; }

private:
    std::string path_;
};

/// The dataset of a file, complete (all pieces).
template <class Reader>
vtkSmartPointer<vtkDataSet> read(const std::string& path) {
    vtkNew<Reader> reader;
    reader->SetFileName(path.c_str());
    reader->Update();
    return vtkDataSet::SafeDownCast(reader->GetOutputDataObject(0));
}

struct PvdStep {
    double time_s;
    std::string file;
};

inline std::vector<PvdStep> read_pvd(const std::string& path) {
    const auto root = vtkSmartPointer<vtkXMLDataElement>::Take(
        vtkXMLUtilities::ReadElementFromFile(path.c_str()));
    if (root == nullptr) throw std::runtime_error("no XML in " + path);
    vtkXMLDataElement* collection = root->FindNestedElementWithName("Collection");
    std::vector<PvdStep> steps;
    for (int i = 0; collection != nullptr && i < collection->GetNumberOfNestedElements(); ++i) {
        vtkXMLDataElement* step = collection->GetNestedElement(i);
        double time_s = 0;
        step->GetScalarAttribute("timestep", time_s);
        steps.push_back({time_s, step->GetAttribute("file")});
    }
    return steps;
}

inline std::string bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace surrogate::test
