// Changes values one by one, as CONSTANT_ELEMENT says. A row of workgroups takes a row of x, whose
// invocations stride over the values that are changed.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "params.h"
#include "common/activation.glsl"

layout(local_size_x = 256) in;
layout(constant_id = CONSTANT_ELEMENT) const uint kElement = ELEMENT_SCALE;

layout(push_constant) uniform Push { ElementPush push; };
layout(binding = 0) buffer X { float x[]; };           // [n_rows][stride]
layout(binding = 1) readonly buffer By { uint by[]; };  // f32 [n_rows][by_stride], or ids

// The tanh() of a device may be infinite / infinite far from 0. Near 0 a difference of e^-2u and 1 would have
// few digits, so there it is the series.
float tanh_of(float u) {
  float a = abs(u), square = a * a;
  float series = fma(square, -1382.0 / 155925.0, 62.0 / 2835.0);
  series = fma(square, series, -17.0 / 315.0);
  series = fma(square, series, 2.0 / 15.0);
  series = fma(square, series, -1.0 / 3.0);
  series = fma(a * square, series, a);
  float e = exp_below_0(-2.0 * a), far = (1.0 - e) / (1.0 + e);
  return (a < 0.25 ? series : far) * (u < 0.0 ? -1.0 : 1.0);
}

void main() {
  uint row = gl_WorkGroupID.y * push.stride;
  for (uint i = gl_GlobalInvocationID.x; i < push.width; i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
    switch (kElement) {
      case ELEMENT_SCALE:
        x[row + i] *= push.factor;
        break;
      case ELEMENT_SOFTCAP:  // what is not finite stays so, that argmax finds it
        if ((floatBitsToUint(x[row + i]) & 0x7F800000u) != 0x7F800000u)
          x[row + i] = push.factor * tanh_of(x[row + i] / push.factor);
        break;
      case ELEMENT_MULTIPLY:
        x[row + i] *= uintBitsToFloat(by[gl_WorkGroupID.y * push.by_stride + push.by_offset + i]);
        break;
      case ELEMENT_SIGMOID:
        x[row + i] = times_sigmoid(x[row + i], uintBitsToFloat(by[gl_WorkGroupID.y * push.by_stride + i]));
        break;
      case ELEMENT_GATE: {
        uint at = gl_WorkGroupID.y * push.by_stride + i;
        x[row + i] = gated(uintBitsToFloat(by[at]), uintBitsToFloat(by[at + push.width]));
        break;
      }
      default:  // the bits of -inf, since a compiler may assume that floats are finite
        x[row + by[i]] = uintBitsToFloat(0xFF800000u);
    }
  }
}
