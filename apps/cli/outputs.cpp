#include "apps/cli/outputs.h"

#include "apps/cli/atomic_file.h"
#include "apps/cli/file_key.h"
#include "apps/cli/image/image_file.h"
#include "apps/cli/output_name.h"

#include <filesystem>
#include <set>
#include <vector>

namespace cli {
namespace {

namespace fs = std::filesystem;

fs::path place(const std::string & path) { return fs::path(std::u8string(path.begin(), path.end())); }

std::vector<std::string> pictures_of(const Arguments & a, const Inputs & in) {
    std::vector<std::string> names;
    const int count = picture_count(a, in);
    for (int i = 0; i < count; ++i) names.push_back(output_name(a.output, i, count, a.output_begin_idx));
    return names;
}

// What single pictures or prompts leave, and many would write over each other.
bool check_count(const Arguments & a, const Inputs & in, std::string & error) {
    constexpr int kMost = 10'000;
    if (picture_count(a, in) > kMost) {
        error = a.prompts + ": these prompts make " + std::to_string(picture_count(a, in)) +
                " pictures, more than " + std::to_string(kMost);
        return false;
    }
    if (in.prompts.size() == 1) return true;
    const std::pair<const char *, const std::string &> of_one[] = {{"--dump-tensors", a.dump_tensors},
                                                                   {"--explain", a.explain}};
    for (const auto & [name, given] : of_one) {
        if (given.empty()) continue;
        error =
            std::string(name) + " is for one prompt, and --prompts has " + std::to_string(in.prompts.size());
        return false;
    }
    return true;
}

bool check_grid(const Arguments & a, const Inputs & in, std::string & error) {
    if (a.grid.empty()) return true;
    const SheetPlan plan = sheet_plan(a, in);
    const uint64_t width = plan.width(uint32_t(in.width)), height = plan.height(uint32_t(in.height));
    if (width * height * 3 > kMostSheetBytes) {
        error =
            "--grid: " + std::to_string(plan.count) + " pictures of this size are more than a sheet can hold";
        return false;
    }
    return can_write_image(with_image_ending(a.grid), uint32_t(width), uint32_t(height), error);
}

} // namespace

SheetPlan sheet_plan(const Arguments & a, const Inputs & in) {
    return SheetPlan::of(in.prompts.size(), size_t(a.batch_count));
}

int picture_count(const Arguments & a, const Inputs & in) { return a.batch_count * int(in.prompts.size()); }

bool check_distinct(const Arguments & a, const Inputs & in, const IsModelFile & is_model_file,
                    std::string & error) {
    std::set<std::string> taken;
    for (const std::string & input : files_read(a, in)) taken.insert(file_key(input));
    std::vector<std::string> outputs = pictures_of(a, in);
    for (const std::string & output : {a.dump_tensors, a.explain, a.trace}) {
        if (!output.empty()) outputs.push_back(output);
    }
    if (!a.grid.empty()) outputs.push_back(with_image_ending(a.grid));
    if (a.preview != "none") outputs.push_back(with_image_ending(a.preview_path));
    for (const std::string & output : outputs) {
        const std::string key = file_key(output);
        if (key.empty() || (taken.insert(key).second && !is_model_file(output))) continue;
        error = output + ": would be written over, but it is also used for something else";
        return false;
    }
    return true;
}

bool check_outputs(const Arguments & a, const Inputs & in, const IsModelFile & is_model_file,
                   std::string & error) {
    std::error_code problem;
    for (const std::string & output : {a.output, a.grid}) {
        if (!output.ends_with('/') && !fs::is_directory(place(output), problem)) continue;
        error = output + ": is a folder (name a file in it)";
        return false;
    }
    if (!check_count(a, in, error) || !check_distinct(a, in, is_model_file, error)) return false;
    std::set<std::string> folders;
    for (const std::string & path : pictures_of(a, in)) {
        // One of each folder; in a batch of thousands that is enough.
        if (!folders.insert(path.substr(0, path.rfind('/') + 1)).second) continue;
        if (!can_write_image(path, uint32_t(in.width), uint32_t(in.height), error)) return false;
    }
    for (const std::string & path : {a.dump_tensors, a.explain, a.trace}) {
        if (!path.empty() && !can_write_file(path, error)) return false;
    }
    return check_grid(a, in, error);
}

} // namespace cli
