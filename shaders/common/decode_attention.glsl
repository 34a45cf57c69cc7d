// Attention of a token as a stage of decode.comp: bias and norms of heads, RoPE, the new key and value into
// the cache, and attention over everything cached, or over a window of it. A workgroup takes kHeads heads
// that share a key head, and every n_splits-th chunk of the keys. Behind these workgroups come others that
// merge the results of chunks, each of them of some features of a head, as soon as they are there; of several
// tokens the last one to be ready merges them (decode_merge.glsl).
//
// How a chunk comes is in decode_attention_chunk.glsl, and what is computed of it in
// decode_attention_dot.glsl, or in decode_attention_matrix.glsl for a device that multiplies matrices of F16.
//
// Of several tokens each has workgroups of its own. They compute the keys of the tokens before it once more
// where their chunks have these, in place of waiting for what others write to the cache: kPairs neighbouring
// invocations compute a key each. Requires there: no window, and as many invocations.

const uint kPairs = kHeadDim / 2, kUnits = kHeadDim / 8;  // of a head: pairs of features, uvec4 of F16
const uint kSize = gl_WorkGroupSize.x;
const uint kScores = (kHeads * kChunk + kSize - 1) / kSize;
const uint kQueries = (kHeads * kHeadDim + kSize - 1) / kSize;
// Values of qkv that an invocation takes: its queries and those that RoPE pairs with them, two features of k
// and v.
const uint kTaken = 2 * kQueries + 6;
// Pairs of features of a workgroup that merges: a unit, where heads are whole units (merge_parts() in
// vk/kernels.cpp).
#ifdef GROUPS
const uint kMergeFeatures = kUnit;
#else
const uint kMergeFeatures = 64;
#endif
const uint kMergeParts = kHeadDim % kMergeFeatures == 0 ? kHeadDim / kMergeFeatures : 1;
const uint kMergePairs = kPairs / kMergeParts;
const uint kMergeChunks = kChunk * 64 / kMergeFeatures;  // at a time
const uint kMergeLoads = (kMergeChunks * kMergePairs + kSize - 1) / kSize;

#include "common/decode_attention_memory.glsl"

// The first position that a token sees. kWindow only says whether any stage of the chain has a window.
uint first_of_window(uint position) {
  return kWindow == 0 || push.window == 0 ? 0 : position - min(position, push.window - 1);
}

// How many keys of the chunk that begins at `base` are older than those of this pass.
uint old_keys(uint base, uint first_new) {
  return min(kChunk, (kTokens == 1 ? first_new : max(first_new, base)) - base);
}

// Of the new keys that this invocation's is, and its place there.
uint new_of_lane() { return kTokens == 1 ? 0 : gl_LocalInvocationID.x / kPairs; }
uint pair_of_lane() { return kTokens == 1 ? gl_LocalInvocationID.x : gl_LocalInvocationID.x % kPairs; }

// The head as `chunks` counts it, which has those of all tokens.
uint counted_head(uint head) { return this_token * push.n_head + head; }

uint cache_row(uint position) { return kWindow == 0 ? position : position % push.cache_rows; }

#ifdef HALF_MATRICES
#include "common/decode_attention_matrix.glsl"
#else
#include "common/decode_attention_dot.glsl"
#endif
#include "common/decode_attention_chunk.glsl"

// Times the logistic of the gate of a pair of features, which a stage before this one has given.
vec2 gated_pair(uint at, vec2 values) {
  vec2 gate;
  if ((push.flow & FLOW_RESIDUAL) == 0) {
    gate = Pairs(push.x2).at[at];
  } else {
    gate = vec2(taken_value(push.residual, 2 * at), taken_value(push.residual, 2 * at + 1));
  }
  return vec2(times_sigmoid(values.x, gate.x), times_sigmoid(values.y, gate.y));
}

// The result of a pair of features, counted by `item` from `first_pair` of all heads on.
void give_features(uint first_pair, uint item, vec2 values) {
  if ((kHeadInput & HEAD_GATE) != 0 && push.x2 != uvec2(0)) values = gated_pair(first_pair + item, values);
#ifdef HAS_UNITS
  if (kAttentionRounds && gives_units()) {  // the query is not needed any more
    query[item / 2][item % 2 * 2] = values.x;
    query[item / 2][item % 2 * 2 + 1] = values.y;
    if ((push.flow & FLOW_OUT) != 0) Pairs(push.y).at[first_result() / 2 + first_pair + item] = values;
    return;
  }
#endif
  give_pair(first_pair + item, values);
}

