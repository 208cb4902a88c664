#include <optional>

#include "bench/wire/forwarder.h"
#include "bench/wire/pktpit_daemon.h"

namespace pktpit::bench {
namespace {

class PktpitForwarder : public Forwarder {
  public:
    explicit PktpitForwarder(std::string binary) : binary_(std::move(binary)) {}
    [[nodiscard]] std::string name() const override { return "pktpit"; }
    [[nodiscard]] std::string description() const override {
        return "pktpitd, dataplane xdp, inline; static routes from files, static neighbour";
    }
    void attach(const Topology& topology, const std::vector<const Workload*>& workloads) override {
        daemon_.emplace(binary_, topology, workloads);
        daemon_->start();
    }

  private:
    std::string binary_;
    std::optional<PktpitDaemon> daemon_;
};

}  // namespace

std::unique_ptr<Forwarder> make_pktpit_forwarder(const std::string& binary) {
    return std::make_unique<PktpitForwarder>(binary);
}

}  // namespace pktpit::bench
