#include "checkpoint/pytorch/names.h"

#include "base/error.h"
#include "checkpoint/pytorch/tensors.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace sd::pytorch {
namespace {

// In order of preference: averaged weights before those they are an average of.
constexpr std::string_view kWrappers[] = {"state_dict", "model_state_dict", "params_ema", "params",
                                          "model",      "module",           "generator"};

// Bounds of what a small pickle can make large by sharing its parts.
constexpr size_t kMostDepth = 32, kLongestName = 512, kMostTensors = size_t(1) << 18;
constexpr size_t kMostWrappers = 4;

bool is_container(Value v) { return v.kind == Kind::dict || v.kind == Kind::list || v.kind == Kind::tuple; }

struct Entry {
    std::string name;
    Value value;
};

// The entries of a container by name. Keys that are neither text nor whole numbers name nothing.
std::vector<Entry> entries_of(const Heap & heap, Value container) {
    const std::vector<Value> & items = heap.items(container);
    std::vector<Entry> out;
    if (container.kind != Kind::dict) {
        for (size_t i = 0; i < items.size(); ++i) {
            if (is_container(items[i]) || items[i].kind == Kind::call) {
                out.push_back({std::to_string(i), items[i]});
            }
        }
        return out;
    }
    std::unordered_map<std::string, size_t> places; // the key's kind is part of it: 1 and "1" are two keys
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
        const Value key = items[i];
        if (key.kind != Kind::text && key.kind != Kind::integer) continue;
        const bool is_text = key.kind == Kind::text;
        std::string name = is_text ? std::string(heap.text(key)) : std::to_string(key.number);
        std::string id = name;
        id.push_back(is_text ? 't' : 'i');
        const auto [place, is_new] = places.try_emplace(std::move(id), out.size());
        if (is_new) {
            out.push_back({std::move(name), items[i + 1]});
        } else {
            out[place->second].value = items[i + 1];
        }
    }
    return out;
}

// The tensors below `root`, counted up to `enough`. Containers in `seen` are passed by, and the others that
// are met are added to it.
size_t count_tensors(const Heap & heap, Value root, size_t enough, std::vector<bool> & seen) {
    size_t count = 0;
    std::vector<Value> left{root};
    while (!left.empty()) {
        const Value v = left.back();
        left.pop_back();
        if (is_tensor(heap, v) && ++count == enough) return count;
        if (!is_container(v) || seen[size_t(v.number)]) continue;
        seen[size_t(v.number)] = true;
        for (const Value item : heap.items(v)) {
            if (is_container(item) || item.kind == Kind::call) left.push_back(item);
        }
    }
    return count;
}

bool has_tensors(const Heap & heap, Value root, size_t least) {
    std::vector<bool> seen(heap.objects());
    return count_tensors(heap, root, least, seen) == least;
}

// A few of many, for a sentence.
struct Names {
    std::vector<std::string> first;
    size_t count = 0;

    void add(std::string_view name) {
        ++count;
        if (first.size() == 8) return;
        first.emplace_back(1, '"');
        first.back().append(printable(name, 60)).push_back('"');
    }
    std::string text() const {
        std::string out;
        for (const std::string & name : first) out.append(out.empty() ? "" : ", ").append(name);
        return count > first.size() ? out + " and " + std::to_string(count - first.size()) + " more" : out;
    }
};

// Whether something that may hold tensors is directly in a container.
bool leads_on(const Heap & heap, Value v) {
    if (!is_container(v)) return false;
    const std::vector<Value> & items = heap.items(v);
    return std::any_of(items.begin(), items.end(),
                       [&](Value item) { return is_container(item) || is_tensor(heap, item); });
}