#ifdef HAS_UNITS
// Gives n_pairs of those as units, where units are handed over.
void give_heads(uint first_pair, uint n_pairs) {
  if (!kAttentionRounds || !gives_units()) return;
  uint n_quads = n_pairs / 2;
  barrier();
  if (SUBGROUP * SUBGROUP_SIZE >= n_quads) return;
  uint place = INVOCATION, unit = (first_pair / 2 + place) / kUnitWords;
  give_unit(query[min(place, n_quads - 1)], unit, push.n_out / (4 * kUnitWords), place < n_quads);
}
#endif

#include "common/decode_merge.glsl"

// Takes those values of qkv that the stage before, or the kernel before the chain, has computed: queries of
// this token, and the others of the new token `of_key`.
void take(uint wanted[kTaken], uint of_key, out float values[kTaken]) {
  uint row = (push.n_head + 2 * push.n_head_kv) * kHeadDim, of_q = this_token * row, of_k = of_key * row;
  if ((push.flow & FLOW_FROM) == 0) {
    UNROLL for (uint i = 0; i < kTaken; ++i)
      values[i] = Floats(push.x).at[(i < 2 * kQueries ? of_q : of_k) + wanted[i]];
    return;
  }
  wait_for_input(of_q + wanted[0]);
  for (uint polls = 0;; ++polls) {
    uint some[kTaken];
    UNROLL for (uint i = 0; i < kTaken; ++i)
      some[i] = Given(push.from).at[(i < 2 * kQueries ? of_q : of_k) + wanted[i]];
    bool missing = false;
    UNROLL for (uint i = 0; i < kTaken; ++i) {
      missing = either(missing, some[i] == NOT_GIVEN);
      values[i] = uintBitsToFloat(some[i]);
    }
    if (!missing || !look_again(polls)) break;
  }
#ifdef HALF_MATRICES
  meet_behind_polls();
#endif
}

// The bias of the values that are wanted.
void load_bias(uint wanted[kTaken], out float bias[kTaken]) {
  UNROLL for (uint i = 0; i < kTaken; ++i) {
    bias[i] = 0.0;
    if (kHasBias) bias[i] = Scalars(push.bias).at[wanted[i]];
  }
}

// The weights of a norm for feature `i` and for the one that RoPE pairs it with, where there is the norm that
// `has` names.
vec2 load_norm(uint has, uvec2 weights, uint i) {
  if ((kHeadInput & has) == 0) return vec2(1.0);
  uvec2 pair = pair_of(0, i);
  return vec2(Scalars(weights).at[pair.x], Scalars(weights).at[pair.y]);
}

float own_of(vec2 pair, uint i) {
  return i >= push.rope_dim / 2 && i < push.rope_dim ? pair.y : pair.x;
}

vec2 normed(vec2 pair, uint head, float epsilon, vec2 weight) {
  float inverse = inverse_of_head(shares[head], push.per_feature, epsilon);
  return vec2(normed(pair.x, inverse, weight.x), normed(pair.y, inverse, weight.y));
}

// Norms the pairs of features that this invocation has of the queries and, of n_new keys, of its key.
void norm_heads(inout vec2 q[kQueries], inout vec2 k[2], vec2 q_weight[kQueries], vec2 k_weight[2],
                uint n_new, bool brings_key) {
  uint lane = gl_LocalInvocationID.x;
  UNROLL for (uint i = 0; i < kQueries; ++i) {
    uint item = lane + i * kSize;
    if (item < kHeads * kHeadDim) query[item / 4][item % 4] = own_of(q[i], item % kHeadDim);
  }
  UNROLL for (uint i = 0; i < 2; ++i)
    if (brings_key) keep_raw(2 * lane + i, own_of(k[i], 2 * pair_of_lane() + i));
  barrier();
  for (uint item = lane; item < (kHeads + n_new) * kShares; item += kSize) {
    uint h = item / kShares, share = item % kShares;
    float sum = 0.0;
    UNROLL for (uint i = 0; i < (kHeadDim + kShares - 1) / kShares; ++i) {
      uint feature = share + i * kShares;
      if (feature >= kHeadDim) break;
      uint at = (h < kHeads ? h : h - kHeads) * kHeadDim + feature;
      sum = add_square(h < kHeads ? query[at / 4][at % 4] : raw_at(at), sum);
    }
    shares[h][share / 4][share % 4] = sum;
  }
  barrier();
  if ((kHeadInput & HEAD_Q_NORM) != 0) {
    UNROLL for (uint i = 0; i < kQueries; ++i)
      q[i] = normed(q[i], min((lane + i * kSize) / kHeadDim, kHeads - 1), push.q_epsilon, q_weight[i]);
  }
  if ((kHeadInput & HEAD_K_NORM) != 0 && n_new != 0) {
    uint own = kHeads + min(new_of_lane(), kTokens - 1);
    UNROLL for (uint i = 0; i < 2; ++i) k[i] = normed(k[i], own, push.k_epsilon, k_weight[i]);
  }
}

