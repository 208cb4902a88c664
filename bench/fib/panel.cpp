// SPDX-License-Identifier: BSD-3-Clause
#include "bench/fib/panel.h"

#include <algorithm>

namespace pktpit::bench::fib {

Ratio ratio(const Panel& panel, const std::string& row, const std::string& column) {
    const Cell* subject = panel.find(row, panel.subject);
    const Cell* peer = panel.find(row, column);
    if (!subject || !peer) return {};
    std::vector<double> ratios;
    for (size_t i = 0; i < std::min(subject->samples.size(), peer->samples.size()); i++) {
        const double own = subject->samples[i], other = peer->samples[i];
        if (own > 0 && other > 0) ratios.push_back(panel.lower_is_better ? other / own : own / other);
    }
    return {harness::quantile(ratios, 0.5), harness::quantile(ratios, 0.25), harness::quantile(ratios, 0.75)};
}

std::vector<WorstRatio> worst_ratios(std::span<const Panel> panels) {
    std::vector<WorstRatio> all;
    for (const Panel& panel : panels)
        for (const std::string& row : panel.rows)
            for (const std::string& column : panel.columns) {
                const Ratio factor = ratio(panel, row, column);
                if (column == panel.subject || factor.median == 0) continue;
                auto found = std::find_if(all.begin(), all.end(), [&](const WorstRatio& worst) {
                    return worst.row == row && worst.column == column;
                });
                if (found == all.end()) found = all.insert(found, {row, column, factor, panel.title, 0});
                found->panels++;
                if (factor.median >= found->factor.median) continue;
                found->factor = factor;
                found->panel = panel.title;
            }
    return all;
}

}  // namespace pktpit::bench::fib
