# include(PtxTc)
# ptx_tc_test(NAME kernels FILES a.ptx b.ptx [OPTIONS --target sm_103a])
#
# Adds a test that fails when ptx-tc finds an error in one of the files. Files that the build makes
# are checked as they are when the tests run.

find_program(PTX_TC_EXECUTABLE ptx-tc)

function(ptx_tc_test)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME" "FILES;OPTIONS")
    if(NOT PTX_TC_EXECUTABLE)
        message(FATAL_ERROR "ptx-tc not found; set PTX_TC_EXECUTABLE")
    endif()
    if(NOT arg_NAME OR NOT arg_FILES)
        message(FATAL_ERROR "ptx_tc_test needs NAME and FILES")
    endif()
    add_test(
        NAME ${arg_NAME}
        COMMAND ${PTX_TC_EXECUTABLE} check ${arg_OPTIONS} ${arg_FILES}
        WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
    )
endfunction()
