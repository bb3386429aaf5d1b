#include "tools/op-bench/runner.h"

#include "bench/support/ceilings.h"
#include "tools/op-bench/explain_file.h"
#include "tools/op-bench/failure.h"
#include "tools/op-bench/silent_log.h"

#include <algorithm>
#include <set>

namespace op_bench {
namespace {

constexpr double kPeakMilliseconds = 5;
// Larger than last-level caches of most machines; beyond, reading is not slower.
constexpr double kMostRead = 256 << 20;

std::vector<const OpCase *> chosen_cases(const Settings & settings) {
    std::vector<const OpCase *> cases;
    for (const std::string & name : settings.ops) {
        cases.push_back(find_case(name));
        if (cases.back() == nullptr)
            throw Failure("there is no operator '" + name + "' (op-bench --list shows them)");
    }
    if (settings.ops.empty()) {
        for (const OpCase & c : all_cases()) cases.push_back(&c);
    }
    return cases;
}

Plan plan_of(const OpCase & op, const std::string & text) {
    Plan plan;
    try {
        const Shape shape = Shape::parse(text, op.params);
        plan.op = &op;
        plan.shape = shape.text(op.params);
        plan.spec = op.from_shape(shape);
    } catch (const Failure & failure) {
        throw Failure(op.op + ": " + failure.what());
    }
    return plan;
}

void leave_out(Plans & plans, const RepeatedNode & node, const std::string & reason) {
    for (LeftOut & known : plans.left_out) {
        if (known.op != node.spec.op || known.reason != reason) continue;
        known.count += node.count;
        return;
    }
    plans.left_out.push_back({node.spec.op, reason, node.count});
}

Plans plans_of_document(const Settings & settings) {
    Plans plans;
    const std::vector<const OpCase *> wanted = chosen_cases(settings);
    for (const RepeatedNode & node : distinct_nodes(read_explain(settings.explain_file))) {
        if (is_free(node.spec.op)) continue;
        const OpCase * op = find_case(node.spec.op);
        if (op == nullptr) {
            leave_out(plans, node, "unknown to op-bench");
        } else if (std::find(wanted.begin(), wanted.end(), op) == wanted.end()) {
            leave_out(plans, node, "not asked for");
        } else {
            plans.list.push_back({op, node.spec, "", node.count, node.fused, {}, {}, ""});
        }
    }
    return plans;
}

Plans plans_of_shapes(const Settings & settings) {
    Plans plans;
    for (const OpCase * op : chosen_cases(settings)) {
        if (settings.shapes.empty()) plans.list.push_back(plan_of(*op, ""));
        for (const std::string & shape : settings.shapes) plans.list.push_back(plan_of(*op, shape));
    }
    return plans;
}

void probe(Plan & plan, ggml_backend_t cpu, const Settings & settings) {
    plan.all = implementations_of(cpu, *plan.op, plan.spec);
    for (const Implementation & i : plan.all) {
        const bool wanted =
            settings.kernels.empty() ||
            std::find(settings.kernels.begin(), settings.kernels.end(), i.name) != settings.kernels.end();
        if (wanted && i.refusal.empty()) plan.run.push_back(i);
    }
}

void require_known(const std::vector<std::string> & kernels, const Plans & plans) {
    std::set<std::string> known;
    for (const Plan & plan : plans.list) {
        for (const Implementation & i : plan.all) known.insert(i.name);
    }
    for (const std::string & name : kernels) {
        if (known.count(name) != 0) continue;
        std::string text = "there is no implementation '" + name + "'; there are";
        for (const std::string & other : known) text += " " + other;
        throw Failure(text);
    }
}

bench::Candidate peak_of(const bench::Ceilings & ceilings, Arithmetic arithmetic) {
    return arithmetic == Arithmetic::int8_dot ? ceilings.int8_dot(kPeakMilliseconds)
                                              : ceilings.fma(kPeakMilliseconds);
}

double rate(const bench::Candidate & candidate, const Samples & samples) {
    return samples.seconds.empty() ? 0 : candidate.work / samples.median();
}

} // namespace

double Result::least_seconds() const {
    const double arithmetic = peak > 0 ? work.operations / peak : 0;
    return std::max(arithmetic, reading > 0 ? bytes / reading : 0);
}

const char * Result::bound() const {
    const double arithmetic = peak > 0 ? work.operations / peak : 0;
    if (reading > 0 && bytes / reading >= arithmetic) return "reading";
    return work.arithmetic == Arithmetic::int8_dot ? "int8 dot" : "fma";
}

Plans make_plans(const Settings & settings) {
    const ggml_backend_ptr cpu = open_cpu(settings.n_threads); // first: it registers the operators
    const SilentLog silent;
    const bool from_document = !settings.explain_file.empty();
    Plans plans = from_document ? plans_of_document(settings) : plans_of_shapes(settings);
    for (Plan & plan : plans.list) {
        try {
            probe(plan, cpu.get(), settings);
        } catch (const Failure & failure) {
            if (!from_document) throw;
            plan.failure = failure.what();
        }
    }
    require_known(settings.kernels, plans);
    // Operators that have none of the kernels asked for would be tables of nothing.
    if (!settings.kernels.empty()) {
        std::erase_if(plans.list, [](const Plan & plan) { return plan.run.empty() && plan.failure.empty(); });
        if (plans.list.empty()) throw Failure("none of these implementations runs these nodes here");
    }
    return plans;
}

Result measure(const Plan & plan, const Settings & settings, const std::atomic<bool> & stop) {
    Result result;
    result.plan = plan;
    result.failure = plan.failure;
    for (const Implementation & i : plan.all) {
        const bool runs =
            std::any_of(plan.run.begin(), plan.run.end(), [&](const auto & r) { return r.name == i.name; });
        if (runs || !i.refusal.empty()) result.rows.push_back({i.name, i.chosen, i.refusal, {}, "", false});
    }
    if (plan.run.empty() || !plan.failure.empty()) return result;

    Job job(*plan.op, plan.spec, plan.run, kernel_names(plan.all), settings.n_threads, settings.verify, stop);
    result.work = job.work();
    result.bytes = job.bytes();
    const bench::Ceilings ceilings(settings.n_threads);
    const std::vector<std::byte> memory(size_t(std::min(result.bytes, kMostRead)) + 64, std::byte{1});
    const bench::Candidate read = ceilings.read(memory), peak = peak_of(ceilings, result.work.arithmetic);

    std::vector<std::function<void()>> candidates = {read.run};
    if (result.work.arithmetic != Arithmetic::none) candidates.push_back(peak.run);
    const size_t first = candidates.size();
    std::vector<Row *> rows;
    for (Row & row : result.rows) {
        if (!row.refusal.empty()) continue;
        const size_t number = rows.size();
        if (settings.verify && !stop) {
            row.verdict = job.verify(number);
            row.verified = !stop;
        }
        rows.push_back(&row);
        candidates.push_back([&job, number] { job.run(number); });
    }
    if (!stop) candidates[0](); // wakes the threads, which a single run would count
    const std::vector<Samples> samples = time_in_turn(candidates, settings.budget, stop);
    result.reading = rate(read, samples[0]);
    if (first == 2) result.peak = rate(peak, samples[1]);
    for (size_t i = 0; i < rows.size(); ++i) rows[i]->samples = samples[first + i];
    return result;
}

StepTime step_time(const std::vector<Result> & results) {
    StepTime total;
    for (const Result & result : results) {
        const Row * used = nullptr;
        for (const Row & row : result.rows) {
            const bool timed = !row.samples.seconds.empty();
            if (timed && (used == nullptr || row.chosen)) used = &row;
        }
        if (used == nullptr) continue;
        total.seconds += used->samples.median() * result.plan.count;
        total.nodes += result.plan.count;
        total.fused += result.plan.fused;
    }
    return total;
}

} // namespace op_bench
