// The public way to set expectations.
#include "runtime/ext/verdict/guard.h"
#include "runtime/sched/sched.h"

#include <cstring>

namespace ggml::sched {
namespace {

// SUCCESS, or the answer that says what is wrong with number i.
ggml_ext_status check(const ggml_ext_expectation & e, size_t i) {
    if (e.struct_size != sizeof(e)) {
        return ext::answer(GGML_EXT_INVALID, GGML_EXT_REASON_STRUCT_SIZE,
                           "expectation %zu has %zu bytes, not %zu", i, e.struct_size, sizeof(e));
    }
    // As bytes, because an enum outside its range is no value.
    unsigned kind;
    static_assert(sizeof(kind) == sizeof(e.kind));
    std::memcpy(&kind, &e.kind, sizeof(kind));
    if (kind > GGML_EXT_EXPECT_REPLAY) {
        return ext::answer(GGML_EXT_INVALID, GGML_EXT_REASON_EXPECT_MALFORMED, "expectation %zu: kind %u", i,
                           kind);
    }
    if (e.name == nullptr) {
        return ext::answer(GGML_EXT_INVALID, GGML_EXT_REASON_NULL_ARGUMENT, "expectation %zu has no name", i);
    }
    const bool counts = e.kind == GGML_EXT_EXPECT_FUSION || e.kind == GGML_EXT_EXPECT_REPLAY;
    const int least = e.kind == GGML_EXT_EXPECT_REPLAY ? 1 : 0;
    if (counts && e.count < least) {
        return ext::answer(GGML_EXT_INVALID, GGML_EXT_REASON_EXPECT_MALFORMED,
                           "expectation %zu: count %d, at least %d is possible", i, e.count, least);
    }
    return GGML_EXT_SUCCESS;
}

ggml_ext_status expect(Scheduler & s, std::span<const ggml_ext_expectation> given) {
    std::vector<Expectation> expectations;
    for (size_t i = 0; i < given.size(); ++i) {
        const ggml_ext_expectation & e = given[i];
        const ggml_ext_status status = check(e, i);
        if (status != GGML_EXT_SUCCESS) return status;
        expectations.push_back({e.kind, e.nodes != nullptr ? e.nodes : "*", e.name, e.count, e.is_error});
    }
    s.expectations.swap(expectations);
    return GGML_EXT_SUCCESS;
}

} // namespace
} // namespace ggml::sched

ggml_ext_status ggml_ext_sched_expect(ggml_backend_sched_t sched, const ggml_ext_expectation * expectations,
                                      size_t n) {
    using namespace ggml;
    if (sched == nullptr || (expectations == nullptr && n > 0)) {
        return ext::answer(GGML_EXT_INVALID, GGML_EXT_REASON_NULL_ARGUMENT, "ggml_ext_sched_expect: %s",
                           sched == nullptr ? "no scheduler" : "no list");
    }
    return ext::guarded("note expectations", [&] { return sched::expect(*sched, {expectations, n}); });
}
