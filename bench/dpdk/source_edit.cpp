// SPDX-License-Identifier: BSD-3-Clause
#include "bench/dpdk/source_edit.h"

#include "bench/harness/failure.h"

namespace pktpit::bench::dpdk {

std::string apply_edits(const std::string& file, std::string text, const std::vector<SourceEdit>& edits) {
    for (const SourceEdit& edit : edits) {
        if (edit.file != file) continue;
        const size_t place = text.find(edit.find);
        if (place == std::string::npos)
            throw harness::Failure(file + " has no \"" + edit.find +
                                   "\": not the source that this patch is for");
        if (text.find(edit.find, place + 1) != std::string::npos)
            throw harness::Failure(file + " has \"" + edit.find +
                                   "\" more than once: the patch does not know which is meant");
        text.replace(place, edit.find.size(), edit.write);
    }
    return text;
}

}  // namespace pktpit::bench::dpdk
