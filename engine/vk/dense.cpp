// The products of matrices of blocks and floats. Their tensors have buffers of their own, so that each is a
// dispatch; gate and up are one.
#include <algorithm>

#include "recorder.h"

namespace bitnet::vk {
namespace {

uint32_t ceil_div(uint32_t a, uint32_t b) { return (a + b - 1) / b; }

DensePush push_of(const Matrix& w, size_t part, uint32_t first_row, uint32_t stride, uint32_t n) {
  const Matrix::Part &p = w.parts[part], &up = w.parts[1];
  return {w.n_in, p.rows, n, first_row, stride, w.bias ? 1U : 0U, p.scale, up.scale, p.fixed, up.fixed};
}

// Calls `with` for each dispatch: the first or only tensor, that of up or another time the first, and what
// the shader has to know.
template <typename With>
void for_each_tensor(const Matrix& w, const Out& out, uint32_t n, const With& with) {
  if (out.kind == Out::Kind::gate) return with(w.parts[0], w.parts[1], push_of(w, 0, 0, w.parts[0].rows, n));
  uint32_t first_row = 0;
  for (size_t i = 0; i < w.parts.size() && w.parts[i].rows != 0; first_row += w.parts[i++].rows)
    with(w.parts[i], w.parts[i], push_of(w, i, first_row, w.rows(), n));
}

}  // namespace

void VulkanRecorder::product_of_blocks(const Matrix& w, const Quantised& in, const Out& out, uint32_t n) {
  const uint32_t tensors = out.kind == Out::Kind::gate ? 2 : 1;
  for_each_tensor(w, out, n, [&](const auto& tensor, const auto& up, const DensePush& push) {
    const auto product = [&](const Kernel& kernel, uint32_t groups_x, uint32_t groups_y) {
      dispatch(kernel, push,
               {tensor.codes.get(), in.q.get(), in.info.get(), &out.y, tensor.scales.get(), up.codes.get(),
                up.scales.get(), in.sums16.get(), w.bias ? w.bias.get() : in.info.get(), in.scales.get()},
               groups_x, groups_y);
    };
    if (n <= kMatvecTokens) {
      const Kernel& matvec = kernels_.blocks_matvec(tensor.type, out);
      return product(matvec, groups_for_rows(tensors * tensor.rows, matvec.constant(CONSTANT_ROWS)), n);
    }
    const VulkanKernels::Matmul matmul = kernels_.blocks_matmul(tensor.type, out, tensor.rows, n);
    product(matmul.kernel, ceil_div(tensor.rows, matmul.rows), ceil_div(n, matmul.tokens));
  });
}

void VulkanRecorder::product_of_floats(const Matrix& w, const Buffer& x, const Out& out, uint32_t n) {
  const uint32_t tensors = out.kind == Out::Kind::gate ? 2 : 1;
  for_each_tensor(w, out, n, [&](const auto& tensor, const auto& up, const DensePush& push) {
    const Kernel& kernel = kernels_.floats(tensor.type, out, n);
    const uint32_t groups = std::min(groups_for_rows(tensors * tensor.rows, kernel.constant(CONSTANT_ROWS)),
                                     device_.limits().maxComputeWorkGroupCount[1]);
    dispatch(kernel, push, {tensor.codes.get(), &x, &out.y, up.codes.get(), w.bias ? w.bias.get() : &x},
             ceil_div(n, kernel.constant(CONSTANT_TOKEN_TILES)), groups);
  });
}

}  // namespace bitnet::vk
