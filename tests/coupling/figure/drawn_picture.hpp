// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vtkImageData.h>
#include <vtkNew.h>
#include <vtkPNGReader.h>

#include <array>
#include <string>

namespace surrogate::test {

constexpr int margin = 12;  // pixels around each panel of a picture

using Pixel = std::array<int, 3>;
constexpr Pixel white_pixel = {255, 255, 255};

/// A PNG file, read back.
class Picture {
public:
    explicit Picture(const std::string& path) {
        reader_->SetFileName(path.c_str());
        reader_->Update();
    }
    int width() const { return reader_->GetOutput()->GetDimensions()[0]; }
    int height() const { return reader_->GetOutput()->GetDimensions()[1]; }

    /// From the lower left corner.
    Pixel at(int x, int y) const {
        const auto* p =
            static_cast<unsigned char*>(reader_->GetOutput()->GetScalarPointer(x, y, 0));
        return {p[0], p[1], p[2]};
    }

    /// Pixels of x0 .. x1 - 1, y0 .. y1 - 1 that are dark and have no hue: letters and lines.
    int n_ink(int x0, int y0, int x1, int y1) const {
        int n = 0;
        for (int y = y0; y < y1; ++y)
            for (int x = x0; x < x1; ++x) {
                const Pixel p = at(x, y);
                n += p[0] < 110 && p[0] == p[1] && p[1] == p[2] ? 1 : 0;
            }
        return n;
    }

private:
    vtkNew<vtkPNGReader> reader_;
};

}  // namespace surrogate::test
