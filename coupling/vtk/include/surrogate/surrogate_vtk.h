/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SURROGATE_VTK_H
#define SURROGATE_VTK_H

/* Writes fields to files that ParaView opens: a time series (.pvd) of meshes in pieces, one piece
 * per rank, and images (.png). C99; this header includes neither MPI nor VTK: rank and size are
 * arguments, and the caller gathers the records of the pieces.
 *
 *     surrogate_series *series = NULL;                                // on every rank
 *     surrogate_series_create("out/run.pvd", rank, size, &series);
 *     for (...) {
 *         surrogate_piece mine;                                       // writes this rank's piece
 *         surrogate_series_write_image(series, time_s, &image, n_fields, fields, &mine);
 *         MPI_Gather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, 0, comm);
 *         if (rank == 0) surrogate_series_publish(series, size, all); // adds it to out/run.pvd
 *     }
 *     surrogate_series_close(&series);
 *
 * The gather synchronizes the ranks: rank 0 publishes a step only when every piece of it has been
 * written, and publishes nothing if one failed. Hence out/run.pvd never names a missing file, and a
 * run killed at any time leaves a series that opens. On one rank call publish(series, 1, &mine)
 * right after the write.
 *
 * Files:  out/run.pvd                     the series: open this one in ParaView
 *         out/run/step_000012.pvti        one step (.pvtu for meshes, .pvts for spheres); on one
 *                                         rank directly step_000012.vti (.vtu, .vts)
 *         out/run/step_000012_0003.vti    the piece of rank 3; a rank without points has no file
 *
 * Functions are local (no communication), never print, and return a surrogate_status;
 * surrogate_vtk_error() and surrogate_error(NULL) return the text. A series is used by one thread
 * at a time. In C++: surrogate_vtk.hpp. */

#include <surrogate/surrogate.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the text of this thread's last failed call of this header. Right after the failure
 * surrogate_error(NULL) returns the same text. Never NULL; valid until the next failure on this
 * thread. Local. Errors: none. */
SURROGATE_API const char* surrogate_vtk_error(void);

/* ---- meshes and fields ----------------------------------------------------------------------- */

/* Describes points, with or without cells. Written as an unstructured grid, coordinates in double.
 * A rank may have no points. */
typedef struct surrogate_mesh {
    surrogate_array points; /* [n_points, 1..3] float or double, any stride; missing axes are 0 */
    int64_t n_cells; /* 0: every point becomes a vertex cell (cell fields have n_points rows) */
    /* [n_cells + 1] in connectivity: the points of cell i have the indices offsets[i] ..
     * offsets[i + 1] - 1 */
    const int64_t* offsets;
    const int64_t* connectivity; /* local point numbers, in VTK's order of the cell's corners */
    /* [n_cells] VTK's cell types, such as 3 line, 5 triangle, 9 quadrangle, 10 tetrahedron, 12
     * hexahedron */
    const uint8_t* types;
} surrogate_mesh;

/* Describes a rank's block of a uniform grid. Extents count grid points: {x first, x last, y
 * first, y last, z first, z last}. A plane grid has z first = z last (and dz > 0).
 *   Cell fields: a DMDA that owns the cells xs .. xs + xm - 1, ys .. ys + ym - 1 writes {xs, xs +
 *   xm, ys, ys + ym, 0, 0}. Point fields: VTK's blocks share their border points; a block must
 *   reach the first point of its neighbor: {xs, min(xs + xm, last), ..}, with the neighbor's values
 *   there (a local vector with one layer of ghosts).
 * A block without cells of the whole grid (last < first, or flat where the whole is not) has no
 * file. */
typedef struct surrogate_image {
    int32_t whole_extent[6]; /* of all ranks: {0, n, 0, m, 0, 0} for a grid of n x m cells */
    int32_t extent[6];       /* of this rank's block */
    double origin[3];        /* coordinates of grid point 0, 0, 0 */
    double spacing[3];       /* distances between grid points, > 0 */
} surrogate_image;

/* Locations of a field's values. */
enum {
    SURROGATE_POINT = 0, /* at points */
    SURROGATE_CELL = 1   /* at cells */
};

/* Describes a rank's complete rows of a spherical grid. Written as a curvilinear grid with a closed
 * seam: the first column is repeated after the last. Point fields only, [n, n_component] with n =
 * (n_lat_local + n_overlap) * n_lon, longitude fastest.
 * Rows without cells (fewer than two, with the overlap) have no file: the previous rank has them.
 * Poles: a globe (is_lon_lat 0) whose first or last row is not at a pole, but within 180 / n_lat
 * degrees of it, is closed by a cap: one more row in the file, at the pole, with the mean of the
 * adjacent row for each component (`surrogate predict` recognizes it; see "poles" of
 * surrogate_series_set). The owner of the adjacent row writes it and always has a file. */
