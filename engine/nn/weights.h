// A model's weights as tensors for graphs. First a model says which it needs and how; that only describes
// them, so that memory is known before any is used. Then they are loaded, all at once or in groups that come
// and leave (WeightStream): large ones stay where they are in the mapped file when device, type and place
// allow it, the others are read and converted.
#pragma once

#include "adapters/change.h"
#include "base/file.h"
#include "checkpoint/values/read_values.h"
#include "ggml-cpp.h"
#include "models/common/model_table.h"
#include "nn/linear.h"
#include "nn/load_tensors.h"
#include "nn/upload.h"
#include "place/placement.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sd {

// Memory of a device that computes with weights.
struct WeightMemory {
    ggml_backend_buffer_type_t type = nullptr;
    // Where weights are while nobody computes with them. Only for types outside host memory.
    WeightHome home = WeightHome::device;
    // What they and working memory may take here.
    std::optional<MemoryBudget> budget;

    bool always_there() const { return home == WeightHome::device && !budget; }
};

class Weights {
  public:
    struct Options {
        // One, or several that blocks are spread over; the first holds everything else.
        std::vector<WeightMemory> memory;
        // Let tensors lie in the mapped file, where memory is the host's.
        bool map = true;
        // The type a matrix is wanted in, given what it is stored as; empty: natural_type. Quantized modules
        // are not asked about.
        std::function<ggml_type(const TensorInfo &)> type_of;
        // How far loading is, in bytes of memory; from any of its threads, one call at a time. Empty: not
        // told.
        std::function<void(uint64_t done, uint64_t total)> progress;
        // Of adapters, until everything is loaded. NULL: none. Norms, tables and biases are changed while
        // they are loaded; float weights, too, where `merge` says so, otherwise layers get corrections.
        const ModelChanges * changes = nullptr;
        bool merge = false;
    };

    // The table must live longer.
    Weights(const ModelTable & table, Options options);

    const ModelTable & table() const { return table_; }
    const Options & options() const { return options_; }
    // Loaded once, where they are used, for as long as this lives. Otherwise somebody brings groups in and
    // out.
    bool always_there(size_t memory) const { return options_.memory[memory].always_there(); }
    bool always_there() const; // in all memory

    // Tensors described from now on come into memory, and leave it, together. A block can be on another
    // device than what is not one.
    void begin_group(const std::string & name, bool block = false);
    size_t group() const { return groups_.size() - 1; } // the one that was begun last
    size_t groups() const { return groups_.size(); }
    const std::string & group_name(size_t group) const { return groups_[group].name; }

    // A small tensor as F32, flattened to [elements]; `plus` is added to each (norms stored around zero).
    ggml_tensor * vector(const std::string & name, float plus = 0.0f);
    // A dense layer: `module`.weight, its bias if there is one, its scales, and what adapters add.
    Linear linear(const std::string & module);
    // Layers that all read the same input.
    std::vector<Linear> linears(const std::vector<std::string> & modules);
    // What corrections of all layers add to a graph, at most.
    size_t correction_nodes() const { return correction_nodes_; }

    // A convolution's kernel as F32 [kw, kh, in, out]. Of kernels in time the last tap: all that one frame
    // sees.
    ggml_tensor * kernel(const std::string & name, int64_t in, int64_t out);

    // After everything is described: spreads blocks over all memory, by how much of each there is for them,
    // in bytes.
    void spread(const std::vector<uint64_t> & room);
    size_t memory_of(size_t group) const { return groups_[group].memory; } // its number
    size_t blocks_in(size_t memory) const;

    // Once, after that. Throws Error.
    void load(const ParallelOptions & options = {});

    // Instead of `load`: loads what is always there and makes the rest ready for groups to come. Weights
    // whose home is system memory are read. Afterwards distinct groups may be handled by distinct threads.
    void prepare(const ParallelOptions & options = {});
    // What is there after loading or preparing: bytes of memory, and bytes that are used from mapped files.
    uint64_t bytes_allocated(size_t memory) const;
    uint64_t bytes_mapped(size_t memory) const;
    // The same of a group, as it lies in a buffer.
    uint64_t group_allocated(size_t group) const;
    uint64_t group_mapped(size_t group) const;

