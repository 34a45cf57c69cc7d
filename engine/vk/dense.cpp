// The products of matrices of blocks and floats. Their tensors have buffers of their own, so that each is a
// dispatch, unless matrices of the device multiply blocks of one type; gate and up are one.
#include <algorithm>
#include <array>

#include "ceil_div.h"
#include "recorder.h"

namespace bitnet::vk {
namespace {

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

// What can be one dispatch: neighbours of one type whose results are stored as they are, gate and up, or one
// tensor.
struct Tensors {
  std::array<const Matrix::Part*, 3> parts;  // where there are fewer, the first stands for the others
  std::array<DensePush, 3> pushes;
  uint32_t count, rows, most_rows;  // how many, the rows of their result, those of the largest
};

Tensors tensors_from(const Matrix& w, size_t first, uint32_t first_row, const Out& out, uint32_t n) {
  const Matrix::Part& p = w.parts[first];
  if (out.kind == Out::Kind::gate) {
    const DensePush push = push_of(w, 0, 0, p.rows, n);
    return {{&p, &w.parts[1], &p}, {push, push, push}, 1, p.rows, p.rows};
  }
  const DensePush push = push_of(w, first, first_row, w.rows(), n);
  Tensors all{{&p, &p, &p}, {push, push, push}, 1, p.rows, p.rows};
  if (out.kind != Out::Kind::store) return all;
  for (size_t i = first + 1; i < w.parts.size() && w.parts[i].rows != 0 && w.parts[i].type == p.type; ++i) {
    all.parts[all.count] = &w.parts[i];
    all.pushes[all.count++] = push_of(w, i, first_row + all.rows, w.rows(), n);
    all.rows += w.parts[i].rows;
    all.most_rows = std::max(all.most_rows, w.parts[i].rows);
  }
  return all;
}

}  // namespace

void VulkanRecorder::product_of_blocks(const Matrix& w, const Quantised& in, const Out& out, uint32_t n) {
  const bool gated = out.kind == Out::Kind::gate;
  const Buffer* bias = w.bias ? w.bias.get() : in.info.get();
  const auto product = [&](const Kernel& kernel, const auto& tensor, const auto& up, const DensePush& push,
                           uint32_t groups_x, uint32_t groups_y) {
    dispatch(kernel, push,
             {tensor.codes.get(), in.q.get(), in.info.get(), &out.y, tensor.scales.get(), up.codes.get(),
              up.scales.get(), in.sums16.get(), bias, in.scales.get()},
             groups_x, groups_y);
  };
  if (n <= kMatvecTokens)
    return for_each_tensor(w, out, n, [&](const auto& tensor, const auto& up, const DensePush& push) {
      const Kernel& matvec = kernels_.blocks_matvec(tensor.type, out);
      const uint32_t rows = (gated ? 2 : 1) * tensor.rows;
      product(matvec, tensor, up, push, groups_for_rows(rows, matvec.constant(CONSTANT_ROWS)), n);
    });
  uint32_t first_row = 0;
  for (size_t i = 0; i < (gated ? 1 : w.parts.size()) && w.parts[i].rows != 0;) {
    const Tensors t = tensors_from(w, i, first_row, out, n);
    const auto& [first, second, third] = t.parts;
    const VulkanKernels::Matmul matmul = kernels_.blocks_matmul(first->type, out, t.rows, n);
    const uint32_t groups_y = ceil_div(n, matmul.tokens);
    if (matmul.tensors)
      dispatch(matmul.kernel, t.pushes,
               {first->codes.get(), in.q.get(), in.info.get(), &out.y, first->scales.get(),
                second->codes.get(), second->scales.get(), in.sums16.get(), bias, in.scales.get(),
                third->codes.get(), third->scales.get()},
               ceil_div(t.most_rows, matmul.rows), groups_y, t.count);
    else
      for (uint32_t k = 0; k < t.count; ++k)
        product(matmul.kernel, *t.parts[k], gated ? *second : *t.parts[k], t.pushes[k],
                ceil_div(t.parts[k]->rows, matmul.rows), groups_y);
    i += t.count;
    first_row += t.rows;
  }
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
