# SPDX-License-Identifier: Apache-2.0
"""Opens files in ParaView as a person would: every step of time, coloured by every field.

    pvbatch share/paraview/open_all.py out/run.pvd predicted.vtu ..
    xvfb-run -a pvbatch share/paraview/open_all.py out        every file below the folder out
                                                             (xvfb-run where there is no display)

Kinds: .pvd, .vtu .vti .vtp .vts and their parallel forms, .h5 and .nc in the form of netCDF-4 as far
as ParaView shows them: fields of one to three axes. One line a file: steps, points, cells, fields
with their ranges. Ends with status 1 and a line each if ParaView warns, a file has no points or
fields, a field is not finite anywhere (--nan: NaN is expected), or a picture stays empty. Status 2:
no files, or no ParaView. Written for ParaView 5.11.
"""
import math
import os
import re
import sys
import tempfile

try:
    from paraview import simple
    from vtkmodules.util.numpy_support import vtk_to_numpy
except ImportError as error:
    print(f"open_all.py: run it by pvbatch, with ParaView's Python modules: {error}")
    sys.exit(2)

MESHES = (".pvd", ".vtu", ".pvtu", ".vti", ".pvti", ".vtp", ".pvtp", ".vts", ".pvts")
SETS = (".h5", ".nc")


class Complaint(Exception):
    """What is wrong with a file."""


class Words:
    """What ParaView writes to standard error, where its warnings go without its own window."""

    def __init__(self):
        self.file = tempfile.TemporaryFile()
        self.stderr = os.dup(2)
        os.dup2(self.file.fileno(), 2)
        self.read = 0

    def warnings(self):
        """Lines since the last call that warn; all lines go on to standard error."""
        text = os.pread(self.file.fileno(), 1 << 24, self.read)
        self.read += len(text)
        os.write(self.stderr, text)
        lines = re.sub(r"\x1b\[[0-9;]*m", "", text.decode(errors="replace")).splitlines()
        return [line for line in lines if re.search(r"(WARN|ERR|FATL)\||Warning:|ERROR:|Traceback", line)]


def files_of(names):
    """The files themselves, and those below folders, in order."""
    files = []
    for name in names:
        if not os.path.isdir(name):
            files.append(name)
            continue
        for folder, _, found in sorted(os.walk(name)):
            files += [os.path.join(folder, f) for f in sorted(found) if f.endswith(MESHES + SETS)]
    return files


def open_set(name):
    source = simple.NetCDFReader(FileName=[name])
    axes = str(source.GetPropertyValue("Dimensions")).strip("'")
    if axes.count(",") > 2:
        raise Complaint(f"fields over {axes}: ParaView's netCDF reader shows three axes at most")
    return source


def open_file(name):
    if not os.path.isfile(name):
        raise Complaint("there is no such file")
    if name.endswith(SETS):
        # Fields are shown on their axes; the dimensions of a data set are no sphere for ParaView.
        return open_set(name)
    if not name.endswith(MESHES):
        raise Complaint("none of the kinds " + " ".join(MESHES + SETS))
    source = simple.OpenDataFile(name)
    if source is None:
        raise Complaint("ParaView has no reader for it")
    return source


def fields_of(source):
    """(place, array) of every field."""
    info = source.GetDataInformation()
    for place, arrays in (("POINTS", info.GetPointDataInformation()), ("CELLS", info.GetCellDataInformation())):
        for i in range(arrays.GetNumberOfArrays()):
            array = arrays.GetArrayInformation(i)
            if not array.GetName().startswith("vtk"):  # vtkGhostType
                yield place, array


def range_of(array, allows_nan):
    component = -1 if array.GetNumberOfComponents() > 1 else 0  # -1: the length
    low, high = array.GetComponentFiniteRange(component)
    if not (math.isfinite(low) and math.isfinite(high)) or low > high:
        raise Complaint(f"field {array.GetName()} has no finite value")
    ends = array.GetComponentRange(component)
    if not allows_nan and not all(math.isfinite(end) for end in ends):
        raise Complaint(f"field {array.GetName()} has values from {ends[0]} to {ends[1]}")
    return low, high


def has_picture(view):
    """Whether anything but the background was drawn."""
    pixels = vtk_to_numpy(view.SMProxy.CaptureWindow(1).GetPointData().GetScalars())
    return bool((pixels != pixels[0]).any())


def draw(source, view, allows_nan):
    """Colours by each field; returns their ranges by name."""
    if not any(True for _ in fields_of(source)):
        raise Complaint("it has no fields; of .h5 and .nc ParaView reads the root group")
    display = simple.Show(source, view)
    extent = source.GetDataInformation().GetExtent()
    if sum(extent[i + 1] > extent[i] for i in (0, 2, 4)) == 1:  # a column of numbers has no surface
        display.SetRepresentationType("Points")
    elif display.Representation == "Outline":  # what ParaView takes for volumes and large structured files
        display.SetRepresentationType("Surface")
    simple.ResetCamera(view)
    ranges = {}
    for place, array in fields_of(source):
        ranges[array.GetName()] = range_of(array, allows_nan)
        simple.ColorBy(display, (place, array.GetName()))
        display.RescaleTransferFunctionToDataRange(False, True)
        simple.Render(view)
        if not has_picture(view):
            raise Complaint(f"coloured by {array.GetName()} the picture is empty")
    return ranges


def look_at(name, view, allows_nan):
    """One line about the file."""
    source = open_file(name)
    source.UpdatePipelineInformation()
    times = list(getattr(source, "TimestepValues", None) or []) or [None]
    ranges = {}
    n_points = n_cells = 0
    for time in times:
        if time is not None:
            view.ViewTime = time
        source.UpdatePipeline() if time is None else source.UpdatePipeline(time)
        info = source.GetDataInformation()
        n_points, n_cells = info.GetNumberOfPoints(), info.GetNumberOfCells()
        if n_points == 0 or n_cells == 0:
            raise Complaint(f"{n_points} points and {n_cells} cells" + ("" if time is None else f" at {time}"))
        for field, (low, high) in draw(source, view, allows_nan).items():
            known = ranges.get(field, (low, high))
            ranges[field] = (min(low, known[0]), max(high, known[1]))
    simple.Hide(source, view)
    simple.Delete(source)
    fields = ", ".join(f"{field} {low:.6g} .. {high:.6g}" for field, (low, high) in sorted(ranges.items()))
    steps = "no time" if times == [None] else f"{len(times)} steps, {times[0]:g} .. {times[-1]:g}"
    return f"{name}: {steps}, {n_points} points, {n_cells} cells, {fields}"


def main(arguments):
    allows_nan = "--nan" in arguments
    files = files_of(a for a in arguments if a != "--nan")
    if not files:
        print(__doc__)
        return 2
    words = Words()
    simple._DisableFirstRenderCameraReset()
    view = simple.CreateView("RenderView")
    view.ViewSize = [300, 200]
    n_bad = 0
    for name in files:
        try:
            line = look_at(name, view, allows_nan)
            said = words.warnings()
            if said:
                raise Complaint("ParaView says: " + said[0].strip())
            print(line)
        except (Complaint, RuntimeError) as problem:
            words.warnings()
            n_bad += 1
            print(f"{name}: BAD: {problem}")
        sys.stdout.flush()
    print(f"{len(files) - n_bad} of {len(files)} files are shown as they should be, ParaView {simple.GetParaViewVersion()}")
    return 1 if n_bad else 0


status = main(sys.argv[1:])
sys.stdout.flush()
os._exit(status)  # pvbatch 5.11 crashes now and then while it ends, and its status is then not ours
