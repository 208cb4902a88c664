// SPDX-License-Identifier: BSD-3-Clause
/// One frame through the eBPF port stage and through forward(): the same verdict, the same bytes, one
/// counter.
#pragma once

#include <string>

#include "router/forward/forward.h"
#include "tests/differential/loaded_port_stage.h"

namespace pktpit::test {

struct Comparison {
    router::Decision decision;
    Outcome outcome;
    std::string difference;  ///< empty: none
};

Comparison compare(LoadedPortStage& port_stage, uint16_t port, const Bytes& frame);

/// The frame as hexadecimal digits, to be pasted into a bug report.
std::string hex(const Bytes& frame);

}  // namespace pktpit::test
