#include "router/dataplane/dataplane.h"

namespace pktpit::router {

std::string_view to_string(AttachMode mode) {
    switch (mode) {
        case AttachMode::native:
            return "native";
        case AttachMode::generic:
            return "generic";
        case AttachMode::user:
            break;
    }
    return "user";
}

void add_counters(pp_port_counters& sum, const pp_port_counters& more) {
    sum.rx_packets += more.rx_packets;
    sum.rx_bytes += more.rx_bytes;
    sum.tx_packets += more.tx_packets;
    sum.tx_bytes += more.tx_bytes;
    for (size_t i = 0; i < PP_VERDICT_CAPACITY; i++)
        sum.verdict[i] += more.verdict[i];
}

}  // namespace pktpit::router
