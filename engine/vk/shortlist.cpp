#include "shortlist.h"

#include "ceil_div.h"
#include "recorder.h"
#include "shaders/params.h"

namespace bitnet::vk {

Shortlist::Shortlist(const Device& device, const Table& table)
    : codes(device, uint64_t{table.n_vocab} * table.n_embd, BufferUse::device),
      rows(device, table.n_vocab * sizeof(ShortlistRow), BufferUse::device),
      parts(device, uint64_t{kMaxLogitRows} * 2 * table.n_embd, BufferUse::device),
      vectors(device, kMaxLogitRows * sizeof(ShortlistVector), BufferUse::device),
      borders(device, kMaxLogitRows * SHORTLIST_BORDERS * sizeof(uint32_t), BufferUse::device),
      found(device, sizeof(ShortlistFound), BufferUse::device) {}

bool Shortlist::is_possible(const Device& device, const Table& table) {
  return !table.is_ternary() && !has_blocks(table.type) && !table.wants_all_logits &&
         table.chunks.size() == 1 && table.n_embd % 64 == 0 && !vulkan(*table.chunks[0].bytes).is_in_host() &&
         device.limits().maxComputeWorkGroupInvocations >= SHORTLIST_WORKGROUP;
}

void VulkanRecorder::make_shortlist(const Table& table, const Shortlist& shortlist) {
  dispatch(kernels_.shortlist_copy(table), HeadPush{table.n_embd, table.n_vocab, 0, table.n_vocab, 1},
           {table.chunks[0].bytes.get(), &shortlist.codes, &shortlist.rows},
           groups_for_rows(table.n_vocab, 1));
}

void VulkanRecorder::head_and_choose(const Table& table, const HeadInput& in, const Buffer& logits,
                                     const Choosing& choosing, uint32_t n) {
  const Shortlist* s = shortlists_ && n <= kMaxLogitRows ? (*shortlists_)(table) : nullptr;
  if (!s) return Recorder::head_and_choose(table, in, logits, choosing, n);
  static const Norm kNone;
  if (in.rotation) head_input(in, table.n_embd, n);
  const Buffer& x = in.rotation ? in.y : in.x;
  const Norm& norm = in.rotation ? kNone : in.norm;
  const Buffer& y = norm ? in.y : x;
  const auto& [partial, result, sampling] = choosing;
  const VulkanKernels::ShortlistKernels kernels = kernels_.shortlist(table, norm, n);
  const HeadPush push{table.n_embd, table.n_vocab, 0, table.n_vocab, n};
  const uint32_t groups = std::min<uint32_t>(
      SHORTLIST_BORDERS, groups_for_rows(table.n_vocab, kernels.approximate.constant(CONSTANT_ROWS)));
  const uint32_t n_partials = argmax_partials(device_, table.n_vocab);
  const ShortlistPush to_candidates{table.n_embd, table.n_vocab, groups, sampling ? 1U : 0U};
  const Buffer *rows_of_head = table.chunks[0].bytes.get(),
               *input = sampling ? sampling->input.get() : &s->borders,
               *randoms = sampling ? sampling->randoms.get() : &s->borders;
  dispatch(kernels.vector, NormPush{table.n_embd, in.rotation ? 0 : in.first_row, norm.epsilon},
           {&x, or_any(norm.weight, x), or_any(norm.bias, x), &in.y, &s->parts, &s->vectors, &s->found}, n);
  dispatch(kernels.approximate, push, {&s->codes, &s->rows, &s->parts, &s->vectors, &logits, &s->borders},
           groups, ceil_div(n, kernels.approximate.constant(CONSTANT_TOKENS)));
  if (n == 1)
    return dispatch(kernels.candidates, to_candidates,
                    {rows_of_head, &y, &s->rows, &s->vectors, &s->borders, input, &logits, &partial,
                     &s->found, randoms, &result, &params_},
                    n_partials);
  dispatch(kernels.candidates, to_candidates,
           {rows_of_head, &y, &s->rows, &s->vectors, &s->borders, input, &logits, &partial}, n_partials, n);
  merge_partials(partial, table.n_vocab, result, n);
  if (sampling) sample(logits, table.n_vocab, partial, *sampling, result, n);
}

}  // namespace bitnet::vk
