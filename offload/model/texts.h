// SPDX-License-Identifier: BSD-3-Clause
/// The schemas, topologies and profiles that come with the program, as text. Written by embed_texts.cmake.
/// Any thread.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace pktpit::model {

/// By folder and file: "topologies/two-nics.json".
const std::map<std::string, std::string_view>& embedded_texts();

}  // namespace pktpit::model
