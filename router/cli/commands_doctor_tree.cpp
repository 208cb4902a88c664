// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdio>
#include <set>

#include "router/cli/commands_doctor.h"
#include "router/cli/table.h"

namespace pktpit::router::cli {
namespace {

using offload::AcsCapability;
using offload::PciAddress;
using offload::PciFunction;
using offload::PciTree;

/// Draws the functions of `shown`, each below its bridge; a table, so that what is said of them lines up.
class Drawing {
  public:
    Drawing(const PciTree& tree, const DoctorReport& report)
        : tree_(tree),
          report_(report),
          table_({{"PCI TREE"}, {"WHAT"}, {"LINK"}, {"GROUP"}, {"", Align::left, true}}) {
        for (const PciAddress nic : report.question.nics)
            show(nic);
        for (const DoctorMemory& memory : report.question.memories)
            show(memory.address);
    }

    std::string render(const Terminal& terminal) {
        for (const std::string& bridge : tree_.host_bridges()) {
            std::vector<const PciFunction*> roots;
            for (const PciFunction* function : tree_.on_root_bus(bridge))
                if (shown_.contains(function->address)) roots.push_back(function);
            if (roots.empty()) continue;
            table_.add_row({bridge, "host bridge"});
            draw(roots, "");
        }
        return table_.empty() ? "" : table_.render(terminal);
    }

  private:
    void show(PciAddress address) {
        const PciFunction* function = tree_.find(address);
        if (!function) return;
        shown_.insert(address);
        for (const PciFunction* bridge : tree_.ancestors(*function))
            shown_.insert(bridge->address);
    }

    void draw(const std::vector<const PciFunction*>& functions, const std::string& indent) {
        for (const PciFunction* function : functions) {
            const bool last = function == functions.back();
            table_.add_row({indent + (last ? "└─ " : "├─ ") + function->address.to_string(), what(*function),
                            link(*function), group(*function), role(*function)});
            std::vector<const PciFunction*> below;
            for (const PciAddress child : function->children)
                if (shown_.contains(child)) below.push_back(tree_.find(child));
            draw(below, indent + (last ? "   " : "│  "));
        }
    }

    static std::string what(const PciFunction& function) {
        std::string text = function.kind();
        if (!function.is_bridge()) text += " " + function.ids();
        for (const std::string& name : function.interfaces)
            text += " " + name;
        return text;
    }

    std::string link(const PciFunction& function) const {
        // A link is told at its lower end.
        const PciFunction* parent = function.parent ? tree_.find(*function.parent) : nullptr;
        const bool has_link = parent && function.pcie && function.pcie->link.known() &&
                              (parent->is_type(offload::PcieType::root_port) ||
                               parent->is_type(offload::PcieType::downstream_port));
        if (!has_link) return "";
        char text[32];
        std::snprintf(text, sizeof text, "%g GT/s x%u", function.pcie->link.gigatransfers,
                      function.pcie->link.lanes);
        return text;
    }

    static std::string group(const PciFunction& function) {
        return function.iommu_group ? std::to_string(*function.iommu_group) : "-";
    }

    Cell role(const PciFunction& function) const {
        const auto& question = report_.question;
        if (function.is_bridge()) {
            if (!function.acs || !function.acs->is_on(AcsCapability::request_redirect)) return "";
            // Requests between root ports pass the root complex anyway.
            const bool matters = !function.is_type(offload::PcieType::root_port);
            return {"ACS redirects requests to peers", matters ? Colour::yellow : Colour::none};
        }
        if (std::find(question.nics.begin(), question.nics.end(), function.address) != question.nics.end())
            return {"NIC" + driver(function), Colour::green};
        for (const DoctorPair& pair : report_.pairs)
            if (pair.memory.address == function.address && pair.memory.bar)
                return memory_text(function, *pair.memory.bar);
        return {"memory" + driver(function), Colour::green};
    }

    static Cell memory_text(const PciFunction& function, unsigned index) {
        const offload::PciBar* bar = function.bar(index);
        std::string text = "memory: BAR " + std::to_string(index);
        if (bar) text += ", " + std::to_string(bar->bytes >> 20) + " MiB";
        return {text + driver(function), Colour::green};
    }

    static std::string driver(const PciFunction& function) {
        return function.driver.empty() ? "" : ", " + function.driver;
    }

    const PciTree& tree_;
    const DoctorReport& report_;
    std::set<PciAddress> shown_;
    Table table_;
};

}  // namespace

std::string doctor_tree(const PciTree& tree, const DoctorReport& report, const Terminal& terminal) {
    return Drawing(tree, report).render(terminal);
}

}  // namespace pktpit::router::cli
