// SPDX-License-Identifier: BSD-3-Clause
#include "offload/model/hot_add.h"

namespace pktpit::model {

HotAdd::HotAdd(Fabric& fabric, Nic& nic, Decider& inner, Time at, std::function<void()> start_driver)
    : fabric_(fabric), nic_(nic), inner_(inner), start_driver_(std::move(start_driver)) {
    set_link(false);
    fabric.root().on_configured([this](NodeId node, bool there) {
        if (node != nic_.endpoint().id() || !there || present_) return;
        start_driver_();
        present_ = true;
    });
    fabric.events().schedule(at, *this, 0);
}

void HotAdd::set_link(bool up) {
    Port& port = nic_.endpoint().port(0);
    port.set_up(up);
    port.peer()->set_up(up);
}

void HotAdd::on_event(uint32_t, uint64_t) {
    set_link(true);
    fabric_.root().config_write(nic_.endpoint().id());
}

Egress HotAdd::decide(unsigned nic, unsigned port, std::byte* frame, uint32_t length) {
    const Egress egress = inner_.decide(nic, port, frame, length);
    return egress.nic == nic_.index() && !present_ ? Egress{} : egress;
}

}  // namespace pktpit::model
