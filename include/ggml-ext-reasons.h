// Why something was refused. Each reason has a stable number, a stable word for programs and logs, and one
// sentence; docs/extension-reasons.md is generated from this list and every reason is provoked by a test.
//
//   GGML_EXT_REASONS(X) expands X(ID, "room.word", "sentence") for each, in the order of their numbers.
//   New reasons are appended to their block by taking a free number at the end of the list.
#pragma once

#define GGML_EXT_REASONS(X)                                                                                  \
    X(NONE, "none", "Nothing was refused.")                                                                  \
    /* registration */                                                                                       \
    X(NULL_ARGUMENT, "registry.null_argument", "A required argument or descriptor is NULL.")                 \
    X(STRUCT_SIZE, "registry.struct_size",                                                                   \
      "The descriptor's struct_size is smaller than its first version, or larger than this library knows.")  \
    X(NAME_MALFORMED, "registry.name_malformed",                                                             \
      "A name is dotted lower-case words of letters, digits and _; an operator's ends in a version: .v1")    \
    X(NAME_TAKEN, "registry.name_taken", "This name is registered already.")                                 \
    X(ATTR_SIZE, "registry.attr_size", "Attributes are larger than GGML_EXT_MAX_ATTR_SIZE.")                 \
    X(NO_INFER, "registry.no_infer", "An operator needs a callback that infers its output.")                 \
    X(NO_EXECUTE, "registry.no_execute", "A kernel needs a callback that executes it.")                      \
    X(NO_CLAIM, "registry.no_claim", "A kernel needs `supports` (one node), `match` (several) or both.")     \
    X(UNKNOWN_OP, "registry.unknown_op",                                                                     \
      "The kernel names no operator that nodes can have, or an operator that is not registered.")            \
    X(FLAGS_IN_PLAIN, "registry.flags_in_plain",                                                             \
      "ggml_ext_register_kernel takes no flags; ggml_ext_register_kernel_ex does.")                          \
    X(FLAGS_UNKNOWN, "registry.flags_unknown", "A flag is not known to this library.")                       \
    X(FLAGS_INCOMPLETE, "registry.flags_incomplete", "REPLAY_REUSABLE also needs CAPTURE_SAFE.")             \
    X(LATE, "registry.late", "The device has already answered for its operators or planned a graph.")        \
    X(NO_MEMORY, "no_memory", "Memory ran out.")                                                             \
    /* construction of nodes */                                                                              \
    X(INPUT_COUNT, "schema.input_count", "An operator takes at most GGML_MAX_SRC inputs.")                   \
    X(INPUT_GAP, "schema.input_gap", "All inputs are missing, so there is nothing to compute from.")         \
    X(ATTR_MISMATCH, "schema.attr_mismatch", "The attributes do not have the registered size.")              \
    X(INFER_FAILED, "schema.infer_failed", "The operator does not accept these inputs and attributes.")      \
    X(INFER_TYPE, "schema.infer_type", "Inference gave a type that does not exist.")                         \
    X(INFER_SHAPE, "schema.infer_shape",                                                                     \
      "Inference gave a shape that is negative, overflows or is no whole number of blocks.")                 \
    X(NO_ARENA_ROOM, "schema.no_arena_room", "The context has no room for the node.")                        \
    /* selection */                                                                                          \
    X(CALLBACK, "callback", "The extension itself refused; its own words follow.")                           \
    X(NOT_PREFERRED, "selection.not_preferred", "The kernel prefers the native implementation here.")        \
    X(OUTRANKED, "selection.outranked", "A kernel that is considered earlier was chosen.")                   \
    X(DISABLED, "selection.disabled", "The policy switches this kernel, or its kind, off.")                  \
    X(RECURSION, "selection.recursion",                                                                      \
      "`supports` asked the public capability query about its own device and operator.")                     \
    X(IN_PLACE_NODE, "selection.in_place_node", "Views and in-place nodes stay with the native device.")     \
    X(NOT_COMPUTED, "selection.not_computed",                                                                \
      "The node has no compute flag or no elements, so nothing runs.")                                       \
    X(FUSION_ONLY, "selection.fusion_only", "The kernel replaces several nodes and claims no single one.")   \
    X(NO_NATIVE, "selection.no_native", "The device itself does not run this node.")                         \
    /* fusion */                                                                                             \
    X(NO_MATCH, "fusion.no_match", "The rule does not match here.")                                          \
    X(MATCH_LENGTH, "fusion.match_length", "The match is negative, a single node, or leaves the range.")     \
    X(MATCH_OVERLAP, "fusion.match_overlap", "A node of the match belongs to an earlier match.")             \
    X(FUSION_OFF, "fusion.off", "Fusion is off: by the policy, several pipeline copies or a callback.")      \
    X(MATCH_NOT_COMPUTED, "fusion.not_computed", "A node of the match is not to be computed.")               \
    X(EXTERNAL_USE, "fusion.external_use", "A node outside the match reads an intermediate result.")         \
    X(UNUSED_RESULT, "fusion.unused_result", "An intermediate result has no reader, so it is a result.")     \
    X(OUTPUT_FLAG, "fusion.output_flag", "An intermediate result is marked as an output.")                   \
    X(INPUT_FLAG, "fusion.input_flag", "An intermediate result is marked as an input.")                      \
    X(ALREADY_PLACED, "fusion.already_placed", "An intermediate result has storage somebody else gave it.")  \
    X(NOT_PURE, "fusion.not_pure", "A node of the match may have effects besides its result.")               \
    X(VIEW_OUTSIDE, "fusion.view_outside", "An internal view shows storage from outside the match.")         \
    X(IN_PLACE_OUTSIDE, "fusion.in_place_outside", "An internal in-place node writes outside storage.")      \
    X(FINAL_VIEW, "fusion.final_view", "The final node only shows storage and computes nothing.")            \
    X(FINAL_OUTSIDE, "fusion.final_outside",                                                                 \
      "The final node writes storage from outside the match and is no copy.")                                \
    X(WRITEBACK_PARTIAL, "fusion.writeback_partial",                                                         \
      "The final node writes back to an earlier node but not exactly over all of it.")                       \
    X(OWNER_READ_OUTSIDE, "fusion.owner_read_outside",                                                       \
      "A node outside the match reads the earlier node that the final one overwrites.")                      \
    X(MATCH_LISTED_TWICE, "fusion.listed_twice", "A node of the match stands in the graph more than once.")  \
    X(EXAMPLE_NOT_FUSED, "fusion.example_not_fused",                                                         \
      "The rule does not fire on the example it was given, or there is no such rule.")                       \
    X(FUZZ_ENDLESS, "fusion.fuzz_endless", "The fuzzer was given neither a number of rounds nor a time.")    \
    /* reordering */                                                                                         \
    X(DELAY_RANGE, "reorder.range",                                                                          \
      "The nodes to move, or the place to move them to, are not in the graph.")                              \
    X(DELAY_DEPENDENCY, "reorder.dependency", "A node that is crossed reads or feeds one that moves.")       \
    X(DELAY_EFFECT, "reorder.effect", "A node's effects are not known, so it is not moved and not crossed.") \
    X(DELAY_ALIAS, "reorder.alias", "A write would move across an access to the same storage.")              \
    /* planning and execution */                                                                             \
    X(PREPARE_FAILED, "plan.prepare_failed", "The kernel could not be prepared.")                            \
    X(WORKSPACE_ABSURD, "workspace.absurd",                                                                  \
      "The workspace asked for is larger than the device can allocate.")                                     \
    X(WORKSPACE_MEMORY, "workspace.no_memory", "There is no memory for the workspace.")                      \
    X(WORKSPACE_OVERRUN, "workspace.overrun", "A kernel wrote behind its workspace (debug builds check).")   \
    X(EXECUTE_FAILED, "run.execute_failed", "The kernel failed while running; nothing was retried.")         \
    X(NATIVE_FAILED, "run.native_failed", "Native nodes of the plan failed while running.")                  \
    X(ABORTED, "run.aborted", "The abort callback ended the computation.")                                   \
    X(PLAN_STALE, "run.plan_stale",                                                                          \
      "The graph changed after it was allocated and cannot run as it was planned: allocate it again.")       \
    X(CALLBACK_AFTER_FUSION, "run.callback_after_fusion",                                                    \
      "An evaluation callback was set after fused nodes lost their storage: allocate the graph again.")      \
    /* replay */                                                                                             \
    X(REPLAY_OFF, "replay.off", "Replay is switched off.")                                                   \
    X(REPLAY_NO_DEVICE, "replay.no_device", "The device cannot record and replay work.")                     \
    X(REPLAY_ADDRESSES, "replay.addresses_unstable", "The device's scratch addresses may change.")           \
    X(REPLAY_KERNEL, "replay.kernel_not_safe", "A kernel of the plan is not registered as capture-safe.")    \
    X(REPLAY_COLD, "replay.cold", "First execution: kernels and libraries warm up.")                         \
    X(REPLAY_CAPTURED_NOW, "replay.captured_now", "The plan was recorded in this execution.")                \
    X(REPLAY_NEW_ADDRESS, "replay.new_address", "A tensor or the workspace has moved.")                      \
    X(REPLAY_NEW_STREAM, "replay.new_stream", "The work goes to another stream.")                            \
    X(REPLAY_NEW_METADATA, "replay.new_metadata", "A tensor's type, shape, strides or parameters changed.")  \
    X(REPLAY_NEW_GRAPH, "replay.new_graph", "The nodes or their edges changed.")                             \
    X(REPLAY_NEW_KERNELS, "replay.new_kernels", "Another implementation or fusion was selected.")            \
    X(REPLAY_NEW_WORKSPACE, "replay.new_workspace", "The workspace has another size.")                       \
    X(REPLAY_NOT_REUSABLE, "replay.not_reusable",                                                            \
      "A kernel may be replayed within its plan only, and the plan is new.")                                 \
    X(REPLAY_EVICTED, "replay.evicted", "The recording made room for newer ones.")                           \
    X(REPLAY_ENCLOSED, "replay.enclosed", "The caller is recording, so the plan was recorded into that.")    \
    X(REPLAY_CAPTURE_FAILED, "replay.capture_failed", "Recording the plan failed; nothing was retried.")     \
    X(REPLAY_FAILED, "replay.failed", "The recording could not be launched.")                                \
    /* tools: explain, expectations, trace */                                                                \
    X(REPLAY_NATIVE_SPLIT, "replay.native_split",                                                            \
      "No extension computes anything here, so nothing is recorded either.")                                 \
    X(NO_BACKEND, "sched.no_backend", "No backend of the scheduler runs the node where its data lies.")      \
    X(EXPECT_MALFORMED, "expect.malformed",                                                                  \
      "An expectation's kind is not known, or its count makes no sense.")                                    \
    X(EXPECT_DEVICE, "expect.device", "Nodes run on another backend than expected, or there are none.")      \
    X(EXPECT_KERNEL, "expect.kernel",                                                                        \
      "Nodes are computed by something else than expected, or there are none.")                              \
    X(EXPECT_FUSION, "expect.fusion", "A fusion rule did not fire as often as expected.")                    \
    X(EXPECT_REPLAY, "expect.replay", "An execution was expected to be a replay and was none.")              \
    X(TRACE_RUNNING, "trace.running", "A trace is running already.")                                         \
    X(TRACE_NOT_RUNNING, "trace.not_running", "There is no trace to end.")                                   \
    X(TRACE_FILE, "trace.file", "The file of the trace cannot be created or written.")                       \
    /* tools */                                                                                              \
    X(NOT_ALLOCATED, "tools.not_allocated", "The graph is not allocated in this scheduler.")                 \
    X(PARITY_OTHER_PLAN, "parity.other_plan",                                                                \
      "A second scheduler plans the graph differently, so no step can be told apart.")                       \
    X(PARITY_UNSTABLE, "parity.unstable",                                                                    \
      "The graph's results differ between two executions with the fewest extensions.")                       \
    X(AUDIT_NOTHING, "audit.nothing", "No registered kernel computes a node of the graph on this backend.")  \
    X(AUDIT_HOST_WORK, "audit.host_work",                                                                    \
      "The kernel needs the host in each execution, which a replay leaves out.")                             \
    X(AUDIT_CONTENTS, "audit.contents",                                                                      \
      "What the kernel recorded depends on the contents its inputs had then.")                               \
    X(AUDIT_PLAN_STATE, "audit.plan_state", "Recorded work uses prepared state that ends with its plan.")    \
    X(AUDIT_OLD_GRAPH, "audit.old_graph", "Recorded work uses metadata of a graph that is gone.")            \
    X(AUDIT_OLD_MEMORY, "audit.old_memory", "The kernel uses memory of another graph, which may be gone.")   \
    X(AUDIT_WORKSPACE, "audit.workspace", "The kernel reads what the workspace held before it ran.")         \
    X(AUDIT_SHARED, "audit.shared_state",                                                                    \
      "Two recorded graphs disturb each other through what the kernel keeps.")                               \
    X(TOLERANCE, "tools.tolerance", "A limit of the tolerance is negative or not a number.")
