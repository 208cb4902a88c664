// SPDX-License-Identifier: BSD-3-Clause
#include <iostream>

#include "router/cli/application.h"

int main(int argc, char** argv) {
    std::ios::sync_with_stdio(false);
    const auto terminal = pktpit::router::cli::Terminal::of_process(std::cout, std::cerr);
    return pktpit::router::cli::run({argv + 1, argv + argc}, terminal);
}
