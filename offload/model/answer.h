// SPDX-License-Identifier: BSD-3-Clause
/// "What would P2P bring on my server?": l3fwd, P2PNIC and Pktpit on one topology, over what nobody knows of
/// it, as bands. Nothing of it is measured. One thread; seconds.
#pragma once

#include <functional>

#include "offload/model/experiment.h"

namespace pktpit::model {

/// From least to most.
struct AnswerRange {
    double least = 0, most = 0;
    void take(double value, bool first) {
        least = first ? value : std::min(least, value);
        most = first ? value : std::max(most, value);
    }
};

struct AnswerLine {
    uint32_t size = 0;                           ///< 0: IMIX
    AnswerRange l3fwd, p2pnic, pktpit;           ///< Mpps
    AnswerRange p2pnic_ratio, pktpit_ratio;      ///< of l3fwd's rate, on the same guess
    AnswerRange p2pnic_latency, pktpit_latency;  ///< shares of l3fwd's median at a tenth of line rate
    AnswerRange memory_gbytes;                   ///< that l3fwd moves through main memory and they do not
    std::string l3fwd_limit, pktpit_limit;       ///< with the profile as it is
};

struct Answer {
    std::string topology, profile;
    std::string from, to;           ///< NICs
    std::vector<std::string> path;  ///< what stands in the way of peers, in words; empty: nothing
    std::vector<std::string> guesses;
    std::vector<AnswerLine> lines;
};

/// `cores` forward. From the first NIC to the second, port 0. Errors: fewer than two NICs.
Result<Answer> answer_for(const Topology& topology, const Profile& profile, unsigned cores,
                          const std::function<void(const std::string&)>& progress);

}  // namespace pktpit::model
