# Writes OUT, a header with the commit of the sources in SOURCE, where that folder is a repository of its own. The file
# keeps its time where nothing changed. In: SOURCE, OUT.
cmake_minimum_required(VERSION 3.25)
set(commit)
execute_process(COMMAND git -C ${SOURCE} rev-parse --show-toplevel HEAD OUTPUT_VARIABLE found ERROR_QUIET
                OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
if(failed EQUAL 0 AND found MATCHES "^(.*)\n([0-9a-f]+)$")
  set(top ${CMAKE_MATCH_1})
  set(head ${CMAKE_MATCH_2})
  file(REAL_PATH ${SOURCE} source)
  if(top STREQUAL source)
    execute_process(COMMAND git -C ${SOURCE} diff --quiet HEAD RESULT_VARIABLE changed ERROR_QUIET OUTPUT_QUIET)
    set(commit ${head})
    if(NOT changed EQUAL 0)
      string(APPEND commit " and changes")
    endif()
  endif()
endif()
file(CONFIGURE OUTPUT ${OUT} @ONLY CONTENT "// Made by app/cli/write_commit.cmake.
#pragma once

namespace bitnet {
constexpr const char* kCommit = \"@commit@\";  // of the sources; empty: not known
}  // namespace bitnet
")
