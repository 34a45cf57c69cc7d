// The memory S of a head of Gated DeltaNet, [head_dim of k][head_dim of v]. Its columns do not depend on each
// other. kParts invocations share a column and hold it in registers: each has neighbouring rows. Expects
// common/delta_slots.glsl and the buffer heads, or what HEADS_READ and HEADS_WRITTEN name.
#ifndef HEADS_READ
#define HEADS_READ heads
#define HEADS_WRITTEN heads
#endif

const uint kQuads = kDeltaDim / kParts / 4;  // of rows of an invocation

vec4 s[kQuads];

uint heads_at(uint ahead, uint head, uint part, uint column) {
  return ((slot_of(ahead) * push.n_head_v + head) * kDeltaDim + part * kQuads * 4) * kDeltaDim + column;
}

void load_state(uint at) {
  UNROLL for (uint i = 0; i < kQuads; ++i, at += 4 * kDeltaDim)
    s[i] = vec4(HEADS_READ[at], HEADS_READ[at + kDeltaDim], HEADS_READ[at + 2 * kDeltaDim],
                HEADS_READ[at + 3 * kDeltaDim]);
}

void store_state(uint at) {
  UNROLL for (uint i = 0; i < kQuads; ++i, at += 4 * kDeltaDim) {
    HEADS_WRITTEN[at] = s[i].x;
    HEADS_WRITTEN[at + kDeltaDim] = s[i].y;
    HEADS_WRITTEN[at + 2 * kDeltaDim] = s[i].z;
    HEADS_WRITTEN[at + 3 * kDeltaDim] = s[i].w;
  }
}
