// Copies a buffer into another. It shows how fast the memory is for kernels; bench/ compares the other
// kernels with it.
#version 450
#extension GL_EXT_control_flow_attributes : require
layout(local_size_x = 256) in;

layout(push_constant) uniform Push { uint n; };  // uvec4
layout(binding = 0) readonly buffer From { uvec4 from[]; };
layout(binding = 1) writeonly buffer To { uvec4 to[]; };

void main() {
  const uint kLoads = 4;  // on their way together
  uint at = gl_WorkGroupID.x * kLoads * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  uvec4 v[kLoads];
  [[unroll]] for (uint i = 0; i < kLoads; ++i) v[i] = from[min(at + i * gl_WorkGroupSize.x, n - 1)];
  [[unroll]] for (uint i = 0; i < kLoads; ++i)
    if (at + i * gl_WorkGroupSize.x < n) to[at + i * gl_WorkGroupSize.x] = v[i];
}
