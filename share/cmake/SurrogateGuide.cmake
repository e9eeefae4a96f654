# SPDX-License-Identifier: Apache-2.0
# cmake --build build --target guide: the pages of share/doc and the interfaces as HTML by Sphinx, guide/html/index.html
# in the build folder. Needs Doxygen and Sphinx with MyST, Breathe and the theme of Read the Docs (list packages_guide
# of share/packages.sh).
find_package(Doxygen QUIET)
find_program(SURROGATE_PYTHON3 python3)
find_program(SURROGATE_SPHINX_BUILD sphinx-build DOC "Builds the HTML guide")
mark_as_advanced(SURROGATE_PYTHON3 SURROGATE_SPHINX_BUILD)

# Names a missing part in <variable>, "" if the guide can be built. Sphinx imports with the Python of its own first line.
function(surrogate_find_guide_parts variable)
    set(missing "")
    if(NOT SURROGATE_PYTHON3)
        set(missing python3)
    elseif(NOT DOXYGEN_FOUND)
        set(missing doxygen)
    elseif(NOT SURROGATE_SPHINX_BUILD)
        set(missing sphinx-build)
    else()
        file(STRINGS ${SURROGATE_SPHINX_BUILD} first LIMIT_COUNT 1)
        string(REGEX REPLACE "^#! *" "" python "${first}")
        foreach(module myst_parser breathe sphinx_rtd_theme)
            execute_process(COMMAND ${python} -c "import ${module}" RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
            if(failed)
                set(missing "Python module ${module}")
            endif()
        endforeach()
    endif()
    set(${variable} "${missing}" PARENT_SCOPE)
endfunction()

# Configures the guide into a folder; <commands> are those that build it. Warnings of Doxygen and Sphinx are errors.
macro(surrogate_configure_guide folder)
    set(guide_folder ${folder})
    configure_file(${PROJECT_SOURCE_DIR}/share/cmake/guide/Doxyfile.in ${guide_folder}/Doxyfile @ONLY)
    configure_file(${PROJECT_SOURCE_DIR}/share/cmake/guide/conf.py.in ${guide_folder}/conf/conf.py @ONLY)
    set(guide_scripts ${PROJECT_SOURCE_DIR}/share/cmake/guide)
    set(guide_stage ${SURROGATE_PYTHON3} ${guide_scripts}/stage.py ${PROJECT_SOURCE_DIR} ${guide_folder}/pages)
    set(guide_headers ${SURROGATE_PYTHON3} ${guide_scripts}/headers.py ${PROJECT_SOURCE_DIR} ${guide_folder}/headers)
    set(guide_examples ${CMAKE_COMMAND} -E copy_directory ${PROJECT_SOURCE_DIR}/examples ${guide_folder}/extra/examples)
    set(guide_recipes ${CMAKE_COMMAND} -E copy_directory ${PROJECT_SOURCE_DIR}/share/recipes ${guide_folder}/extra/recipes)
    set(guide_sphinx ${SURROGATE_SPHINX_BUILD} -q -W --keep-going -c ${guide_folder}/conf -d ${guide_folder}/doctrees
        ${guide_folder}/pages ${guide_folder}/html)
endmacro()

surrogate_find_guide_parts(guide_missing)
if(guide_missing)
    add_custom_target(guide COMMAND ${CMAKE_COMMAND} -E echo "no guide: ${guide_missing} was not found; Debian: \
apt-get install doxygen python3-sphinx python3-myst-parser python3-breathe python3-sphinx-rtd-theme"
        COMMAND ${CMAKE_COMMAND} -E false VERBATIM)
    return()
endif()
surrogate_configure_guide(${PROJECT_BINARY_DIR}/guide)
add_custom_target(guide COMMAND ${guide_stage} COMMAND ${guide_headers} COMMAND ${guide_examples} COMMAND ${guide_recipes}
    COMMAND ${DOXYGEN_EXECUTABLE} ${guide_folder}/Doxyfile COMMAND ${guide_sphinx}
    COMMAND ${CMAKE_COMMAND} -E echo "the guide: ${guide_folder}/html/index.html"
    VERBATIM COMMENT "Building the guide")
