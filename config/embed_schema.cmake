# SPDX-License-Identifier: BSD-3-Clause
# cmake -DINPUT=schema.json -DOUTPUT=schema_text.cpp -P embed_schema.cmake: the schema as a C++ string.
file(READ ${INPUT} text)
file(WRITE ${OUTPUT} "// Made from config/schema.json.
#include \"config/config.h\"

namespace pktpit::config {
std::string_view schema_text() {
    return R\"schema(${text})schema\";
}
}  // namespace pktpit::config
")
