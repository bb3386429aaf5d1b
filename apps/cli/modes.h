// One function per mode. Each returns the exit status.
#pragma once

#include "apps/cli/arguments.h"

namespace cli {

int run_generate(const Arguments & arguments);
int run_inspect(const Arguments & arguments);
int run_convert(const Arguments & arguments);
int run_quantize(const Arguments & arguments);
int run_compare(const Arguments & arguments);
int run_metadata(const Arguments & arguments);
int run_list_devices();

} // namespace cli
