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

class Weights {
  public:
    struct Options {
        // Whose memory holds them.
        ggml_backend_buffer_type_t buffer_type = nullptr;
        // Let tensors lie in the mapped file. Only for buffer types in host memory.
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
        // Where they are while nobody computes with them. Only for buffer types outside host memory.
        WeightHome home = WeightHome::device;
        // What they and working memory may take where they are used. Whoever has one, or another home, brings
        // groups in and out; otherwise `load` does it all.
        std::optional<MemoryBudget> budget;
    };

    // The table must live longer.
    Weights(const ModelTable & table, Options options);

    const ModelTable & table() const { return table_; }
    const Options & options() const { return options_; }
    // Loaded once, where they are used, for as long as this lives.
    bool always_there() const { return options_.home == WeightHome::device && !options_.budget; }

    // Tensors described from now on come into memory, and leave it, together.
    void begin_group(const std::string & name);
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

    // What loading will take: bytes of memory, and bytes that are used from mapped files.
    uint64_t bytes_allocated() const;
    uint64_t bytes_mapped() const { return mapped_bytes_; }
    // The same of a group, as it lies in a buffer.
    uint64_t group_allocated(size_t group) const;
    uint64_t group_mapped(size_t group) const { return groups_[group].mapped_bytes; }

    // Once, after everything is described. Throws Error.
    void load(const ParallelOptions & options = {});

    // Instead of `load`: makes everything ready for groups to come. Weights whose home is system memory are
    // read. Afterwards distinct groups may be handled by distinct threads.
    void prepare(const ParallelOptions & options = {});
    // Gives tensors of groups a place: in memory of their own, which the result is; in a buffer that is large
    // enough for all of them; or, to measure graphs, anywhere but in memory.
    std::vector<ggml_backend_buffer_ptr> place(const std::vector<size_t> & groups);
    void place_in(ggml_backend_buffer_t buffer, const std::vector<size_t> & groups);
    void place_nowhere();
    // Fills the tensors of groups that have a place. Mapped ones are read ahead.
    void fetch(const std::vector<size_t> & groups, Upload & upload, const ParallelOptions & options);
    // Lets go what is mapped of a group: its pages leave the process and the page cache.
    void let_go(const std::vector<size_t> & groups) const;

    // An Error when a mapped file was changed while it was in use: what was computed is not to be trusted.
    void check_files() const;

  private:
    using Fill = std::function<void(void * out, const ParallelOptions & options)>;

    ggml_tensor * describe(ggml_context * ctx, ggml_type type, const std::vector<int64_t> & shape,
                           const std::string & name);
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
    void place_mapped();
    const MappedFile & mapped_file(const TensorInfo & info);
    void copy_to_host(const ParallelOptions & options);
    ParallelOptions counted(const ParallelOptions & options, uint64_t & done) const;
    std::vector<ggml_tensor *> tensors_of(const std::vector<size_t> & groups) const;

    const ModelTable & table_;
    Options options_;
    bool from_file_; // copies of weights in system memory may be mapped files
    ggml_context_ptr allocated_ctx_, mapped_ctx_;
    struct Mapped {
        ggml_tensor * tensor;
        const TensorInfo * info;
    };
    struct Group {
        std::string name;
        std::vector<LoadJob> jobs;
        std::vector<Mapped> mapped;
        uint64_t mapped_bytes = 0;
        std::vector<const std::byte *> host; // of each job, where the home is system memory
    };
    std::vector<Group> groups_ = {Group()};
    uint64_t mapped_bytes_ = 0;
    size_t correction_nodes_ = 0;
    std::map<int, MappedFile> files_;
    ggml_backend_buffer_ptr nowhere_;
    ggml_context_ptr host_ctx_;
    std::vector<ggml_backend_buffer_ptr> buffers_;
};

} // namespace sd
