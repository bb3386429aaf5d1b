#include "sampling/rng.h"

#include "sampling/choices.h"
#include "sampling/philox.h"

#include <array>
#include <cmath>
#include <random>

namespace sd {
namespace {

class PhiloxRng final : public Rng {
  public:
    void seed(uint64_t seed) override { seed_ = seed, calls_ = 0; }

    void normal(float * out, size_t n) override {
        for (size_t i = 0; i < n; ++i) out[i] = philox_normal({calls_, 0, uint32_t(i), 0}, seed_);
        ++calls_;
    }

  private:
    uint64_t seed_ = 0;
    uint32_t calls_ = 0;
};

class Mt19937Rng final : public Rng {
  public:
    Mt19937Rng() { seed(0); }

    void seed(uint64_t seed) override {
        // The standard's mt19937 has the initialization wanted here, of 32 bits.
        words_.seed(uint32_t(seed));
        has_spare_ = false;
    }

    void normal(float * out, size_t n) override {
        if (n < kBlock) {
            for (size_t i = 0; i < n; ++i) out[i] = single();
            return;
        }
        for (size_t i = 0; i < n; ++i) out[i] = uniform();
        for (size_t at = 0; at + kBlock <= n; at += kBlock) transform(out + at);
        if (n % kBlock == 0) return;
        // The last block overlaps the one before and is drawn anew.
        for (size_t i = n - kBlock; i < n; ++i) out[i] = uniform();
        transform(out + n - kBlock);
    }

  private:
    static constexpr size_t kBlock = 16;
    static constexpr double kTwoPi = 6.283185307179586;

    float uniform() { return float(words_() & 0xFFFFFFu) * 0x1p-24f; }

    double uniform53() {
        const uint64_t high = words_(); // drawn first
        const uint64_t bits = (high << 32) | words_();
        return double(bits & ((uint64_t(1) << 53) - 1)) * 0x1p-53;
    }

    static void transform(float * d) {
        for (size_t j = 0; j < kBlock / 2; ++j) {
            const float u1 = 1.0f - d[j], theta = float(kTwoPi) * d[j + 8];
            const auto ln = float(std::log(double(u1)));
            const auto radius = float(std::sqrt(double(-2.0f * ln)));
            d[j] = radius * float(std::cos(double(theta)));
            d[j + 8] = radius * float(std::sin(double(theta)));
        }
    }

    float single() {
        if (has_spare_) {
            has_spare_ = false;
            return spare_;
        }
        const double u1 = uniform53(), u2 = uniform53();
        const double radius = std::sqrt(-2.0 * std::log1p(-u2)), theta = kTwoPi * u1;
        spare_ = float(radius * std::sin(theta));
        has_spare_ = true;
        return float(radius * std::cos(theta));
    }

    std::mt19937 words_;
    float spare_ = 0.0f;
    bool has_spare_ = false;
};

class StdRng final : public Rng {
  public:
    StdRng() { seed(0); }

    void seed(uint64_t seed) override { engine_.seed(uint32_t(seed)); }

    void normal(float * out, size_t n) override {
        std::normal_distribution<float> distribution; // of this call only: nothing is left over for the next
        for (size_t i = 0; i < n; ++i) out[i] = distribution(engine_);
    }

  private:
    std::default_random_engine engine_;
};

struct RngInfo {
    RngKind kind;
    const char * name;
    std::unique_ptr<Rng> (*make)();
};

template <class T>
std::unique_ptr<Rng> make() {
    return std::make_unique<T>();
}

constexpr RngInfo kRngs[] = {
    {RngKind::cuda, "cuda", make<PhiloxRng>},
    {RngKind::cpu, "cpu", make<Mt19937Rng>},
    {RngKind::std_default, "std_default", make<StdRng>},
};

const RngInfo & info(RngKind kind) {
    for (const RngInfo & rng : kRngs)
        if (rng.kind == kind) return rng;
    return kRngs[0]; // every kind stands in the table
}

} // namespace

std::unique_ptr<Rng> make_rng(RngKind kind) { return info(kind).make(); }

const char * rng_name(RngKind kind) { return info(kind).name; }

RngKind find_rng(std::string_view name) {
    for (const RngInfo & rng : kRngs)
        if (name == rng.name) return rng.kind;
    refuse_choice("random number generator", name, {}, rng_names());
}

std::vector<std::string> rng_names() {
    std::vector<std::string> names;
    for (const RngInfo & rng : kRngs) names.push_back(rng.name);
    return names;
}

} // namespace sd
