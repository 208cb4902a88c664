// SPDX-License-Identifier: BSD-3-Clause
/// Two endpoints behind a switch.
#pragma once

#include "offload/model/fabric.h"

namespace pktpit::model {

struct TwoBehindSwitch {
    static constexpr uint64_t bar_a = uint64_t{1} << 38;
    static constexpr uint64_t bar_b = bar_a + (1 << 20);

    explicit TwoBehindSwitch(SwitchSettings chip = {}, RootSettings root_settings = {},
                             const LinkSettings& to_a = links(), const LinkSettings& to_b = links()) {
        root = &fabric.add_root("root", 1, root_settings);
        SwitchChip& made = fabric.add_switch("switch", 2, chip);
        EndpointSettings settings;
        settings.bar_bytes = 1 << 20;
        settings.bar = bar_a;
        a = &fabric.add_endpoint("a", settings);
        settings.bar = bar_b;
        b = &fabric.add_endpoint("b", settings);
        fabric.connect(*root, 0, made, links());
        fabric.connect(made, 1, *a, to_a);
        fabric.connect(made, 2, *b, to_b);
        fabric.finish();
    }
    static LinkSettings links() {
        LinkSettings link;
        link.credits = {CreditLimit{32, 256}, CreditLimit{32, 0}, CreditLimit{32, 256}};
        return link;
    }

    Fabric fabric;
    RootComplex* root = nullptr;
    Endpoint* a = nullptr;
    Endpoint* b = nullptr;
};

}  // namespace pktpit::model
