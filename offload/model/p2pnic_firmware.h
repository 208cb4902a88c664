// SPDX-License-Identifier: BSD-3-Clause
/// P2PNIC: the ingress NIC looks the route up itself and hands the frame to the egress NIC (KAKENHI report,
/// section 4). One thread.
#pragma once

#include "offload/model/peer_firmware.h"

namespace pktpit::model {

class P2pNicFirmware : public PeerFirmware {
  public:
    /// `ingress_time`: of firmware, for parsing and the lookup.
    P2pNicFirmware(Nic& nic, const PeerTransferSettings& settings, std::vector<uint64_t> bars,
                   Decider& decider, Time ingress_time)
        : PeerFirmware(nic, settings, std::move(bars)), decider_(decider), ingress_time_(ingress_time) {}

    void frame(uint32_t slot) override {
        nic_.compute(ingress_time_, first_own_event, slot, nic_.meta(slot).packet, "firmware: lookup",
                     nic_.fabric().events().now() + nic_.settings().receive_latency);
    }
    void computed(uint32_t what, uint64_t argument) override {
        if (what != first_own_event) return PeerFirmware::computed(what, argument);
        const auto slot = static_cast<uint32_t>(argument);
        const Nic::Meta& meta = nic_.meta(slot);
        const Egress egress = decider_.decide(nic_.index(), meta.port, nic_.frame_of(slot), meta.length);
        if (egress.forward) return send(slot, egress);
        nic_.counters().no_route++;
        nic_.free_slot(slot);
    }

  private:
    Decider& decider_;
    Time ingress_time_;
};

}  // namespace pktpit::model
