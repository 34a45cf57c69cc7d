// How attention as a stage of decode.comp brings a chunk of keys and its values into shared memory: what the
// cache holds, neighbouring invocations neighbouring features of a key, and what it does not hold yet. Part of
// decode_attention.glsl, behind the file that says where they lie.

const uint kChunkLoads = (kChunk * kUnits + kSize - 1) / kSize;  // uvec4 of keys, or of values, of an invocation

// A chunk of keys: where it begins, how many of it there are, and of these from the cache; the next one of
// the workgroup, and the end of all.
struct Chunk {
  uint base, n_keys, n_old, next, end;
  uint kv_head, position, first_new;
};
// What an invocation has of a new key and its value: their pair `pair`, and where in the chunk the key is, if
// it is there.
struct NewPair {
  uint key, pair, key_word, value_word;
};

// Where the cache has what this invocation brings of a chunk at load `i`, in uvec4, if it has it.
uint place_in_cache(uint i, uint chunk, uint kv_head) {
  uint item = gl_LocalInvocationID.x + i * kSize;
  return (cache_row(chunk * kChunk + item / kUnits) * push.n_head_kv + kv_head) * kUnits + item % kUnits;
}
bool is_in_cache(uint i, uint chunk, uint position, uint first_new) {
  uint base = chunk * kChunk, key = (gl_LocalInvocationID.x + i * kSize) / kUnits;
  return key >= max(first_of_window(position), base) - base && key < old_keys(base, first_new);
}

// Loads what the cache holds of a chunk, and zeros in place of what it does not hold yet or no longer, where
// it may be NaN. The cache is no parameter of one function for both, since llvmpipe of Mesa 22.3 then loads
// keys where the values are.
void load_keys(uint chunk, uint kv_head, uint position, uint first_new, out uvec4 keys[kChunkLoads]) {
  Codes k_cache = Codes(push.k_cache);
  UNROLL for (uint i = 0; i < kChunkLoads; ++i) {
    keys[i] = uvec4(0);
    if (is_in_cache(i, chunk, position, first_new)) keys[i] = k_cache.at[place_in_cache(i, chunk, kv_head)];
  }
}
void load_values(uint chunk, uint kv_head, uint position, uint first_new, out uvec4 values[kChunkLoads]) {
  Codes v_cache = Codes(push.v_cache);
  UNROLL for (uint i = 0; i < kChunkLoads; ++i) {
    values[i] = uvec4(0);
    if (is_in_cache(i, chunk, position, first_new)) values[i] = v_cache.at[place_in_cache(i, chunk, kv_head)];
  }
}

// Keeps of a chunk what comes from the cache, and the pair that this invocation has of what does not.
void keep_chunk(uvec4 from_cache[kChunkLoads], Chunk chunk, NewPair pair, uint word) {
  UNROLL for (uint i = 0; i < kChunkLoads; ++i) {
    uint item = gl_LocalInvocationID.x + i * kSize, key = item / kUnits;
    if (key < chunk.n_old || key >= chunk.n_keys && key < kChunk)
      tile[key * kStride + item % kUnits] = from_cache[i];
  }
  if (pair.key < chunk.n_keys) tile[pair.key * kStride + pair.pair / 4][pair.pair % 4] = word;
}

// Computes the scores of a chunk and then keeps its values. Loads the next chunk's keys, and then its values,
// as soon as there is room for them.
void score_keys(inout uvec4 keys[kChunkLoads], inout uvec4 values[kChunkLoads], Chunk chunk, NewPair pair) {
  keep_chunk(keys, chunk, pair, pair.key_word);
  barrier();
  if (chunk.next < chunk.end) load_keys(chunk.next, chunk.kv_head, chunk.position, chunk.first_new, keys);
  multiply_keys();
  barrier();
  keep_chunk(values, chunk, pair, pair.value_word);
  if (chunk.next < chunk.end) load_values(chunk.next, chunk.kv_head, chunk.position, chunk.first_new, values);
}
