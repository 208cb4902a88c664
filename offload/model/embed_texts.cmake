# SPDX-License-Identifier: BSD-3-Clause
# Writes a C++ file that holds text files: cmake -DOUTPUT=… -DINPUTS=a.json;b.json -P embed_texts.cmake
set(body "#include \"offload/model/texts.h\"\n\nnamespace pktpit::model {\n\nconst std::map<std::string, std::string_view>& embedded_texts() {\n    static const std::map<std::string, std::string_view> texts = {\n")
string(REPLACE "," ";" INPUTS "${INPUTS}")
foreach(input IN LISTS INPUTS)
  file(READ ${input} text)
  get_filename_component(name ${input} NAME)
  get_filename_component(folder ${input} DIRECTORY)
  get_filename_component(folder ${folder} NAME)
  string(APPEND body "        {\"${folder}/${name}\", R\"--text--(${text})--text--\"},\n")
endforeach()
string(APPEND body "    };\n    return texts;\n}\n\n}  // namespace pktpit::model\n")
file(WRITE ${OUTPUT} "${body}")
