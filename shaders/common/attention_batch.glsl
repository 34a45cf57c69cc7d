// What the kernels of attention of a batch share: what they are given, and which tokens and keys a workgroup
// has. Expects attention.glsl, and kHeads, the heads that a workgroup takes, and kTokens, its tokens.
layout(constant_id = CONSTANT_SPLIT) const uint kSplit = 0;

layout(push_constant) uniform Push { AttentionPush push; };
layout(binding = 0) readonly buffer Params { uint params[]; };
layout(binding = 1) readonly buffer Qkv { vec4 qkv[]; };  // [n_tokens][row_heads][head_dim / 4], rotated
layout(binding = 2) readonly buffer K { uvec4 k_cache[]; };  // [cache_rows][n_head_kv][head_dim / 8], F16
layout(binding = 3) readonly buffer V { uvec4 v_cache[]; };  // [cache_rows][n_head_kv][head_dim / 8], F16
layout(binding = 4) writeonly buffer O { vec4 o[]; };        // [n_tokens][n_head][head_dim / 4]
layout(binding = 5) writeonly buffer Chunks { vec2 chunks[]; };  // [n_tokens][n_head][max_chunks][1 + head_dim / 2]

uint position;  // of the batch's first token
uint first_token, first_head, kv_head, first_key, n_keys;
uint first_base, stride;  // of the workgroup's chunks of keys

// Finds them for the workgroup that has heads from `head` on.
void place_tile(uint head) {
  first_head = head;
  first_token = (gl_NumWorkGroups.y - 1 - gl_WorkGroupID.y) * kTokens;  // those with the most keys come first
  if (kSplit != 0) first_token = gl_WorkGroupID.z * kTokens;
  kv_head = first_head / (push.n_head / push.n_head_kv);
  position = params[PARAMS_POSITION];
  n_keys = position + min(first_token + kTokens, push.n_tokens);  // of the tile's last token
  first_key = first_seen(position + first_token);
  first_base = first_key / kChunk * kChunk;
  stride = kChunk;
  if (kSplit != 0) {
    first_base += gl_WorkGroupID.y * kChunk;
    stride = gl_NumWorkGroups.y * kChunk;
  }
}

// Where the key and the value of a position begin, in uvec4.
uint row_of(uint at) {
  uint row = kWindow == 0 ? at : at % push.cache_rows;
  return (row * push.n_head_kv + kv_head) * (kHeadDim / 8);
}
uint token_of(uint row) { return min(first_token + row / kHeads, push.n_tokens - 1); }
