// Files of torch.save: whichever layout, the pickle is described, its tensors are found and placed.
#include "base/error.h"
#include "checkpoint/container.h"
#include "checkpoint/limits.h"
#include "checkpoint/pytorch/layouts.h"
#include "checkpoint/pytorch/names.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace sd {
namespace {

[[noreturn]] void fail(std::string cause, std::string advice) {
    throw Error({"E_PYTORCH", {}, {}, std::move(cause), std::move(advice)});
}

pytorch::Contents read_contents(const File & file) {
    std::string head(size_t(std::min<uint64_t>(file.size(), 512)), '\0');
    file.read(0, head.data(), head.size());
    if (head.starts_with("PK")) return pytorch::read_zip(file);
    // Tar archives have their mark at byte 257 of the first header.
    if (head.size() >= 262 && head.substr(257, 5) == "ustar") {
        fail("is a tar archive, as torch before 0.1.10 saved", "load it with torch and save it again");
    }
    if (head.starts_with("\x80")) return pytorch::read_legacy(file);
    fail("is no file of torch.save", {});
}

void check_names(const Container & container) {
    std::set<std::string_view> names;
    for (const TensorInfo & tensor : container.tensors) {
        check_tensor_name(tensor.name);
        if (names.insert(tensor.name).second) continue;
        throw Error({"E_PYTORCH", {}, tensor.name, "there are two tensors of this name", {}});
    }
}

} // namespace

Container read_pytorch(const File & file) try {
    const pytorch::Contents contents = read_contents(file);
    Container out{ContainerKind::pytorch, {}, {}, {}, {}};
    pytorch::warn_of_objects(contents.heap, out.warnings);
    for (const pytorch::NamedTensor & t :
         pytorch::named_tensors(contents.heap, contents.root, out.warnings)) {
        out.tensors.push_back(
            pytorch::tensor_of(contents.heap, t.tensor, t.name, contents.find, file.size()));
    }
    if (contents.root.kind == pytorch::Kind::call && out.tensors.empty()) {
        fail("holds an object of class " + printable(contents.heap.callee(contents.root), 80) +
                 ", not a table of tensors",
             "save its state_dict() with torch.save");
    }
    if (out.tensors.empty()) fail("holds no tensors", "save the model's state_dict() with torch.save");
    check_names(out);
    return out;
} catch (const Error & e) {
    throw e.in_file(file.path());
}

} // namespace sd
