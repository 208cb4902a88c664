// SPDX-License-Identifier: BSD-3-Clause
#include "config/validate.h"

#include "base/json/schema.h"

namespace pktpit::config {

Errors validate(const nlohmann::json& document) {
    static const JsonSchema schema(schema_text());
    return schema.validate(document);
}

}  // namespace pktpit::config
