// The memory S of a head of Gated DeltaNet, [head_dim of k][head_dim of v]. Its columns do not depend on each
// other. kParts invocations share a column and hold it in registers: each has neighbouring rows. Expects
// common/delta_inputs.glsl and the buffer heads, and that the invocations of a part are neighbours, a column each,
// so that a row's columns are read together.
#ifdef UNROLLED
#extension GL_EXT_control_flow_attributes : require
#endif

const uint kQuads = kHeadDim / kParts / 4;  // of rows of an invocation

vec4 s[kQuads];

uint heads_at(uint ahead, uint head, uint part, uint column) {
  return ((slot_of(ahead) * push.n_head_v + head) * kHeadDim + part * kQuads * 4) * kHeadDim + column;
}

void load_state(uint at) {
  UNROLL for (uint i = 0; i < kQuads; ++i, at += 4 * kHeadDim)
    s[i] = vec4(heads[at], heads[at + kHeadDim], heads[at + 2 * kHeadDim], heads[at + 3 * kHeadDim]);
}

void store_state(uint at) {
  UNROLL for (uint i = 0; i < kQuads; ++i, at += 4 * kHeadDim) {
    heads[at] = s[i].x;
    heads[at + kHeadDim] = s[i].y;
    heads[at + 2 * kHeadDim] = s[i].z;
    heads[at + 3 * kHeadDim] = s[i].w;
  }
}
