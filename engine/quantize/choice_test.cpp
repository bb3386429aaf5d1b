// Formats that are chosen by size or error.
#include "quantize/choice.h"

#include "quantize/test_quantize.h"

#include <nlohmann/json.hpp>
#include <random>

namespace sd {
namespace {

using test::Numbers;

// Layers with candidates of given bytes and errors, as if they were measured; the file is its layers and 1000
// bytes, and 10 for each that is quantized.
struct Made {
    Selection selection;
    TensorInfo weight;

    void add(int64_t n, const std::vector<std::pair<uint64_t, double>> & candidates) {
        ChosenLayer l = {"l" + std::to_string(selection.layers.size()),
                         &weight,
                         nullptr,
                         LayerFormat::int8,
                         1,
                         n,
                         100,
                         "all"};
        l.candidates.push_back({});
        l.candidates[0].bytes = uint64_t(n) * 200;
        for (const auto & [bytes, error] : candidates) {
            Candidate c = {kLayerFormats[l.candidates.size() - 1]};
            c.bytes = bytes;
            c.sums = {error * error, 1};
            l.candidates.push_back(c);
        }
        selection.layers.push_back(l);
    }
    static std::string text_of(const Choice & choice) {
        std::string text;
        for (const Choice::Layer & l : choice.layers) text += std::to_string(l.chosen);
        return text;
    }
};

uint64_t size_of(const Made & made, const Selection & s) {
    uint64_t size = 1000;
    for (const ChosenLayer & l : s.layers) {
        size += 10;
        for (const ChosenLayer & m : made.selection.layers) {
            if (m.name != l.name) continue;
            for (const Candidate & c : m.candidates) {
                if (c.format == l.format) size += c.bytes;
            }
        }
    }
    for (size_t i = 0; i < s.kept.size(); ++i) {
        for (const ChosenLayer & m : made.selection.layers) {
            if (m.name == s.kept[i].name) size += m.candidates[0].bytes;
        }
    }
    return size;
}

Choice chosen(const Made & made, const Budget & budget, Selection * out = nullptr) {
    Selection selection = made.selection;
    const Choice choice =
        choose_formats(selection, budget, [&](const Selection & s) { return size_of(made, s); });
    if (out != nullptr) *out = selection;
    return choice;
}

Made three_layers() {
    Made made;
    //            int8          int8-convrot   w4a4          w4a8
    made.add(100, {{10400, 0.02}, {10500, 0.009}, {5400, 0.14}, {6000, 0.07}});
    made.add(100, {{10400, 0.10}, {10500, 0.010}, {5400, 0.30}, {6000, 0.08}}); // outliers
    made.add(10, {{1040, 0.02}, {1050, 0.009}, {540, 0.14}, {600, 0.07}});
    return made;
}

TEST(choice, most_error_for_its_bytes_goes_first) {
    const Made made = three_layers();
    const uint64_t smallest = 1000 + 30 + 5400 + 5400 + 540;
    EXPECT_EQ(chosen(made, {smallest, 0}).smallest, smallest);
    EXPECT_EQ(Made::text_of(chosen(made, {smallest, 0})), "333");
    EXPECT_EQ(Made::text_of(chosen(made, {smallest + 600, 0})), "343") << "the layer with outliers";
    EXPECT_EQ(Made::text_of(chosen(made, {smallest + 660, 0})), "344") << "what is left is for a small layer";
    EXPECT_EQ(Made::text_of(chosen(made, {smallest + 1260, 0})), "444");
    EXPECT_EQ(Made::text_of(chosen(made, {smallest + 1260 + 4500, 0})), "424");
    // Plain int8 is never on the way: rotating costs little there.
    EXPECT_EQ(Made::text_of(chosen(made, {smallest + 1260 + 9450, 0})), "222");
    EXPECT_EQ(Made::text_of(chosen(made, {smallest + 1260 + 9450 + 950, 0})), "220");
}

TEST(choice, an_error_is_reached_with_few_bytes) {
    const Made made = three_layers();
    double last = 1;
    for (const double most : {0.3, 0.1, 0.075, 0.05, 0.02, 0.0095, 0.005}) {
        Selection s;
        const Choice choice = chosen(made, {0, most}, &s);
        EXPECT_LE(choice.error, most);
        EXPECT_LE(choice.error, last);
        last = choice.error;
        for (const ChosenLayer & l : s.layers) EXPECT_TRUE(l.candidates.empty() && l.why == "auto (all)");
    }
    EXPECT_EQ(Made::text_of(chosen(made, {0, 0.3})), "333");
    EXPECT_EQ(Made::text_of(chosen(made, {0, 0.08})), "443") << "what is not needed is taken back";
}

TEST(choice, is_near_the_best_of_all_mixes) {
    std::mt19937 random(5);
    for (int round = 0; round < 30; ++round) {
        Made made;
        for (int i = 0; i < 5; ++i) {
            const int64_t n = 10 + int64_t(random() % 100);
            const double hard = 1 + double(random() % 100) / 50;
            const auto w = uint64_t(n);
            made.add(n, {{w * 104, 0.02 * hard},
                         {w * 105, 0.009 * hard},
                         {w * 54, 0.14 * hard},
                         {w * 60, 0.07 * hard}});
        }
        const uint64_t target = chosen(made, {0, 0.05}).smallest + random() % 20000;
        Selection s;
        const Choice choice = chosen(made, {target, 0}, &s);
        EXPECT_LE(size_of(made, s), target);
        double weights = 0, best = 1e9;
        for (const ChosenLayer & l : made.selection.layers) weights += double(l.n);
        for (int mix = 0; mix < 3125; ++mix) {
            uint64_t size = 1000;
            double loss = 0;
            for (int i = 0, rest = mix; i < 5; ++i, rest /= 5) {
                const ChosenLayer & l = made.selection.layers[size_t(i)];
                const Candidate & c = l.candidates[size_t(rest % 5)];
                size += c.bytes + (c.format ? 10 : 0);
                loss += double(l.n) / weights * std::pow(c.sums.relative(), 2);
            }
            if (size <= target) best = std::min(best, loss);
        }
        EXPECT_LE(choice.error, 1.35 * std::sqrt(best)) << round;
        EXPECT_GE(choice.error, std::sqrt(best) * (1 - 1e-9));
    }
}

TEST(choice, what_cannot_be_is_told_with_the_smallest_size) {
    const Made made = three_layers();
    const auto refusal = [&](const Budget & b) { return test::refusal_of([&] { chosen(made, b); }); };
    EXPECT_EQ(refusal({12369, 0}),
              "--target-size: 12369 bytes cannot be reached; the smallest file has 12370 bytes "
              "(0.000 GiB) (a rule or --include can take more layers)");
    EXPECT_EQ(refusal({1000000, 0}), "--target-size: the model is not larger as it is");
    EXPECT_EQ(refusal({0, 1e-7}), "--max-error: no format comes so near to any layer");
}

class Auto : public test::QuantizeTest {
  protected:
    void SetUp() override {
        QuantizeTest::SetUp();
        put_weights(
            "in.safetensors",
            {{"a.weight", 96, 1024}, {"b.weight", 64, 512}, {"c.weight", 300, 768}, {"d.weight", 40, 6}},
            {{"n", StoredType::f32, {100}}});
    }
    QuantizeRequest budget(uint64_t target, double error,
                           const std::string & output = "out.safetensors") const {
        QuantizeRequest r = request(output, "auto");
        r.budget = {target, error};
        return r;
    }
};

TEST_F(Auto, files_have_at_most_the_size_and_get_better_with_it) {
    const uint64_t whole = bytes("in.safetensors").size();
    const std::string line = refusal_line("in.safetensors", budget(1000, 0));
    const size_t at = line.find("the smallest file has ");
    ASSERT_NE(at, line.npos) << line;
    const uint64_t smallest = std::stoull(line.substr(at + 22));
    EXPECT_EQ(files(), 1u);
    double last = 1;
    for (uint64_t target = smallest; target + 1000 < whole; target += (whole - smallest) / 7) {
        QuantizeRequest r = budget(target, 0);
        r.replace = r.verify = true;
        const QuantizeReport report = quantized("in.safetensors", r);
        EXPECT_LE(report.bytes, target);
        EXPECT_EQ(bytes("out.safetensors").size(), report.bytes);
        EXPECT_TRUE(target > smallest || report.bytes == smallest);
        ASSERT_TRUE(report.choice);
        EXPECT_LE(report.choice->error, last);
        last = report.choice->error;
        EXPECT_EQ(files(), 2u);
    }
    EXPECT_EQ(refusal_line("in.safetensors", budget(whole, 0, "other.safetensors")),
              "--target-size: the model is not larger as it is");
}

TEST_F(Auto, measured_errors_are_those_that_come_out_and_the_report_says_which_and_why) {
    QuantizeRequest r = budget(0, 0.05);
    r.verify = true;
    const QuantizeReport report = quantized("in.safetensors", r);
    const auto json = nlohmann::json::parse(report_json(report))["choice"];
    EXPECT_EQ(json["max_error"], 0.05);
    EXPECT_LE(json["error"], 0.05);
    ASSERT_EQ(json["layers"].size(), 4u);
    std::map<std::string, double> errors;
    for (const auto & l : json["layers"]) {
        const auto & c = l["candidates"][size_t(l["chosen"])];
        errors[l["name"]] = c["error"];
        // A layer of 6 inputs can be nothing but plain int8.
        EXPECT_EQ(l["candidates"].size(), l["name"] == "d" ? 2u : 5u) << l.dump();
        EXPECT_EQ(l["candidates"][0]["format"], "keep");
    }
    for (const QuantizedLayer & l : report.layers) {
        EXPECT_EQ(l.error, errors.at(l.name)) << l.name;
        EXPECT_EQ(l.why, "auto (preset generic)");
    }
    EXPECT_NE(report_text(report).find(
                  "\nchosen for an error of at most 5.000 %; the error of layers with a choice is "),
              std::string::npos);
}

TEST_F(Auto, files_are_the_same_for_any_number_of_threads_and_after_interrupts) {
    QuantizeRequest r = budget(0, 0.03);
    r.threads = 1;
    quantized("in.safetensors", r);
    const std::string whole = bytes("out.safetensors");
    std::filesystem::remove(r.output);
    r.threads = 4;
    quantized("in.safetensors", r);
    EXPECT_TRUE(bytes("out.safetensors") == whole);
    std::filesystem::remove(r.output);
    // One piece at a time, through measuring and writing.
    r.threads = 1;
    std::set<std::string> told;
    for (int tries = 0;; ++tries) {
        ASSERT_LT(tries, 50);
        std::string phase;
        int calls = 0;
        r.progress = [&](const char * what, uint64_t done, uint64_t) {
            if (phase != what) phase = what, calls = 0;
            // Measuring tells of pieces that are done, too.
            return done == 0 || ++calls <= (phase == "measuring" ? tries : 1);
        };
        const std::string line = refusal_line("in.safetensors", r);
        if (line.empty()) break;
        told.insert(line);
    }
    EXPECT_TRUE(bytes("out.safetensors") == whole);
    EXPECT_EQ(files(), 2u);
    EXPECT_TRUE(
        told.contains("out.safetensors: cancelled; what is measured is kept in out.safetensors.part.measured "
                      "(the same command goes on from there; to give it up, remove it)"));
    const auto names_all = [](const std::string & line) {
        return line.ends_with(" is kept (the same command goes on from there; to give it up, remove "
                              "out.safetensors.part, out.safetensors.part.journal and "
                              "out.safetensors.part.measured)");
    };
    EXPECT_GE(std::count_if(told.begin(), told.end(), names_all), 3);
}

TEST_F(Auto, rules_settle_their_layers_and_searching_helps_the_others) {
    put("rules", "a = int8\nb = keep\n");
    QuantizeRequest r = budget(0, 0.08);
    r.selection.rules_file = path("rules");
    const QuantizeReport before = quantized("in.safetensors", r);
    EXPECT_EQ(before.layers.at(0).format, LayerFormat::int8);
    EXPECT_EQ(before.layers.at(0).why, "rule in line 1");
    EXPECT_EQ(before.choice->layers.size(), 2u);
    r.scale_search = r.replace = true;
    const QuantizeReport after = quantized("in.safetensors", r);
    for (size_t i = 0; i < 2; ++i) {
        for (size_t c = 0; c < after.choice->layers[i].candidates.size(); ++c)
            EXPECT_LE(after.choice->layers[i].candidates[c].sums.error,
                      before.choice->layers[i].candidates[c].sums.error);
    }
}

TEST_F(Auto, requests_that_make_no_sense) {
    EXPECT_EQ(refusal_line("in.safetensors", budget(0, 0)),
              "--format auto needs a budget (--target-size 7.5GiB or --max-error 0.03)");
    EXPECT_EQ(refusal_line("in.safetensors", budget(1, 1)),
              "--target-size and --max-error exclude each other");
    EXPECT_EQ(refusal_line("in.safetensors", budget(0, NAN)), "--max-error: is below 0 or no number");
    QuantizeRequest r = budget(5, 0);
    r.selection.format = "int8";
    EXPECT_EQ(refusal_line("in.safetensors", r),
              "--target-size is for formats that are chosen (--format auto)");
    r.budget = {0, 0.5};
    EXPECT_EQ(refusal_line("in.safetensors", r),
              "--max-error is for formats that are chosen (--format auto)");
    put("out.safetensors", "old");
    EXPECT_EQ(refusal_line("in.safetensors", budget(0, 0.1)),
              "out.safetensors: exists already (--force replaces it)");
    put("rules", "* = int8\n");
    r = budget(0, 0.1, "new.safetensors");
    r.selection.rules_file = path("rules");
    EXPECT_EQ(refusal_line("in.safetensors", r),
              "--format auto: rules settle all layers (name one of their formats)");
    EXPECT_EQ(files(), 3u);
}

} // namespace
} // namespace sd
