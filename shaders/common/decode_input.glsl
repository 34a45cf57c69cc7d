// A piece of the functions of decode_linear.glsl, as text since its sizes are macros: brings PART of the
// NORM_LOADS vec4 of x that this invocation norms, x[begin] and those behind it.
  if ((push.flow & FLOW_FROM) != 0) {
    TaggedPairs input_ = TaggedPairs(push.from);
    uint tag = tag_of(this_stage - 1);
    if (begin == 0) wait_for_input(push.n_in - 1, tag);
    for (uint polls = 0;; ++polls) {
      uvec4 pairs[2 * PART];
      UNROLL for (uint i = 0; i < 2 * PART; ++i)
        pairs[i] = input_.at[2 * min(invocation + (begin + i / 2) * gl_WorkGroupSize.x, words - 1) +
                             i % 2];
      uint wrong = 0;
      UNROLL for (uint i = 0; i < PART; ++i) {
        uvec4 values = uvec4(pairs[2 * i].xz, pairs[2 * i + 1].xz);
        uvec4 tags = values ^ uvec4(pairs[2 * i].yw, pairs[2 * i + 1].yw) ^ tag;
        wrong |= tags.x | tags.y | tags.z | tags.w;
        if (begin + i < NORM_LOADS) x[begin + i] = uintBitsToFloat(values);
      }
      if (wrong == 0 || !look_again(polls)) break;
    }
  } else {
    Vectors input_ = Vectors(push.x);
    UNROLL for (uint i = 0; i < PART; ++i)
      if (begin + i < NORM_LOADS)
        x[begin + i] = input_.at[min(invocation + (begin + i) * gl_WorkGroupSize.x, words - 1)];
  }
#undef PART
