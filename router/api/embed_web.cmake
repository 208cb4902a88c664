# SPDX-License-Identifier: BSD-3-Clause
# cmake -DFOLDER=web -DOUTPUT=web_files.cpp -P embed_web.cmake: the page's files as C++ strings. File and type, in pairs:
set(files index.html text/html app.js text/javascript style.css text/css
          icon.svg image/svg+xml)
set(entries)
while(files)
  list(POP_FRONT files name type)
  file(READ ${FOLDER}/${name} text)
  string(REGEX REPLACE "\n$" "" text "${text}")  # who sends it ends the last line
  string(REPLACE "index.html" "" path "${name}")
  string(APPEND entries "    {\"/${path}\", \"${type}; charset=utf-8\", R\"web(${text})web\"},\n")
endwhile()
file(WRITE ${OUTPUT} "// Made from router/api/web.
#include \"router/api/web_files.h\"

namespace pktpit::router {
std::span<const WebFile> web_files() {
    static constexpr WebFile files[] = {
${entries}    };
    return files;
}
}  // namespace pktpit::router
")
