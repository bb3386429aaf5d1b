#include "base/error.h"
#include "checkpoint/pytorch/layouts.h"
#include "checkpoint/pytorch/unpickler.h"
#include "checkpoint/pytorch/zip_archive.h"

#include <memory>

namespace sd::pytorch {
namespace {

[[noreturn]] void fail(std::string cause, std::string advice = {}) {
    throw Error({"E_ZIP", {}, {}, std::move(cause), std::move(advice)});
}

// "FOLDER/", the one that has the pickle.
std::string folder_of(const ZipArchive & archive) {
    constexpr std::string_view kPickle = "/data.pkl";
    std::string folder;
    for (const ZipEntry & entry : archive.entries()) {
        const size_t slash = entry.name.find('/');
        if (slash == 0 || slash == std::string::npos || entry.name.substr(slash) != kPickle) continue;
        if (!folder.empty()) fail("is a zip archive with more than one saved object");
        folder = entry.name.substr(0, slash + 1);
    }
    if (folder.empty()) fail("is a zip archive without FOLDER/data.pkl, so none of torch.save");
    return folder;
}

void check_byte_order(const File & file, const ZipArchive & archive, const std::string & folder) {
    if (archive.find(folder + "byteorder") == nullptr) return; // before torch 2.1: little
    const ZipEntry & entry = archive.stored(folder + "byteorder");
    std::string order(size_t(std::min<uint64_t>(entry.bytes, 16)), '\0');
    file.read(entry.data, order.data(), order.size());
    if (order == "little") return;
    fail("has its numbers in the byte order \"" + printable(order) + "\"",
         "save it again on a little-endian machine");
}

} // namespace

Contents read_zip(const File & file) {
    const auto archive = std::make_shared<const ZipArchive>(ZipArchive::read(file));
    const std::string folder = folder_of(*archive);
    if (archive->find(folder + "constants.pkl") != nullptr) {
        fail("is a TorchScript program, not a table of tensors", "save its state_dict() with torch.save");
    }
    check_byte_order(file, *archive, folder);
    const ZipEntry & pickle = archive->stored(folder + "data.pkl");
    Contents out;
    Stream in(file, pickle.data, pickle.data + pickle.bytes);
    out.root = Unpickler(in, out.heap).load();
    out.find = [archive, folder](std::string_view key) {
        const ZipEntry & entry = archive->stored(folder + "data/" + std::string(key));
        return Place{entry.data, entry.bytes};
    };
    return out;
}

} // namespace sd::pytorch
