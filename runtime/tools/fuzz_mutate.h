// What is done to an example: one function each. A mutation edits a settled program and says in a few words
// what it did; the caller settles the program again and drops what no constructor would build. Those that
// change types and sizes come first, those that add nodes around the example last.
#pragma once

#include "runtime/tools/fuzz_program.h"
#include "runtime/tools/fuzz_random.h"

#include <span>
#include <string>

namespace ggml::tools {

// False: there is nothing here to do this to.
using FuzzMutation = bool (*)(FuzzProgram & program, Random & random, std::string & what);

std::span<const FuzzMutation> fuzz_mutations();

// Types and contents of leafs.
bool resize(FuzzProgram & program, Random & random, std::string & what);
bool retype(FuzzProgram & program, Random & random, std::string & what);
bool put_special_values(FuzzProgram & program, Random & random, std::string & what);

// Other operands.
bool stride_operand(FuzzProgram & program, Random & random, std::string & what);
bool permute_operand(FuzzProgram & program, Random & random, std::string & what);
bool broadcast_operand(FuzzProgram & program, Random & random, std::string & what);
bool widen_operand(FuzzProgram & program, Random & random, std::string & what);
bool compute_operand(FuzzProgram & program, Random & random, std::string & what);
bool repeat_operand(FuzzProgram & program, Random & random, std::string & what);
bool swap_operands(FuzzProgram & program, Random & random, std::string & what);

// The nodes of the example themselves.
bool change_parameters(FuzzProgram & program, Random & random, std::string & what);
bool work_in_place(FuzzProgram & program, Random & random, std::string & what);
bool put_view_on_edge(FuzzProgram & program, Random & random, std::string & what);
bool copy_result(FuzzProgram & program, Random & random, std::string & what);
bool copy_result_over_input(FuzzProgram & program, Random & random, std::string & what);
bool copy_result_beside_input(FuzzProgram & program, Random & random, std::string & what);
bool mark_output(FuzzProgram & program, Random & random, std::string & what);

// More nodes.
bool run_twice(FuzzProgram & program, Random & random, std::string & what);
bool put_node_between(FuzzProgram & program, Random & random, std::string & what);
bool put_writer_between(FuzzProgram & program, Random & random, std::string & what);
bool read_from_outside(FuzzProgram & program, Random & random, std::string & what);
bool read_input_again(FuzzProgram & program, Random & random, std::string & what);

//
// Helpers of several of them
//

struct FuzzEdge {
    ggml_tensor * node = nullptr; // null: there is no such edge
    int j = 0;
    ggml_tensor *& src() const { return node->src[j]; }
};

// A source of a node of the example that is read and not written. leafs: only those nobody computes.
FuzzEdge pick_edge(FuzzProgram & program, Random & random, bool leafs);
ggml_tensor * pick_example_node(FuzzProgram & program, Random & random);

// Shows `from` as a tensor of this shape, from an element on. Inserted before node number `at`, which moves
// on.
ggml_tensor * add_window(FuzzProgram & program, size_t & at, ggml_tensor * from, const Shape & ne,
                         size_t element);

// Inserts a new node there and moves `at` behind it. Returns the node.
ggml_tensor * add_node(FuzzProgram & program, size_t & at, ggml_tensor * node);

bool is_float(const ggml_tensor * t);

// Can there be a contiguous tensor of this shape? Not of rows that are no whole number of blocks.
bool can_be_contiguous(const ggml_tensor * t);

} // namespace ggml::tools
