// What differs between a build on this project's ggml and one on another (SD_USE_UPSTREAM_GGML).
#pragma once

namespace sd {

#ifdef SD_USE_UPSTREAM_GGML
inline constexpr bool kUpstreamGgml = true;
#else
inline constexpr bool kUpstreamGgml = false;
#endif

// Operator extensions: without them, float models only.
inline constexpr bool kHasOperators = !kUpstreamGgml;

// Whether a scheduler takes any graph after any other. Upstream's holds no more tensors than it was made for,
// takes a graph for the one before when their nodes agree in number and size, even if their leafs do not, and
// believes what it only measured to be allocated.
inline constexpr bool kReusableSchedulers = !kUpstreamGgml;

} // namespace sd
