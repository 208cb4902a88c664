// SPDX-License-Identifier: BSD-3-Clause
#include "router/dpdk/eal_log.h"

#include <gmock/gmock.h>
#include <rte_log.h>

namespace pktpit::router {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(EalLog, ComplaintsBecomeTheErrorsReasonAndHint) {
    redirect_eal_log();
    const EalWords said;
    rte_log(RTE_LOG_ERR, RTE_LOGTYPE_EAL, "rte_pmd_init_internals(): net_x: ioctl failed: No such device\n");
    rte_log(RTE_LOG_INFO, RTE_LOGTYPE_EAL, "EAL: nobody needs to know\n");
    rte_log(RTE_LOG_WARNING, RTE_LOGTYPE_EAL, "EAL: Driver cannot attach the device (net_x)\n");
    EXPECT_THAT(said.complaints(), ElementsAre("net_x: ioctl failed: No such device",
                                               "Driver cannot attach the device (net_x)"));
    const Error error = said.error("/interfaces/lan/device", "DPDK cannot open \"net_x\"", -1, "a device");
    EXPECT_EQ(error.where, "/interfaces/lan/device");
    EXPECT_EQ(error.message, "DPDK cannot open \"net_x\": net_x: ioctl failed: No such device");
    EXPECT_EQ(error.expected, "a device");
    EXPECT_EQ(error.hint, "DPDK says further: Driver cannot attach the device (net_x)");
}

TEST(EalLog, WithoutComplaintsErrnoIsTheReason) {
    redirect_eal_log();
    const EalWords said;
    EXPECT_THAT(said.error("", "it fails", -ENOMEM, "").message, HasSubstr("it fails: "));
    EXPECT_THAT(said.error("", "it fails", -ENOMEM, "").message, HasSubstr("emory"));
}

TEST(EalLog, TheInnermostKeepsAndTheOuterGoesOn) {
    redirect_eal_log();
    const EalWords outer;
    {
        const EalWords inner;
        rte_log(RTE_LOG_ERR, RTE_LOGTYPE_EAL, "one\n");
        EXPECT_THAT(inner.complaints(), ElementsAre("one"));
    }
    EXPECT_THAT(outer.complaints(), IsEmpty());
    rte_log(RTE_LOG_ERR, RTE_LOGTYPE_EAL, "two\n");
    EXPECT_THAT(outer.complaints(), ElementsAre("two"));
}

TEST(EalLog, AFloodOfComplaintsIsKeptToItsBeginning) {
    redirect_eal_log();
    const EalWords said;
    for (int i = 0; i < 1000; i++)
        rte_log(RTE_LOG_ERR, RTE_LOGTYPE_EAL, "line %d\n", i);
    EXPECT_EQ(said.complaints().size(), 16U);
    EXPECT_EQ(said.complaints().front(), "line 0");
}

}  // namespace
}  // namespace pktpit::router
