// SPDX-License-Identifier: BSD-3-Clause
/// A capture: pcapng at the points that its client has asked for. The daemon's thread.
#pragma once

#include <map>

#include "router/daemon/observer.h"

namespace pktpit::router {

class CaptureObserver : public Observer {
  public:
    CaptureObserver(ObservationRequest request, const ObserverEnvironment& environment);

  private:
    void show(const Observation& seen) override;
    [[nodiscard]] std::string last_words() const override;
    void frame(uint16_t port, const Observation& seen, std::span<const uint8_t> bytes, bool inbound,
               std::string_view comment);

    std::map<uint16_t, uint32_t> interfaces_;  ///< number in the file, by port
    std::map<uint16_t, uint64_t> received_;    ///< frames in the file, by port
};

}  // namespace pktpit::router