// The dictionary inside the wrappers.
Value unwrap(const Heap & heap, Value root, std::vector<std::string> & warnings) {
    for (size_t depth = 0; depth < kMostWrappers && root.kind == Kind::dict; ++depth) {
        const std::vector<Entry> entries = entries_of(heap, root);
        // Beside the weights there may be a few other tensors, such as the state of a random generator; among
        // many there is no wrapper.
        const auto direct = std::count_if(entries.begin(), entries.end(),
                                          [&](const Entry & e) { return is_tensor(heap, e.value); });
        const Entry * chosen = nullptr;
        for (const std::string_view wrapper : kWrappers) {
            for (const Entry & e : entries) {
                const bool fits = chosen == nullptr && e.name == wrapper && e.value.kind == Kind::dict;
                if (fits && has_tensors(heap, e.value, size_t(direct) + 1)) chosen = &e;
            }
        }
        if (chosen == nullptr) return root;
        Names others;
        std::vector<bool> seen(heap.objects()); // one for all, so that sharing costs no time
        for (const Entry & e : entries) {
            if (&e != chosen && count_tensors(heap, e.value, 1, seen) > 0) others.add(e.name);
        }
        if (others.count > 0) {
            warnings.push_back("only \"" + chosen->name + "\" is read, and not " + others.text() +
                               " beside it");
        }
        root = chosen->value;
    }
    return root;
}

class Walk {
  public:
    explicit Walk(const Heap & heap) : heap_(heap), seen_(heap.objects()), warned_(heap.objects()) {}

    void visit(Value v, const std::string & name, size_t depth) {
        if (is_tensor(heap_, v)) {
            add(v, name.empty() && depth == 0 ? "tensor" : name);
        } else if (is_container(v)) {
            enter(v, name, depth);
        }
    }

    std::vector<NamedTensor> found;
    Names twice; // containers that are reached again

  private:
    void add(Value v, const std::string & name) {
        if (found.size() == kMostTensors) {
            throw Error({"E_PICKLE_SIZE",
                         {},
                         {},
                         "has more than " + std::to_string(kMostTensors) + " tensors",
                         "save only the model's state_dict()"});
        }
        found.push_back({name, v});
    }

    void enter(Value v, const std::string & name, size_t depth) {
        if (seen_[size_t(v.number)]) {
            if (!warned_[size_t(v.number)] && leads_on(heap_, v)) twice.add(name);
            warned_[size_t(v.number)] = true;
            return;
        }
        seen_[size_t(v.number)] = true;
        if (depth == kMostDepth) {
            throw Error({"E_PICKLE",
                         {},
                         name,
                         "is nested in more than " + std::to_string(kMostDepth) + " containers",
                         {}});
        }
        for (const Entry & e : entries_of(heap_, v)) {
            const std::string full = name.empty() ? e.name : name + "." + e.name;
            const bool matters = is_container(e.value) || is_tensor(heap_, e.value);
            if (matters && full.size() > kLongestName) {
                throw Error({"E_PICKLE",
                             {},
                             full,
                             "has a name of more than " + std::to_string(kLongestName) + " bytes",
                             {}});
            }
            visit(e.value, full, depth + 1);
        }
    }

    const Heap & heap_;
    std::vector<bool> seen_, warned_; // by object
};

} // namespace

std::vector<NamedTensor> named_tensors(const Heap & heap, Value root, std::vector<std::string> & warnings) {
    Walk walk(heap);
    walk.visit(unwrap(heap, root, warnings), "", 0);
    if (walk.twice.count > 0) {
        warnings.push_back(walk.twice.text() + " is there under another name already and is left out");
    }
    return std::move(walk.found);
}

void warn_of_objects(const Heap & heap, std::vector<std::string> & warnings) {
    // Python's and numpy's ways to write values, in which no tensor is looked for and none is missed.
    constexpr std::string_view kValues[] = {"_codecs.encode", "builtins.",
                                            "__builtin__.",   "numpy.",
                                            "torch.device",   "torch.serialization._get_layout"};
    std::map<std::string_view, size_t> counts;
    for (size_t i = 0; i < heap.objects(); ++i) {
        const Value v = heap.object(i);
        if (v.kind != Kind::call || is_tensor(heap, v)) continue;
        const std::string_view name = heap.callee(v);
        const bool is_value = std::any_of(std::begin(kValues), std::end(kValues),
                                          [&](std::string_view known) { return name.starts_with(known); });
        if (!name.empty() && !is_value) ++counts[name];
    }
    if (counts.empty()) return;
    Names names;
    for (const auto & [name, count] : counts) names.add(std::string(name) + " x " + std::to_string(count));
    warnings.push_back("objects of other classes are left out, and no code of the file is run: " +
                       names.text());
}

} // namespace sd::pytorch
