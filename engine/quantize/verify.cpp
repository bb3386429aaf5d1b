#include "quantize/verify.h"

#include "checkpoint/values/dequantize.h"
#include "checkpoint/values/floats.h"
#include "quantize/source.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <mutex>

namespace sd {
namespace {

// Of errors that are the same: rotating back rounds once more.
constexpr double kSame = 1e-3, kRounding = 1e-6;

class Verifier {
  public:
    Verifier(const Checkpoint & checkpoint, const QuantizePlan & plan, const WriteOptions & options,
             const std::string & path)
        : checkpoint_(checkpoint), plan_(plan), options_(options), path_(path) {
        written_.add(path);
        found_ = find_quant_modules(written_, {.has_operators = true});
        for (const QuantModule & m : found_.modules) modules_[m.name] = &m;
    }

    std::vector<double> verify(const std::vector<LayerResult> & results) {
        std::vector<double> errors;
        tell(options_.progress, "verifying", 0, plan_.bytes);
        for (const CopyPlan & copy : plan_.copies) compare(copy);
        for (size_t i = 0; i < plan_.layers.size(); ++i) {
            const double error = error_of(plan_.layers[i]), expected = results[i].sums.relative();
            if (!(std::fabs(error - expected) <= kSame * expected + kRounding))
                fail(plan_.layers[i].name + ".weight", "its error is " + std::to_string(error) +
                                                           ", and was " + std::to_string(expected) +
                                                           " when it was written");
            errors.push_back(error);
        }
        tell(options_.progress, "verifying", plan_.bytes, plan_.bytes);
        return errors;
    }

  private:
    [[noreturn]] void fail(const std::string & tensor, const std::string & cause) const {
        throw Error({"E_VERIFY", path_, tensor, cause, "the disk or this program is faulty"});
    }

    void done(uint64_t bytes) {
        const std::lock_guard lock(mutex_);
        done_ += bytes;
        tell(options_.progress, "verifying", std::min(done_, plan_.bytes), plan_.bytes);
    }

    void compare(const CopyPlan & copy) {
        const TensorInfo & from = *copy.source;
        const TensorInfo * to = written_.find(table_name(copy.name, Component::model));
        if (to == nullptr || to->type != from.type || to->shape != from.shape)
            fail(copy.name, "is not there as it was written");
        const int64_t all = from.elements(), each = copy_piece(copy);
        in_parallel((all + each - 1) / each, options_.threads, [&](int64_t i) {
            const int64_t first = i * each, count = std::min(each, all - first);
            std::vector<float> scratch;
            std::vector<std::byte> a(run_bytes(from.type, count)), b(a.size());
            read_copy(checkpoint_, copy, first, count, scratch, a.data());
            read_elements(written_, *to, first, count, b.data());
            if (a != b)
                fail(copy.name, copy.changes == nullptr
                                    ? "has other bytes than the tensor it is a copy of"
                                    : "has other bytes than the tensor and what adapters add to it");
            done(a.size());
        });
    }

    double error_of(const LayerPlan & plan) {
        const ChosenLayer & layer = *plan.layer;
        const auto found = modules_.find(table_name(plan.name, Component::model));
        if (found == modules_.end()) fail(plan.name + ".weight", "is not there as a quantized layer");
        const QuantModule & m = *found->second;
        if (m.format != quant_format_of(layer.format) || m.group != layer.group || m.n != layer.n ||
            m.k != layer.k)
            fail(plan.name + ".weight", "is a layer of another format, group or size");
        LayerSource source(checkpoint_, layer);
        const Dequantizer decoder(written_, m);
        const int64_t each = source.piece_rows(), pieces = (layer.n + each - 1) / each;
        std::vector<ErrorSums> sums(static_cast<size_t>(pieces));
        in_parallel(pieces, options_.threads, [&](int64_t i) {
            const int64_t first = i * each, count = std::min(each, layer.n - first);
            std::vector<float> a(size_t(count * layer.k)), b(a.size());
            source.read(first, count, a.data());
            if (options_.allow_nonfinite) {
                for (float & v : a) v = std::isfinite(v) ? v : 0;
            }
            decoder.read(first, count, b.data());
            for (int64_t at = 0; at < count * layer.k; at += layer.k)
                sums[size_t(i)].add(value_error(a.data() + at, b.data() + at, layer.k));
            done(uint64_t(count) * plan.bytes / uint64_t(layer.n));
        });
        ErrorSums all;
        for (const ErrorSums & s : sums) all.add(s);
        return all.relative();
    }

    const Checkpoint & checkpoint_;
    const QuantizePlan & plan_;
    const WriteOptions & options_;
    const std::string path_;
    Checkpoint written_;
    QuantModules found_;
    std::map<std::string, const QuantModule *> modules_;
    std::mutex mutex_;
    uint64_t done_ = 0;
};

} // namespace

std::vector<double> verify_quantized(const Checkpoint & checkpoint, const QuantizePlan & plan,
                                     const std::vector<LayerResult> & results, const WriteOptions & options,
                                     const std::string & path) {
    return Verifier(checkpoint, plan, options, path).verify(results);
}

} // namespace sd