    // Gives tensors of groups in the same memory a place: in buffers of their own, which the result is; in
    // one that is large enough for all of them; or, to measure graphs, anywhere but in memory.
    std::vector<ggml_backend_buffer_ptr> place(const std::vector<size_t> & groups);
    void place_in(ggml_backend_buffer_t buffer, const std::vector<size_t> & groups);
    void place_nowhere(const std::vector<size_t> & groups);
    // Fills the tensors of groups that have a place. Mapped ones are read ahead.
    void fetch(const std::vector<size_t> & groups, Upload & upload, const ParallelOptions & options);
    // Lets go what is mapped of a group: its pages leave the process and the page cache.
    void let_go(const std::vector<size_t> & groups) const;

    // An Error when a mapped file was changed while it was in use: what was computed is not to be trusted.
    void check_files() const;

  private:
    struct Mapped {
        ggml_tensor * tensor;
        const TensorInfo * info;
    };
    struct Group {
        std::string name;
        bool block = false;
        size_t memory = 0;
        std::vector<LoadJob> jobs;
        std::vector<Mapped> mapped;
        std::vector<const std::byte *> host; // of each job, where the home is system memory
    };
    using Fill = std::function<void(void * out, const ParallelOptions & options)>;

    ggml_tensor * describe(ggml_type type, const std::vector<int64_t> & shape, const std::string & name);
    ggml_tensor * allocated(ggml_type type, const std::vector<int64_t> & shape, const std::string & name,
                            Fill fill);
    ggml_tensor * stored(const TensorInfo & info, ggml_type type, const std::vector<int64_t> & shape);
    ggml_tensor * per_row(const TensorInfo & info, int64_t n);
    void integer_layer(const QuantModule & module, Linear & layer);
    Linear plain_linear(const std::string & module);
    const std::vector<Change> * changes_of(const std::string & tensor) const;
    // Rows [first, first + count) of a weight as F32.
    using ReadRows = std::function<void(int64_t first, int64_t count, float * out)>;
    ggml_tensor * merged(const std::string & tensor, ggml_type type, int64_t n, int64_t k, ReadRows read);
    void add_corrections(std::vector<Linear> & layers);
    void describe_correction(Linear & layer, const struct CorrectionPlan & plan);
    ggml_tensor * shared_down(const std::vector<struct CorrectionPlan> & plans, int64_t k,
                              const std::string & name);
    void check_scales(const ParallelOptions & options) const;
    const WeightMemory & memory(const Group & group) const { return options_.memory[group.memory]; }
    // Buffers for all of the tensors: one, unless the device has none so large.
    static std::vector<ggml_backend_buffer_ptr> allocate(ggml_backend_buffer_type_t type,
                                                         const std::vector<ggml_tensor *> & tensors);
    std::vector<size_t> groups_in(size_t memory) const;
    std::vector<LoadJob> place_for_good(size_t memory);
    void choose_mapped();
    void place_mapped();
    const MappedFile & mapped_file(const TensorInfo & info);
    bool lies_in_file(const LoadJob & job) const;
    void copy_to_host(size_t memory, const ParallelOptions & options);
    ParallelOptions counted(const ParallelOptions & options, uint64_t & done, uint64_t total) const;
    std::vector<ggml_tensor *> tensors_of(const std::vector<size_t> & groups) const;

    const ModelTable & table_;
    Options options_;
    ggml_context_ptr ctx_;
    std::vector<Group> groups_ = {Group()};
    size_t correction_nodes_ = 0;
    std::map<int, MappedFile> files_;
    std::vector<ggml_backend_buffer_ptr> nowhere_; // of each memory
    std::vector<ggml_context_ptr> host_contexts_;
    std::vector<ggml_backend_buffer_ptr> buffers_;
};

} // namespace sd
