#include "router/dataplane/sysctl.h"

#include <fstream>

namespace pktpit::router {

std::optional<std::string> set_sysctl(const std::string& path, const std::string& value) {
    const std::string file = "/proc/sys/net/" + path;
    std::string before;
    if (!(std::ifstream(file) >> before)) return std::nullopt;
    if (before == value) return before;
    std::ofstream out(file);
    out << value << std::flush;
    if (!out) return std::nullopt;
    return before;
}

}  // namespace pktpit::router
