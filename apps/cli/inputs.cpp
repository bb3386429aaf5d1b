#include "apps/cli/inputs.h"

#include "apps/cli/checks.h"
#include "apps/cli/console.h"
#include "apps/cli/image/image_file.h"
#include "apps/cli/image/image_fit.h"
#include "apps/cli/prompt_list.h"
#include "apps/cli/read_file.h"

namespace cli {
namespace {

bool load_text(const char * option, const std::string & given, const std::string & file, std::string & prompt,
               std::string & error) {
    if (!file.empty() && !given.empty()) {
        error = std::string(option) + " and " + option + "-file exclude each other";
        return false;
    }
    if (!file.empty()) return read_prompt(file, prompt, error);
    prompt = given;
    return check_prompt(option, prompt, error);
}

// One prompt, or those of a list.
bool load_prompts(const Arguments & a, Inputs & in, std::string & error) {
    std::vector<std::string> list(1);
    if (a.prompts.empty()) {
        if (!load_text("--prompt", a.prompt, a.prompt_file, list[0], error)) return false;
    } else if (!a.prompt.empty() || !a.prompt_file.empty()) {
        error = std::string("--prompts and ") + (a.prompt.empty() ? "--prompt-file" : "--prompt") +
                " exclude each other";
        return false;
    } else if (!read_prompts(a.prompts, list, error)) {
        return false;
    }
    in.prompts.clear();
    for (const std::string & text : list) in.prompts.push_back({text, text, {}});
    return true;
}

// Those that look like an adapter's; other programs read them as one.
void warn_of_other_tags(const std::string & prompt) {
    std::string small = prompt;
    for (char & c : small) c = c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
    for (const char * begin : {"<lora:", "<lyco:"}) {
        const size_t at = small.find(begin);
        if (at == std::string::npos) continue;
        print_warning(cli::quoted(prompt.substr(at, 6)) +
                      " begins no adapter but words; adapters are <lora:NAME:STRENGTH>");
    }
}

// An empty folder means that prompts have no adapters; their tags are words then.
bool take_adapters(const Arguments & a, Inputs & in, std::string & error) {
    if (a.lora_model_dir.empty()) return true;
    if (in.negative_prompt.find("<lora:") != std::string::npos)
        print_warning("<lora:...> in the negative prompt is no adapter but words");
    for (Prompt & prompt : in.prompts) {
        if (take_lora_tags(a.lora_model_dir, prompt.text, prompt.loras, error)) {
            warn_of_other_tags(prompt.text);
            continue;
        }
        if (in.prompts.size() > 1) error = cli::quoted(prompt.given) + ": " + error;
        return false;
    }
    return true;
}

Image fitted(const Image & image, int width, int height) {
    const auto w = uint32_t(width), h = uint32_t(height);
    if (image.width == w && image.height == h) return image;
    return resized(cropped_to_aspect(image, w, h), w, h);
}

bool load_pictures(const Arguments & a, Inputs & in, std::string & error) {
    if (a.init_image.empty()) {
        if (a.mask.empty()) return true;
        error = "--mask needs a picture it is for (--init-img FILE)";
        return false;
    }
    Image init, mask;
    if (!read_image(a.init_image, init, error)) return false;
    if (!a.mask.empty() && !read_image(a.mask, mask, error)) return false;
    if (is_transparent(init)) print_note(a.init_image + ": what is transparent is shown on white");
    const bool both = a.width != 0 && a.height != 0;
    if (!both) {
        in.width = int(init.width);
        in.height = int(init.height);
        if (a.width != 0 || a.height != 0) {
            print_warning("the size is that of " + a.init_image + ", " + std::to_string(in.width) + "x" +
                          std::to_string(in.height) + "; both -W and -H would change it");
        }
    }
    in.init = fitted(to_rgb(init), in.width, in.height);
    if (!a.mask.empty()) in.mask = fitted(to_gray(mask), in.width, in.height);
    return true;
}

} // namespace

bool load_inputs(const Arguments & a, Inputs & in, std::string & error) {
    if (a.width != 0) in.width = a.width;
    if (a.height != 0) in.height = a.height;
    return load_prompts(a, in, error) &&
           load_text("--negative-prompt", a.negative_prompt, a.negative_prompt_file, in.negative_prompt,
                     error) &&
           take_adapters(a, in, error) && load_pictures(a, in, error);
}

std::vector<std::string> files_read(const Arguments & a, const Inputs & in) {
    std::vector<std::string> files;
    for (const std::string & file : {a.model, a.diffusion_model, a.llm, a.vae, a.tokenizer, a.prompts,
                                     a.prompt_file, a.negative_prompt_file, a.init_image, a.mask}) {
        if (!file.empty()) files.push_back(file);
    }
    for (const Prompt & prompt : in.prompts) {
        for (const Lora & lora : prompt.loras) files.push_back(lora.path);
    }
    return files;
}

} // namespace cli
