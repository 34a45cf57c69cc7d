// How a product finds its weights and rows where the matrix is one of experts (Matrix::n_expert in
// engine/kernel_operands.h). With EXPERTS a table has the addresses of each expert's codes and scales. A
// kernel for a few tokens has a row of workgroups for each pair of a token and an expert, another one has a
// row for each tile of neighbouring pairs of one expert, which group_pairs.comp lists. Without EXPERTS
// nothing changes. This comes behind all other includes, since w is a component of vectors too.
#ifdef EXPERTS
layout(binding = 0) readonly buffer ExpertTable { uvec2 expert_table[]; };  // [n_expert][4]
layout(binding = 4) readonly buffer ExpertRows { uint expert_rows[]; };     // [pairs] ids, or tiles
layout(constant_id = CONSTANT_PAIRS) const uint kPairs = 1;                 // of a row of the input

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer ExpertCodes { uvec4 at[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer ExpertScales { uint at[]; };

uvec2 expert_codes, expert_scales, expert_codes_up, expert_scales_up;
uint expert_begin, expert_end;  // of the rows of a tile

void take_expert(uint expert) {
  expert_codes = expert_table[expert * 4];
  expert_scales = expert_table[expert * 4 + 1];
  expert_codes_up = expert_table[expert * 4 + 2];
  expert_scales_up = expert_table[expert * 4 + 3];
}

bool take_tile() {
  if (gl_WorkGroupID.y >= expert_rows[0]) return false;
  uint at = TILES_BEGIN + TILE_WORDS * gl_WorkGroupID.y;
  take_expert(expert_rows[at]);
  expert_begin = expert_rows[at + 1];
  expert_end = expert_rows[at + 2];
  return true;
}

#define w ExpertCodes(expert_codes).at
#define scales ExpertScales(expert_scales).at
#define w_up ExpertCodes(expert_codes_up).at
#define scales_up ExpertScales(expert_scales_up).at

#define BEGIN_PAIR take_expert(expert_rows[gl_WorkGroupID.y]);
#define PAIR_INPUT (gl_WorkGroupID.y / kPairs)
#define PAIR_OUTPUT(t) gl_WorkGroupID.y
#define BEGIN_TILE if (!take_tile()) return;
#define FIRST_TOKEN(tile_tokens) expert_begin
#define END_TOKEN expert_end
#else
#define BEGIN_PAIR
#define PAIR_INPUT gl_WorkGroupID.y
#define PAIR_OUTPUT(t) (t)
#define BEGIN_TILE
#define FIRST_TOKEN(tile_tokens) (gl_WorkGroupID.y * tile_tokens)
#define END_TOKEN push.n_tokens
#endif
