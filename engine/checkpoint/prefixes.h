// Which part of a model a stored name belongs to: tools write the same tensor under different prefixes, the
// engine knows one per part.
#pragma once

#include <string>
#include <string_view>

namespace sd {

// What a file was given as; tensors of a component get its prefix in the merged table unless they have it.
enum class Component { model, diffusion, llm, vae };

// The name in the merged table of a tensor that a file given as `component` calls `stored`: one of the known
// prefixes of the component is replaced by the engine's, or the engine's is put in front. For
// Component::model, names without a known prefix stay as they are. Names of modules ("blocks.0.attn.wq", as
// settings in a header have them) go through the same function.
std::string table_name(std::string_view stored, Component component);

// "model.diffusion_model." and so on; "" for Component::model.
std::string_view component_prefix(Component component);

} // namespace sd
