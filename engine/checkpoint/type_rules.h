// Which type a float weight is converted to when it is loaded: `--type` for all, `--tensor-type-rules` for
// those whose name matches. Quantized modules, their companions and small or sensitive tensors stay as they
// are.
#pragma once

#include "checkpoint/tensor_info.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sd {

class TypeRules {
  public:
    TypeRules() = default; // everything as stored

    // type: a ggml type's name, or "". rules: "regex=type,regex=type", ECMAScript patterns that are searched
    // in the name as the table has it, the first match wins over `type`. A comma inside a pattern is kept
    // when what follows it has no '=' before the next one, as in "blk{1,2}=f16". Throws Error naming the item
    // that is wrong; patterns are bounded in length and repetition, because the matcher's time and stack grow
    // with them.
    static TypeRules parse(const std::string & type, const std::string & rules);

    // The type the tensor is loaded as. Without a rule, or where a rule cannot be followed (not a float
    // weight, an excluded name, rows that are no whole blocks): what natural_type says.
    ggml_type target_type(const TensorInfo & tensor) const;

    // The same, nothing instead of the natural type: for files that are written, where "as stored" has no
    // loss.
    std::optional<ggml_type> asked_type(const TensorInfo & tensor) const;

  private:
    struct Rule;
    ggml_type wanted_ = GGML_TYPE_COUNT; // none
    std::vector<std::shared_ptr<const Rule>> rules_;
};

// A type of that name that weights can be converted to; an Error listing them otherwise.
ggml_type weight_type(const std::string & name);

} // namespace sd