void attention(uint group) {
  uint lane = gl_LocalInvocationID.x;
  uint n_groups = push.n_head / kHeads, n_merges = kTokens == 1 ? push.n_head * kMergeParts : 0;
  uint n_splits = (push.n_groups / n_tokens() - n_merges) / n_groups, n_shares = n_groups * n_splits;
  bool merges = kTokens == 1 && group >= n_shares;
  if (merges) group -= n_shares;
  if (kTokens > 1) {
    this_token = group / n_shares;
    group %= n_shares;
  }
  uint first_head = group % n_groups * kHeads, split = group / n_groups;
  uint a_kv_head = push.n_head / push.n_head_kv, kv_head = first_head / a_kv_head;
  uint first_new = params[PARAMS_POSITION], position = first_new + this_token;
  uint first_key = first_of_window(position);
  uint first_chunk = first_key / kChunk, n_chunks = position / kChunk + 1, n_seen = n_chunks - first_chunk;
  bool merges_here = merges_few(n_seen, n_splits);
  if (merges) {
    if (n_seen > 1 && !merges_here)
      merge_chunks(group / kMergeParts, group % kMergeParts, n_seen);
    finish_stage();
    return;
  }
  if (split >= n_seen) {
    finish_stage();
    return;
  }

  uvec4 keys[kChunkLoads], values[kChunkLoads];
  load_keys(first_chunk + split, kv_head, position, first_new, keys);
  load_values(first_chunk + split, kv_head, position, first_new, values);
  uint n_rotated = push.rope_dim / 2;  // pairs
  Turns turns = Turns(push.w);

  // Which values the token's q, k and v need. Only the workgroup with the last chunk needs k and v, and maybe
  // the one with the chunk before it those of earlier tokens, but all load them together with q.
  vec2 turn[kQueries];
  UNROLL for (uint i = 0; i < kQueries; ++i) {
    uint feature = (lane + i * kSize) % kHeadDim;
    turn[i] = vec2(1.0, 0.0);
    if (feature < push.rope_dim) turn[i] = turns.at[position * n_rotated + feature % n_rotated];
  }
  bool has_last = split == (n_seen - 1) % n_splits;
  bool has_new = has_last || kTokens > 1 && first_new / kChunk != position / kChunk &&
                                 split == (n_seen - 2) % n_splits;
  uint n_new = has_new ? this_token + 1 : 0, own_new = new_of_lane(), own_pair = pair_of_lane();
  bool brings_key = has_new && lane < n_new * kPairs;  // and the value
  vec2 key_turn[2] = vec2[2](vec2(1.0, 0.0), vec2(1.0, 0.0));
  UNROLL for (uint i = 0; i < 2; ++i)
    if (brings_key && 2 * own_pair + i < push.rope_dim)
      key_turn[i] = turns.at[(first_new + own_new) * n_rotated + (2 * own_pair + i) % n_rotated];

  uint wanted[kTaken];
  UNROLL for (uint i = 0; i < kQueries; ++i) {
    uint item = min(lane + i * kSize, kHeads * kHeadDim - 1);
    uvec2 pair = pair_of((first_head + item / kHeadDim) * kHeadDim, item % kHeadDim);
    wanted[2 * i] = pair.x;
    wanted[2 * i + 1] = pair.y;
  }
  uint key_at = (push.n_head + kv_head) * kHeadDim, value_at = key_at + push.n_head_kv * kHeadDim;
  UNROLL for (uint i = 0; i < 2; ++i) {
    uint feature = min(2 * own_pair + i, kHeadDim - 1);
    uvec2 pair = pair_of(key_at, feature);
    wanted[2 * kQueries + 2 * i] = brings_key ? pair.x : wanted[0];
    wanted[2 * kQueries + 2 * i + 1] = brings_key ? pair.y : wanted[0];
    wanted[2 * kQueries + 4 + i] = brings_key ? value_at + feature : wanted[0];
  }

  vec2 q_weight[kQueries], k_weight[2];
  UNROLL for (uint i = 0; i < kQueries; ++i)
    q_weight[i] = load_norm(HEAD_Q_NORM, push.q_norm, (lane + i * kSize) % kHeadDim);
  UNROLL for (uint i = 0; i < 2; ++i)
    k_weight[i] = load_norm(HEAD_K_NORM, push.k_norm, min(2 * own_pair + i, kHeadDim - 1));

  float bias[kTaken], taken[kTaken];
  load_bias(wanted, bias);
  take(wanted, brings_key ? own_new : this_token, taken);
  if (kHasBias) {
    UNROLL for (uint i = 0; i < kTaken; ++i) {
      precise float sum = taken[i] + bias[i];
      taken[i] = sum;
    }
  }
  vec2 q[kQueries], k[2];
  UNROLL for (uint i = 0; i < kQueries; ++i) q[i] = vec2(taken[2 * i], taken[2 * i + 1]);
  UNROLL for (uint i = 0; i < 2; ++i)
    k[i] = vec2(taken[2 * kQueries + 2 * i], taken[2 * kQueries + 2 * i + 1]);
  vec2 v = vec2(taken[2 * kQueries + 4], taken[2 * kQueries + 5]);
  if (kHasNorm) norm_heads(q, k, q_weight, k_weight, n_new, brings_key);
  UNROLL for (uint i = 0; i < kQueries; ++i) {
    uint item = lane + i * kSize;
    precise float scaled = rotate(q[i], turn[i], item % kHeadDim) * push.scale;
    keep_query(item, scaled);
  }
  Words new_k = Words(push.k_cache), new_v = Words(push.v_cache);
  uint row = (cache_row(position) * push.n_head_kv + kv_head) * kPairs;
  uint key_word = 0, value_word = pack_half2(v.x, v.y);
  if (brings_key) {
    key_word =
        pack_half2(rotate(k[0], key_turn[0], 2 * own_pair), rotate(k[1], key_turn[1], 2 * own_pair + 1));
    if (has_last && own_new == this_token && first_head % a_kv_head == 0) {
      new_k.at[row + own_pair] = key_word;
      new_v.at[row + own_pair] = value_word;
    }
  }

  for (uint chunk = first_chunk + split;; chunk += n_splits) {
    uint base = chunk * kChunk;
    uint n_keys = min(kChunk, position + 1 - base), n_old = old_keys(base, first_new);
    uint n_gone = max(first_key, base) - base;
    uint next = chunk + n_splits;
    uint own_key = brings_key ? first_new + own_new - base : n_keys;
    score_keys(keys, values, Chunk(base, n_keys, n_old, next, n_chunks, kv_head, position, first_new),
               NewPair(own_key, own_pair, key_word, value_word));
    // A whole number of subgroups has the keys of a head, counted by subgroups and their lanes and not by
    // invocations of the workgroup.
    uint own = INVOCATION;
    float score[kScores];
    UNROLL for (uint i = 0; i < kScores; ++i) {
      uint item = own + i * kSize, h = item / kChunk, key = item % kChunk;
      score[i] = kLowest;
      if (h < kHeads && key >= n_gone && key < n_keys) {
        score[i] = score_of(h, key);
      }
      float largest = subgroup_max(score[i]);
      if (LANE == 0 && h < kHeads) maxima[h][key / SUBGROUP_SIZE] = largest;
    }
    barrier();
    UNROLL for (uint i = 0; i < kScores; ++i) {
      uint item = own + i * kSize, h = item / kChunk, key = item % kChunk, of = min(h, kHeads - 1);
      float m = maxima[of][0];
      for (uint j = 1; j < kChunk / SUBGROUP_SIZE; ++j) m = max(m, maxima[of][j]);
      if (h < kHeads && key == 0) largest_score[h] = m;
      precise float exponent = score[i] - m;
      keep_weight(h, key, key >= n_gone && key < n_keys ? exp2(exponent) : 0.0);
    }
    barrier();
    sum_values();
    for (uint item = lane; item < kHeads * kPairs; item += kSize) {
      uint h = item / kPairs, pair = item % kPairs;
      float l;
      vec2 sum = values_of(h, pair, l);
      if (n_seen == 1) {
        give_features(first_head * kPairs, item, sum / l);
      } else if (merges_here && has_last) {  // which is all that this workgroup has
        give_features(first_head * kPairs, item,
                      merge_few(first_head + h, pair, n_seen, largest_score[h], l, sum));
      } else {
        uint head = first_head + h, place = chunk - first_chunk;
        if (pair == 0) give_result(head, chunk, place, 0, vec2(largest_score[h], l));
        give_result(head, chunk, place, 1 + pair, sum);
      }
    }
    if (next >= n_chunks) break;
    barrier();
  }

  bool is_last = kTokens > 1 && n_seen > 1 && comes_last(group % n_groups, min(n_splits, n_seen));
  if (is_last) merge_all(first_head, first_chunk, n_chunks);
#ifdef HAS_UNITS
  if (n_seen == 1 || merges_here && has_last || is_last) give_heads(first_head * kPairs, kHeads * kPairs);
#endif
  finish_stage();
}
