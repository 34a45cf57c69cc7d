// dot_words adds the 16 products of int8 with int8 to acc.
#ifdef INTEGER_DOT
// SPIR-V's OpSDot (SPV_KHR_integer_dot_product), declared here because glslang 12 does not know the GLSL
// extension.
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6018, 6019], id = 4450)
int signed_dot(int a, int b, spirv_literal int packed_4x8);

int dot_words(ivec4 codes, uvec4 q, int acc) {
  return acc + signed_dot(codes.x, int(q.x), 0) + signed_dot(codes.y, int(q.y), 0) +
         signed_dot(codes.z, int(q.z), 0) + signed_dot(codes.w, int(q.w), 0);
}
#else
int dot_words(ivec4 codes, uvec4 q, int acc) {
  ivec4 p = ivec4(q);
  ivec4 sum = (codes >> 24) * (p >> 24) + (codes << 8 >> 24) * (p << 8 >> 24) +
              (codes << 16 >> 24) * (p << 16 >> 24) + (codes << 24 >> 24) * (p << 24 >> 24);
  return acc + sum.x + sum.y + sum.z + sum.w;
}
#endif
