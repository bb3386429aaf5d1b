// Mapped files and the signal a vanished page raises. The handler knows all mappings through a fixed table of
// atomics, as it may neither lock nor allocate; it puts zeros where the page was, marks the mapping and
// returns, so that whoever touched it goes on. Faults anywhere else go to the handler that was there before.
//
// AddressSanitizer reports SIGBUS too, but lets programs put their handler in front of its own, unless it is
// run with handle_sigbus=2. A system call that is given memory of a vanished page fails with EFAULT and
// raises nothing.
#include "base/error.h"
#include "base/file.h"
#include "base/file_state.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>

namespace sd {
namespace {

struct Slot {
    std::atomic<uintptr_t> begin{0}; // 0: free. Written last, cleared first
    std::atomic<uintptr_t> end{0};
    std::atomic<bool> damaged{false};
};

// More files than a model has shards. Files beyond these are not mapped but refused.
constexpr size_t kSlots = 1024;
std::array<Slot, kSlots> slots;

struct sigaction previous;
std::atomic<uintptr_t> page_size{0};

void pass_on(int signal, siginfo_t * info, void * context) {
    if ((previous.sa_flags & SA_SIGINFO) != 0 && previous.sa_sigaction != nullptr) {
        previous.sa_sigaction(signal, info, context);
        return;
    }
    if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
        previous.sa_handler(signal);
        return;
    }
    // The default ends the process, once this handler has returned and the signal is no longer held back.
    ::signal(signal, SIG_DFL);
    ::raise(signal);
}

void on_sigbus(int signal, siginfo_t * info, void * context) {
    const int saved = errno;
    const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
    const uintptr_t page = page_size.load(std::memory_order_relaxed);
    for (Slot & slot : slots) {
        if (info->si_code <= 0) break; // sent by a program: there is no address
        const uintptr_t begin = slot.begin.load(std::memory_order_acquire);
        const uintptr_t end = slot.end.load(std::memory_order_relaxed);
        if (begin == 0 || address < begin || address >= end) continue;
        slot.damaged.store(true, std::memory_order_relaxed);
        // mmap is a plain system call and safe here. All pages from this one on are gone when the file was
        // cut.
        void * at = reinterpret_cast<void *>(address / page * page);
        if (::mmap(at, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED) {
            errno = saved;
            return;
        }
        break;
    }
    pass_on(signal, info, context);
}

void install_handler() {
    static std::once_flag once;
    std::call_once(once, [] {
        page_size = uintptr_t(::sysconf(_SC_PAGESIZE));
        struct sigaction action = {};
        action.sa_sigaction = on_sigbus;
        action.sa_flags = SA_SIGINFO;
        sigemptyset(&action.sa_mask);
        ::sigaction(SIGBUS, &action, &previous);
    });
}

Slot * claim(const void * data, uint64_t size) {
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    for (Slot & slot : slots) {
        if (slot.begin.load() != 0) continue;
        slot.damaged = false;
        // To the end of the last page: vector loads may begin before the file's end and reach beyond.
        const uintptr_t page = page_size.load(), begin = reinterpret_cast<uintptr_t>(data);
        slot.end = begin + (size + page - 1) / page * page;
        slot.begin.store(begin, std::memory_order_release);
        return &slot;
    }
    return nullptr;
}

} // namespace

struct MappedFile::State {
    File file;
    std::byte * data = nullptr;
    Slot * slot = nullptr; // NULL: bytes in memory, or an empty file

    explicit State(File f) : file(std::move(f)) {}
    State(const State &) = delete;
    State & operator=(const State &) = delete;
    ~State() {
        if (slot == nullptr) return;
        slot->begin = 0;
        ::munmap(data, file.size());
    }
};

MappedFile MappedFile::map(const File & file) {
    auto state = std::make_shared<State>(file);
    if (file.state_->fd < 0) {
        state->data = const_cast<std::byte *>(file.state_->bytes.data());
        return MappedFile(std::move(state));
    }
    if (file.size() == 0) return MappedFile(std::move(state));
    install_handler();
    void * data = ::mmap(nullptr, file.size(), PROT_READ, MAP_SHARED, file.state_->fd, 0);
    if (data == MAP_FAILED) {
        throw Error(
            {"E_FILE", file.path(), {}, std::string("cannot be mapped: ") + std::strerror(errno), {}});
    }
    state->data = static_cast<std::byte *>(data);
    state->slot = claim(data, file.size());
    if (state->slot == nullptr) {
        ::munmap(data, file.size());
        throw Error({"E_FILE", file.path(), {}, "too many files are mapped at once", {}});
    }
    return MappedFile(std::move(state));
}

const std::byte * MappedFile::data() const { return state_->data; }
uint64_t MappedFile::size() const { return state_->file.size(); }
bool MappedFile::damaged() const { return state_->slot != nullptr && state_->slot->damaged.load(); }

void MappedFile::check() const {
    if (!damaged()) return;
    throw Error({"E_FILE",
                 state_->file.path(),
                 {},
                 "was cut short or could not be read while it was in use",
                 "leave model files alone while they are in use"});
}

namespace {

// Advice is about whole pages.
void advise(std::byte * data, uint64_t size, uint64_t offset, uint64_t bytes, int advice) {
    if (offset >= size) return;
    const uint64_t page = page_size.load(), begin = offset / page * page;
    ::madvise(data + begin, std::min(bytes, size - offset) + (offset - begin), advice);
}

} // namespace

void MappedFile::will_need(uint64_t offset, uint64_t bytes) const {
    if (state_->slot != nullptr) advise(state_->data, size(), offset, bytes, MADV_WILLNEED);
}

void MappedFile::touch(uint64_t offset, uint64_t bytes, const std::atomic<bool> * stop) const {
    if (state_->slot == nullptr || offset >= size()) return;
    const volatile std::byte * data = state_->data;
    const uint64_t end = offset + std::min(bytes, size() - offset), page = page_size.load();
    for (uint64_t at = offset; at < end && (stop == nullptr || !*stop); at += page) (void)data[at];
}

void MappedFile::drop(uint64_t offset, uint64_t bytes) const {
    if (state_->slot == nullptr) return;
    advise(state_->data, size(), offset, bytes, MADV_DONTNEED);
    ::posix_fadvise(state_->file.state_->fd, off_t(offset), off_t(bytes), POSIX_FADV_DONTNEED);
}

} // namespace sd
