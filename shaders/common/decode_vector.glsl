// The input of a product of one token as a stage of decode.comp takes it. Every workgroup takes the whole
// vector and norms it; an invocation has the vec4 that lie gl_WorkGroupSize.x apart. Vectors are long or
// short, since what long ones take would be in the way of short ones.

const uint kMostNormLoads = kNormLoads < kNormLoadsLong ? kNormLoadsLong : kNormLoads;
const uint kMoreNormLoads = kNormLoads < kNormLoadsLong ? kNormLoadsLong - kNormLoads : 1;  // of long rows
const uint kWeights = kNormLong == NORM_NEVER ? kNormLoads : kMostNormLoads;  // vec4 of a norm's weights

uint loads_of(bool long_rows) { return long_rows ? kMostNormLoads : kNormLoads; }

bool is_normed(bool long_rows) {
  uint norm = long_rows ? kNormLong : kNorm;
  return norm == NORM_ALWAYS || norm == NORM_BY_STAGE && push.weight != uvec2(0);
}

vec4 own_x[kMostNormLoads];  // what this invocation has of the vector
vec4 own_weight[kWeights];   // and of the norm's weights

void load_weights(uint invocation, uint words, uint loads, bool normed) {
  UNROLL for (uint i = 0; i < kWeights; ++i) {
    own_weight[i] = vec4(1.0);
    if (normed && i < loads)
      own_weight[i] = Weights(push.weight).at[min(invocation + i * gl_WorkGroupSize.x, words - 1)];
  }
}

// Polls COUNT of them, own_x[FIRST] and those behind it.
#define TAKE(FIRST, COUNT)                                                                                \
  for (uint polls = 0;; ++polls) {                                                                        \
    uvec4 pairs[2 * COUNT];                                                                               \
    UNROLL for (uint i = 0; i < 2 * COUNT; ++i)                                                           \
      pairs[i] = input_.at[2 * min(invocation + (FIRST + i / 2) * gl_WorkGroupSize.x, words - 1) + i % 2]; \
    uint wrong = 0;                                                                                       \
    UNROLL for (uint i = 0; i < COUNT; ++i) {                                                             \
      uvec4 values = uvec4(pairs[2 * i].xz, pairs[2 * i + 1].xz);                                         \
      uvec4 tags = values ^ uvec4(pairs[2 * i].yw, pairs[2 * i + 1].yw) ^ tag;                            \
      wrong |= tags.x | tags.y | tags.z | tags.w;                                                         \
      own_x[FIRST + i] = uintBitsToFloat(values);                                                         \
    }                                                                                                     \
    if (wrong == 0 || !look_again(polls)) break;                                                          \
  }

void take_vector(uint invocation, uint words, bool long_rows) {
  if ((push.flow & FLOW_FROM) == 0) {
    UNROLL for (uint i = 0; i < kMostNormLoads; ++i)
      own_x[i] = Vectors(push.x).at[min(invocation + i * gl_WorkGroupSize.x, words - 1)];
    return;
  }
  TaggedPairs input_ = TaggedPairs(push.from);
  uint tag = tag_of(this_stage - 1);
  wait_for_input(push.n_in - 1, tag);
  TAKE(0, kNormLoads)
  if (kNormLoads < kMostNormLoads && long_rows) TAKE(kNormLoads, kMoreNormLoads)
}
#undef TAKE

// Multiplies the vector with the norm's weights, and returns the factor that is still to come.
RowScale norm_vector(uint invocation, uint words, uint loads, bool normed) {
  float squares = 0.0, largest = 0.0;
  UNROLL for (uint i = 0; i < kMostNormLoads; ++i) {
    if (i >= loads) break;
    if (invocation + i * gl_WorkGroupSize.x >= words) continue;
    squares = add_squares(own_x[i], squares);
    precise vec4 product = own_x[i];
    if (i < kWeights) product *= own_weight[i];
    own_x[i] = product;
    largest = largest_of(product, largest);
  }
  return row_scale(squares, largest, normed);
}
