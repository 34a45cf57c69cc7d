// y = H (signs * x), or signs * H x: a Walsh-Hadamard transform of each block of features that follow each
// other (Recorder::rotate). A workgroup takes a block of a row. Two levels of butterflies lie between two
// barriers; they are computed as if one came after the other, so that the order of additions is that of any
// other way.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "params.h"

layout(local_size_x_id = CONSTANT_WORKGROUP_SIZE) in;
layout(constant_id = CONSTANT_BLOCK) const uint kBlock = 1024;  // a power of two

layout(push_constant) uniform Push { RotatePush push; };
layout(binding = 0) readonly buffer X { float x[]; };
layout(binding = 1) readonly buffer Signs { float signs[]; };  // [n]
layout(binding = 2) buffer Y { float y[]; };                   // which may be x

shared float values[kBlock];

void main() {
  uint in_row = gl_WorkGroupID.x * kBlock, at = gl_WorkGroupID.y * push.n + in_row;
  for (uint i = gl_LocalInvocationID.x; i < kBlock; i += gl_WorkGroupSize.x) {
    float value = x[at + i];
    values[i] = (push.signs & ROTATE_SIGNS_FIRST) != 0u ? value * signs[in_row + i] : value;
  }
  barrier();
  uint h = 1;
  for (; 4 * h <= kBlock; h *= 4) {
    for (uint j = gl_LocalInvocationID.x; j < kBlock / 4; j += gl_WorkGroupSize.x) {
      uint i = j / h * 4 * h + j % h;
      float a = values[i], b = values[i + h], c = values[i + 2 * h], d = values[i + 3 * h];
      precise float more = a + b, less = a - b, far_more = c + d, far_less = c - d;
      precise float first = more + far_more, second = less + far_less;
      precise float third = more - far_more, fourth = less - far_less;
      values[i] = first;
      values[i + h] = second;
      values[i + 2 * h] = third;
      values[i + 3 * h] = fourth;
    }
    barrier();
  }
  if (h < kBlock) {  // kBlock is no power of four
    for (uint i = gl_LocalInvocationID.x; i < h; i += gl_WorkGroupSize.x) {
      precise float more = values[i] + values[i + h], less = values[i] - values[i + h];
      values[i] = more;
      values[i + h] = less;
    }
    barrier();
  }
  for (uint i = gl_LocalInvocationID.x; i < kBlock; i += gl_WorkGroupSize.x) {
    float value = values[i] * push.factor;
    y[at + i] = (push.signs & ROTATE_SIGNS_LAST) != 0u ? value * signs[in_row + i] : value;
  }
}