typedef struct surrogate_sphere_surface {
    int64_t n_lat; /* rows of the whole sphere, at least 2 */
    int64_t n_lon; /* columns of the whole sphere, at least 3 */
    /* this rank's first row, in the order of the solver: from north to south or from south to
     * north */
    int64_t first_lat;
    int64_t n_lat_local; /* number of this rank's rows; may be 0 */
    /* [n_lat_local + n_overlap] degrees north of the rows, in one direction */
    const double* latitude;
    /* [n_lon] degrees east, eastwards once around (360 may be at any column); NULL: 360 * column /
     * n_lon */
    const double* longitude;
    double radius; /* of the sphere, > 0, in any unit */
    /* 0: points are x, y, z on the sphere, in the unit of the radius; 1: points are (longitude,
     * latitude, radius), degrees: a map. The repeated column is 360 degrees east of the first */
    int32_t is_lon_lat;
    /* 1: latitude and the fields have one more row, the first row of the rank that owns row
     * first_lat + n_lat_local, with its values. Pieces share their border points: every rank sets 1
     * except the owner of the last row, which sets 0 */
    int32_t n_overlap;
} surrogate_sphere_surface;

/* Describes a field of this rank's piece. */
typedef struct surrogate_series_field {
    /* array name in the file: the name of the model's card, so that `surrogate predict` finds it */
    const char* name;
    /* stored as the array's VTK attribute UNITS_LABEL (and in its name with the option
     * unit_in_name, see surrogate_series_set); NULL: none */
    const char* unit;
    int32_t location; /* SURROGATE_POINT or SURROGATE_CELL */
    /* [n, n_component], any stride and dtype, on the host; written in its dtype. n: points or cells
     * of this rank's mesh; in images x is the fastest, then y, then z */
    surrogate_array array;
} surrogate_series_field;

/* ---- time series ----------------------------------------------------------------------------- */

/* A time series of files that is being written. */
typedef struct surrogate_series surrogate_series;

/* Record of a rank's write; plain bytes, to be gathered on rank 0 in the order of ranks, for
 * example as MPI_BYTE. */
typedef struct surrogate_piece {
    surrogate_status status; /* of the write */
    int32_t step;            /* 0, 1, ..: counts the writes of the series */
    int32_t kind;            /* 0 mesh, 1 image, 2 sphere */
    int32_t extent[6];       /* of this rank's image or sphere; 0 for a mesh */
    int32_t whole_extent[6]; /* of the whole image or sphere; 0 for a mesh */
    int32_t reserved;        /* 0 */
    int64_t n_points;        /* in the file; 0: no file */
    int64_t n_cells;         /* in the file */
    uint64_t layout;         /* fingerprint of field names, types, components and locations */
} surrogate_piece;

/* Creates a series at `path`, which ends in .pvd and has no control characters, since XML cannot
 * hold them; its directory must exist. Every rank calls it with the same path. Rank 0 removes an
 * existing series of that name (the .pvd only; later writes replace its other files). The caller
 * closes the series. Local. Errors: INVALID_ARGUMENT (path, rank, size), IO. */
SURROGATE_API surrogate_status surrogate_series_create(const char* path, int32_t rank, int32_t size,
                                                       surrogate_series** series);

/* Sets an option before the first write, to the same value on every rank:
 *   compress      lz4 (default), none, zlib (30 times slower, a fifth smaller: for archives)
 *   unit_in_name  false (default), true: arrays are called "pressure [Pa]"
 *   poles         closed (default): caps on globes without pole rows; open: the rows of the grid
 * Local. Errors: UNKNOWN_NAME, INVALID_ARGUMENT. */
SURROGATE_API surrogate_status surrogate_series_set(surrogate_series* series, const char* key,
                                                    const char* value);

/* Writes this rank's piece of one step on a mesh. Every rank calls it for every step, with the same
 * fields in the same order (a rank without points passes arrays of shape {0, n_component}) and with
 * the same kind of mesh. piece is always filled, also on error (piece->status), so that it can be
 * gathered without a branch. If a rank fails, publish returns an error, and the next step may be
 * tried.
 *   time_s  seconds, finite, larger than the time of the last published step
 * Local. Errors: INVALID_ARGUMENT, SHAPE (names the field), IO, NO_MEMORY. */
SURROGATE_API surrogate_status surrogate_series_write_mesh(surrogate_series* series, double time_s,
                                                           const surrogate_mesh* mesh,
                                                           int32_t n_fields,
                                                           const surrogate_series_field* fields,
                                                           surrogate_piece* piece);

/* Writes this rank's piece of one step on a block of a uniform grid, as
 * surrogate_series_write_mesh. Local. Errors: as there. */
SURROGATE_API surrogate_status surrogate_series_write_image(surrogate_series* series, double time_s,
                                                            const surrogate_image* image,
                                                            int32_t n_fields,
                                                            const surrogate_series_field* fields,
                                                            surrogate_piece* piece);

/* Writes this rank's piece of one step on rows of a sphere, as surrogate_series_write_mesh.
 * Local. Errors: as there. */
