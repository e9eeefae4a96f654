# SPDX-License-Identifier: Apache-2.0
# cmake --build build --target guide: the pages of share/doc and the interfaces as HTML, guide/html/index.html in the build
# folder. Needs Doxygen and Python.
find_package(Doxygen QUIET)
find_program(SURROGATE_PYTHON3 python3)
mark_as_advanced(SURROGATE_PYTHON3)
set(guide_missing "")
if(NOT DOXYGEN_FOUND)
    set(guide_missing "Doxygen was not found; Debian: apt-get install doxygen")
elseif(NOT SURROGATE_PYTHON3)
    set(guide_missing "there is no python3")
endif()
if(guide_missing)
    add_custom_target(guide COMMAND ${CMAKE_COMMAND} -E echo "no guide: ${guide_missing}" COMMAND ${CMAKE_COMMAND} -E false
        VERBATIM)
    return()
endif()
set(guide_folder ${PROJECT_BINARY_DIR}/guide)
configure_file(${PROJECT_SOURCE_DIR}/share/cmake/guide/Doxyfile.in ${PROJECT_BINARY_DIR}/guide.doxyfile @ONLY)
add_custom_target(guide
    COMMAND ${SURROGATE_PYTHON3} ${PROJECT_SOURCE_DIR}/share/cmake/guide/pages.py ${PROJECT_SOURCE_DIR} ${guide_folder}
    COMMAND ${DOXYGEN_EXECUTABLE} ${PROJECT_BINARY_DIR}/guide.doxyfile
    COMMAND ${CMAKE_COMMAND} -E echo "the guide: ${guide_folder}/html/index.html"
    VERBATIM COMMENT "Making the guide")
