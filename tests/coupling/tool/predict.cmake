# SPDX-License-Identifier: Apache-2.0
# `surrogate predict`, from inside and from outside.
surrogate_add_mpi_test(predict_test RANKS 1 2 3 SOURCES predict_test.cpp predict_classes_test.cpp predict_output_test.cpp
    predict_places_test.cpp predict_ranges_test.cpp predict_scatter_test.cpp predict_series_test.cpp
    predict_numbers_test.cpp predict_vectors_test.cpp predict_weights_test.cpp ../mesh/shared_rows_test.cpp
    LINK surrogate_tool surrogate_mesh_file VTK::CommonDataModel VTK::IOXML)
surrogate_add_mpi_test(predict_hostile_test RANKS 1 2 3 SOURCES predict_hostile_test.cpp
    LINK hostile_meshes surrogate_tool surrogate_mesh_file VTK::CommonDataModel VTK::IOXML)
surrogate_add_mpi_test(predict_sphere_test RANKS 1 2 3 SOURCES predict_sphere_test.cpp
    LINK surrogate_tool surrogate_mesh_file VTK::CommonDataModel VTK::IOXML)
# The program itself: options and exit status.
add_test(NAME predict_program COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/predict_program.sh
    $<TARGET_FILE:surrogate_program> ${PROJECT_SOURCE_DIR}/share/models/darcy_flow.safetensors
    ${CMAKE_CURRENT_BINARY_DIR}/predict_program)
# Another reader of VTK's files, skipped by name where Python has it not.
set(meshio_python ${SURROGATE_PYTHON})
if(NOT meshio_python)
    find_program(SURROGATE_PYTHON3 python3)
    mark_as_advanced(SURROGATE_PYTHON3)
    set(meshio_python ${SURROGATE_PYTHON3})
endif()
if(meshio_python)
    add_test(NAME predict_meshio COMMAND ${meshio_python} ${CMAKE_CURRENT_SOURCE_DIR}/predict_meshio_test.py
        $<TARGET_FILE:surrogate_program> ${PROJECT_SOURCE_DIR}/share/models/darcy_flow.safetensors
        ${CMAKE_CURRENT_BINARY_DIR}/predict_meshio)
else()
    add_test(NAME predict_meshio COMMAND ${CMAKE_COMMAND} -E echo "SKIPPED: there is no python3")
endif()
set_tests_properties(predict_meshio PROPERTIES TIMEOUT ${surrogate_test_seconds} SKIP_REGULAR_EXPRESSION "SKIPPED: "
    ENVIRONMENT "PYTHONDONTWRITEBYTECODE=1;${surrogate_test_environment}")