SURROGATE_API surrogate_status surrogate_series_write_sphere(
    surrogate_series* series, double time_s, const surrogate_sphere_surface* surface,
    int32_t n_fields, const surrogate_series_field* fields, surrogate_piece* piece);

/* Adds a step that all ranks have written to the series; rank 0 calls it. Writes the summary file
 * of the step, then replaces the .pvd atomically. The series does not change if a piece failed,
 * belongs to another step or has other fields, or if blocks of an image or rows of a sphere leave
 * gaps.
 *   pieces  [size], in the order of ranks
 * Local. Errors: INVALID_ARGUMENT (not rank 0, no write before), IO (or the status of the failed
 * rank), SHAPE. */
SURROGATE_API surrogate_status surrogate_series_publish(surrogate_series* series, int32_t n_pieces,
                                                        const surrogate_piece* pieces);

/* Frees the series. Its files are already complete. Accepts NULL, sets the handle to NULL.
 * Local. Errors: none. */
SURROGATE_API void surrogate_series_close(surrogate_series** series);

/* ---- images ---------------------------------------------------------------------------------- */

/* Color maps. */
enum {
    /* dark blue, green, light yellow: increasing lightness */
    SURROGATE_COLOR_SEQUENTIAL = 0,
    /* blue, white, red: for differences, with min = -max */
    SURROGATE_COLOR_DIVERGING = 1,
    /* orange, red, dark violet: decreasing lightness, never white: for lines on white */
    SURROGATE_COLOR_ON_WHITE = 2
};

/* Describes one field on a grid. Values beyond min and max have the color of the end, NaN and
 * infinity are gray. */
typedef struct surrogate_png_panel {
    /* [n_x, n_y], float or double, any stride: element (i, j) is drawn at column i from the left
     * and row j from the bottom. Natural order of a DMDA (x fastest): stride {1, n_x}; an array
     * [i][j]: stride {n_y, 1} */
    surrogate_array values;
    double min;        /* lower end of the colors; min = max = 0: the smallest finite value */
    double max;        /* upper end of the colors; min = max = 0: the largest finite value */
    int32_t color_map; /* SURROGATE_COLOR_.. */
} surrogate_png_panel;

/* Writes an image of one or several panels side by side, each above its color bar, all scaled by
 * integers to the same height of at least 400 pixels. Needs no display. Local: one rank that has
 * the whole field calls it. Errors: INVALID_ARGUMENT, SHAPE, LIMIT (too wide), IO. */
SURROGATE_API surrogate_status surrogate_png_write(const char* path, int32_t n_panels,
                                                   const surrogate_png_panel* panels);

/* Frames of a panel. */
enum {
    SURROGATE_FRAME_NONE = 0, /* none */
    SURROGATE_FRAME_AXES = 1, /* numbers, names and units along the left and the lower edge */
    SURROGATE_FRAME_SCALE = 2 /* a bar of a round length below: for views without axes */
};

/* Colors of NaN. */
enum {
    SURROGATE_NAN_GRAY = 0,    /* NaN marks an error */
    SURROGATE_NAN_WHITE = 1,   /* NaN marks points outside the domain */
    SURROGATE_NAN_OUTLINED = 2 /* as WHITE, with a gray line around the domain */
};

/* Describes an edge of a panel as an axis. Its ends are the outer sides of the first and the last
 * value of the edge. */
typedef struct surrogate_png_axis {
    const char* name; /* such as "x"; NULL or "": none */
    const char* unit; /* such as "m"; NULL or "": none */
    double first;     /* coordinate of the left or lower end, finite */
    double last;      /* coordinate of the right or upper end, finite, not equal to first */
} surrogate_png_axis;

/* Describes the text of a panel. All zero: none. Texts are UTF-8, one line, at most 200 bytes, and
 * used during the call only. */
typedef struct surrogate_png_label {
    const char* title;    /* above the panel; NULL or "": none */
    const char* quantity; /* below the color bar, as "pressure [Pa]"; NULL or "": none */
    const char* unit;     /* of the quantity; NULL or "": none */
    surrogate_png_axis x; /* lower edge; read if frame is AXES or SCALE */
    surrogate_png_axis y; /* left edge; read if frame is AXES */
    int32_t frame;        /* SURROGATE_FRAME_.. */
    int32_t nan;          /* SURROGATE_NAN_..; infinity is gray in any case */
    /* 1: values, min and max are logarithms to base 10, and the color bar is labeled with their
     * powers of 10 */
    int32_t is_log10;
} surrogate_png_label;

/* Writes the image of surrogate_png_write with text on white: a heading over all panels (NULL:
 * none), the texts of labels [n_panels], and numbers at each color bar. The font size is
 * proportional to the width of the image. Local. Errors: as there; INVALID_ARGUMENT also for
 * invalid texts, axes and numbers. */
SURROGATE_API surrogate_status surrogate_png_write_labeled(const char* path, const char* heading,
                                                           int32_t n_panels,
                                                           const surrogate_png_panel* panels,
                                                           const surrogate_png_label* labels);

#ifdef __cplusplus
}
#endif

#endif
