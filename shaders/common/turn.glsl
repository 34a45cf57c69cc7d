// The Walsh-Hadamard transform y = H x of blocks of kRotated features as a workgroup does it beside something
// else, with the bits of rotate.comp: levels of butterflies come in the same order. An invocation has a vec4,
// neighbouring lanes have neighbouring ones. So the first levels are within a lane, the next ones between the
// lanes of a subgroup, and only what is left goes through `tile`. Expects subgroup.glsl and `tile`, shared.
layout(constant_id = CONSTANT_BLOCK) const uint kRotated = 0;  // features of a block; 0: there is none
const bool kHasRotation = kRotated != 0;
const uint kBlockQuads = kHasRotation ? kRotated / 4 : 1;

// How many vec4 that follow each other are done in a subgroup.
uint quads_in_subgroup() { return min(SUBGROUP_SIZE, kBlockQuads); }

// All lanes are here.
vec4 turned_in_subgroup(vec4 v) {
  precise vec4 pairs = vec4(v.x + v.y, v.x - v.y, v.z + v.w, v.z - v.w);
  precise vec4 turned = vec4(pairs.xy + pairs.zw, pairs.xy - pairs.zw);
  UNROLL for (uint step = 1; step < quads_in_subgroup(); step *= 2) {
    vec4 other = vec4(shuffle_xor(turned.x, step), shuffle_xor(turned.y, step), shuffle_xor(turned.z, step),
                      shuffle_xor(turned.w, step));
    precise vec4 more = turned + other, less = other - turned;
    turned = (LANE & step) != 0 ? less : more;
  }
  return turned;
}

vec4 quad_at(uint i) { return uintBitsToFloat(tile[i]); }
void keep_quad(uint i, vec4 v) { tile[i] = floatBitsToUint(v); }

// The levels that are left, of the first n vec4 of `tile`, which are whole blocks. Two levels lie between two
// barriers.
void turn_tile(uint n) {
  uint h = quads_in_subgroup();
  for (; 4 * h <= kBlockQuads; h *= 4) {
    for (uint j = gl_LocalInvocationID.x; j < n / 4; j += gl_WorkGroupSize.x) {
      uint i = j / h * 4 * h + j % h;
      vec4 a = quad_at(i), b = quad_at(i + h), c = quad_at(i + 2 * h), d = quad_at(i + 3 * h);
      precise vec4 more = a + b, less = a - b, far_more = c + d, far_less = c - d;
      precise vec4 first = more + far_more, second = less + far_less;
      precise vec4 third = more - far_more, fourth = less - far_less;
      keep_quad(i, first);
      keep_quad(i + h, second);
      keep_quad(i + 2 * h, third);
      keep_quad(i + 3 * h, fourth);
    }
    barrier();
  }
  if (h == kBlockQuads) return;
  for (uint j = gl_LocalInvocationID.x; j < n / 2; j += gl_WorkGroupSize.x) {
    uint i = j / h * 2 * h + j % h;
    vec4 a = quad_at(i), b = quad_at(i + h);
    precise vec4 more = a + b, less = a - b;
    keep_quad(i, more);
    keep_quad(i + h, less);
  }
  barrier();
}
