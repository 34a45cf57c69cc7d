// A step of a dot product of the LM head: eight features of a row, and of a vector. `precise`, so that
// compilers make the same of it whatever the number of rows and tokens.
float add_eight(vec4 low, vec4 high, vec4 y_low, vec4 y_high, float sum) {
  precise float first = fma(low.w, y_low.w, fma(low.z, y_low.z, fma(low.y, y_low.y, low.x * y_low.x)));
  precise float second = fma(high.w, y_high.w, fma(high.z, y_high.z, fma(high.y, y_high.y, high.x * y_high.x)));
  precise float result = sum + (first + second);
  return result;
}
