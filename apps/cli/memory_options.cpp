#include "apps/cli/memory_options.h"

#include "apps/cli/checks.h"

namespace cli {
namespace {

constexpr const char * kGroup = "Devices and memory";

void list(CLI::App & app, const char * flags, std::string & value, const char * text, const char * type) {
    app.add_option(flags, value, text)
        ->group(kGroup)
        ->type_name(type)
        ->multi_option_policy(CLI::MultiOptionPolicy::Join)
        ->delimiter(',');
}

void put_first(std::string & list, const char * item) { list = list.empty() ? item : item + ("," + list); }

constexpr uint64_t kLeastRam = 1000000; // the program itself has more

} // namespace

void add_memory_options(CLI::App & app, MemoryArguments & m) {
    list(app, "--backend", m.backend,
         "what computes: a device, or \"diffusion=D,te=D,vae=D\" (auto: the first GPU, else the CPU); D&E: "
         "blocks are spread over both",
         "LIST");
    list(app, "--params-backend", m.params_backend,
         "where weights wait, in the same way: the device that computes, cpu, or disk", "LIST");
    list(app, "--split-mode", m.split_mode, "how a part is spread over several devices: layer", "LIST");
    app.add_option(
           "--max-vram", m.max_vram,
           "GiB a part may take of its device, or \"DEVICE=GiB,...\"; below 0: so much less than is free")
        ->group(kGroup)
        ->type_name("LIST");
    const auto flag = [&](const char * name, bool & value, const char * text) {
        app.add_flag(name, value, text)->group(kGroup);
    };
    const auto take = [&m](const std::string & given) {
        if (!parse_size(given, m.max_ram))
            throw CLI::ValidationError("--max-ram: " + quoted(given) + " is no size: 6GiB, 800MB, or bytes");
        if (m.max_ram > 0 && m.max_ram < kLeastRam)
            throw CLI::ValidationError("--max-ram: " + quoted(given) + " is " + std::to_string(m.max_ram) +
                                       " bytes; a size is 6GiB or 800MB");
    };
    app.add_option_function<std::string>(
           "--max-ram", take, "memory the program may take: weights pass through it from their files")
        ->group(kGroup)
        ->type_name("SIZE");
    flag("--stream-layers", m.stream_layers,
         "with --max-vram: keep what fits, and fetch the next layer while one computes");
    flag("--auto-fit", m.auto_fit, "use the best device and as much of its memory as is free");
    flag("--offload-to-cpu", m.offload_to_cpu, "the same as --params-backend \"*=cpu\"");
    flag("--clip-on-cpu", m.clip_on_cpu, "the same as --backend te=cpu");
    flag("--vae-on-cpu", m.vae_on_cpu, "the same as --backend vae=cpu");
}

void settle(MemoryArguments & m) {
    if (m.offload_to_cpu) put_first(m.params_backend, "*=cpu");
    if (m.clip_on_cpu) put_first(m.backend, "te=cpu");
    if (m.vae_on_cpu) put_first(m.backend, "vae=cpu");
    m.offload_to_cpu = m.clip_on_cpu = m.vae_on_cpu = false;
}

} // namespace cli
