#include <optional>

#include "bench/wire/forwarder.h"
#include "bench/wire/pktpit_daemon.h"

namespace pktpit::bench {
namespace {

class PktpitForwarder : public Forwarder {
  public:
    PktpitForwarder(std::string binary, std::string forwarding)
        : binary_(std::move(binary)), forwarding_(std::move(forwarding)) {}

    [[nodiscard]] std::string name() const override {
        return forwarding_ == "inline" ? "pktpit" : "pktpit " + forwarding_;
    }
    [[nodiscard]] std::string description() const override {
        return "pktpitd, dataplane xdp, " + forwarding_ + "; static routes from files, static neighbour";
    }
    void attach(const Topology& topology, const std::vector<const Workload*>& workloads) override {
        daemon_.emplace(binary_, topology, workloads, forwarding_);
        daemon_->start();
        if (has_workers()) daemon_->place_workers();
    }
    [[nodiscard]] bool runs_on(Cores cores) const override {
        return has_workers() ? cores != Cores::one_core : cores != Cores::free_receive;
    }
    [[nodiscard]] std::pair<pid_t, std::string> process() const override {
        return {has_workers() ? daemon_->pid() : 0, "pktpit-w"};
    }
    void wake() override {
        if (has_workers()) daemon_->thaw();
    }
    void rest() override {
        if (has_workers()) daemon_->freeze();
    }

  private:
    [[nodiscard]] bool has_workers() const { return forwarding_ != "inline"; }

    std::string binary_;
    std::string forwarding_;
    std::optional<PktpitDaemon> daemon_;
};

}  // namespace

std::unique_ptr<Forwarder> make_pktpit_forwarder(const std::string& binary, const std::string& forwarding) {
    return std::make_unique<PktpitForwarder>(binary, forwarding);
}

}  // namespace pktpit::bench
