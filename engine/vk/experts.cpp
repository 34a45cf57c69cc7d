// Experts: which ones a token has, and the products with their matrices. A few tokens have a row of
// workgroups for each pair of a token and an expert; the pairs of larger batches are listed by expert, and
// lie in the order of that list between the two products.
//
// The experts of one token are three stages of decode (decode_experts.glsl) where the device can run these.
// Where it cannot, they are as many dispatches as there are steps that need each other: rounding the input of
// the experts needs nothing of the routing and runs beside it, and one kernel multiplies by the second matrix
// and sums.
#include <algorithm>

#include "ceil_div.h"
#include "recorder.h"

namespace bitnet::vk {
namespace {

// Where Picked::groups has the list of pairs by expert, and where the place of each pair in it.
uint32_t order_at(const Picked& p, uint32_t pairs) {
  return TILES_BEGIN + TILE_WORDS * (p.n_expert + pairs / kExpertTile + 1);
}
uint32_t place_at(const Picked& p, uint32_t pairs) { return order_at(p, pairs) + pairs; }

// The rows of a product.
struct ExpertRows {
  uint32_t n_out;        // of the result, of one expert
  uint32_t pairs;        // rows of the result
  uint32_t pairs_a_row;  // of the input
  uint32_t tiles;        // at most
  bool gated;

  ExpertRows(const Matrix& w, const Out& out, const Picked& p, uint32_t n)
      : n_out(w.parts[0].rows / w.n_expert),
        pairs(n * p.used),
        pairs_a_row(out.kind == Out::Kind::gate ? p.used : 1),
        tiles(std::min(p.n_expert, pairs) + pairs / kExpertTile),
        gated(out.kind == Out::Kind::gate) {}
};

bool in_list(uint32_t n) { return n > kMatvecTokens; }

}  // namespace

void VulkanRecorder::route(const Routing& r, const Picked& p, uint32_t n) {
  if (n != 1 || !experts_ || experts_->picked || experts_->logits != p.logits.get())
    return dispatch_route(r, p, n);
  experts_->routing = r;
  experts_->picked = p;
}

void VulkanRecorder::dispatch_route(const Routing& r, const Picked& p, uint32_t n) {
  const uint32_t pairs = n * p.used;
  dispatch(kernels_.route(), RoutePush{p.n_expert, p.used, r.sigmoid ? 1U : 0U, r.normed ? 1U : 0U, r.scale},
           {p.logits.get(), p.ids.get(), p.weights.get()}, n);
  if (n == 1 && places_) {
    const uint64_t at = places_->add_row(program_.experts, p.used);
    copy(*p.ids, 0, *program_.experts.ids, at, p.used * sizeof(uint32_t));
  }
  if (in_list(n))
    dispatch(kernels_.group_pairs(), GroupPush{p.n_expert, pairs, kExpertTile, order_at(p, pairs)},
             {p.ids.get(), p.groups.get()}, 1);
}

void VulkanRecorder::quantise_by_expert(const Matrix& w, const In& in, const Picked& p, uint32_t n) {
  const uint32_t pairs = n * p.used;
  const Buffer *weight = in.norm.weight ? in.norm.weight.get() : &in.x,
               *bias = in.norm.bias ? in.norm.bias.get() : &in.x,
               *sums = w.layout == Layout::blocks ? in.q.sums16.get() : in.q.sums.get();
  dispatch(kernels_.quantise_by_expert(w, in.norm, p.used),
           QuantisePush{w.n_in, order_at(p, pairs), in.norm.epsilon},
           {&in.x, weight, bias, in.q.q.get(), in.q.info.get(), sums, in.q.scales ? in.q.scales.get() : &in.x,
            p.groups.get()},
           pairs);
}

void VulkanRecorder::product_of_experts(const Matrix& w, const Quantised& q, const Out& out, const Picked& p,
                                        uint32_t n) {
  const ExpertRows rows(w, out, p, n);
  const uint32_t tensors = rows.gated ? 2 : 1;
  const VulkanKernels::Matmul kernel = kernels_.of_experts(w, out, in_list(n) ? 0 : rows.pairs_a_row);
  const uint32_t groups_x = in_list(n) ? ceil_div(rows.n_out, kernel.rows)
                                       : groups_for_rows(tensors * rows.n_out,
                                                         kernel.kernel.constant(CONSTANT_ROWS)),
                 groups_y = in_list(n) ? rows.tiles : rows.pairs;
  const Buffer *table = w.addresses.get(), *of_rows = in_list(n) ? p.groups.get() : p.ids.get(),
               *any = q.info.get();
  const Matrix::Part &part = w.parts[0], &up = w.parts[1];
  if (w.layout == Layout::blocks)
    return dispatch(
        kernel.kernel,
        DensePush{w.n_in, rows.n_out, rows.pairs, 0, rows.n_out, 0, part.scale, up.scale, part.fixed,
                  up.fixed},
        {table, q.q.get(), q.info.get(), &out.y, of_rows, any, any, q.sums16.get(), any, q.scales.get()},
        groups_x, groups_y);
  dispatch(kernel.kernel,
           GroupsPush{w.n_in, rows.n_out, rows.pairs, rows.n_out, rows.n_out, part.scale, up.scale, 0,
                      w.fixed, 0, 1},
           {table, q.q.get(), q.info.get(), &out.y, of_rows, q.sums.get(), q.scales ? q.scales.get() : any},
           groups_x, groups_y);
}

// x += what the experts give, for a few tokens.
void VulkanRecorder::add_down_of_experts(const Matrix& w, const Quantised& q, const Out& out, const Picked& p,
                                         uint32_t n) {
  const uint32_t n_out = w.rows() / w.n_expert;
  const Kernel& kernel = kernels_.groups_down_experts(w, out);
  const Matrix::Part& part = w.parts[0];
  const Buffer* any = q.info.get();
  dispatch(kernel, DownPush{w.n_in, n_out, p.used, n_out, n_out, part.scale, 0, 0, w.fixed},
           {w.addresses.get(), q.q.get(), q.info.get(), &out.y, p.ids.get(), q.sums.get(),
            q.scales ? q.scales.get() : any, p.weights.get()},
           groups_for_rows(n_out, kernel.constant(CONSTANT_ROWS)), n);
}

bool VulkanRecorder::is_router(const Matrix& w, const In& in, const Out& out, uint32_t n) const {
  return n == 1 && in_chains() && decode_.possible() && w.layout == Layout::floats &&
         w.parts[0].type == TensorType::f32 && w.parts[1].rows == 0 && w.rows() <= MOST_EXPERTS && !w.bias &&
         !w.rotation && norm_of(in.norm) == NORM_ALWAYS && in.first_row == 0 &&
         out.kind == Out::Kind::store && !(stream_ && stream_->takes(w, n));
}

bool VulkanRecorder::first_goes_on(const Matrix& w, const In& in, const Out& out, const Picked& p) {
  if (!experts_ || !experts_->picked || experts_->h || out.kind != Out::Kind::gate || !w.addresses ||
      experts_->picked->ids != p.ids || experts_->x != &in.x || experts_->norm.weight != in.norm.weight ||
      experts_->norm.epsilon != in.norm.epsilon || in.first_row != 0)
    return false;
  experts_->gate_up = w;
  experts_->h = &out.y;
  experts_->act = out.act;
  experts_->clamp = out.clamp;
  return true;
}

bool VulkanRecorder::second_in_stages(const Matrix& w, const In& in, const Out& out, const Picked& p) {
  if (!experts_ || experts_->h != &in.x || out.kind != Out::Kind::add || &out.y != experts_->x ||
      !w.addresses || weights_of(w) != weights_of(experts_->gate_up))
    return false;
  const ExpertsSoFar e = *std::exchange(experts_, std::nullopt);
  ExpertStages stages{e.router,  e.norm, e.routing, e.gate_up, w,      *e.x,
                      *e.logits, *e.h,   p.used,    e.act,     e.clamp};
  if (places_) {
    const uint64_t at = places_->add_row(program_.experts, p.used);
    program_.experts.rows.back() = {e.gate_up.addresses.get(), w.addresses.get()};
    stages.ids = program_.experts.ids->address() + at;
  }
  const uint64_t in_host = experts_in_host(e.gate_up, p, 1) + experts_in_host(w, p, 1);
  make_room(in_host);
  if (add_stage(collected_.takes_next(stages), 1, [&](DecodeStages& s) { s.experts(stages); })) {
    host_bytes_ += in_host;
    return true;
  }
  if (places_) program_.experts.rows.pop_back();
  experts_ = e;
  return false;
}

void VulkanRecorder::dispatch_experts(const ExpertsSoFar& e) {
  const In in{*e.x, e.norm, e.q};
  Recorder::linear(e.router, in, store(*e.logits), 1);
  if (e.picked) dispatch_route(e.routing, *e.picked, 1);
  if (e.h) dispatch_linear_of_experts(e.gate_up, in, gate(*e.h, e.act, e.clamp), *e.picked, 1);
}

// What n tokens read of the experts of a matrix in host memory, where each pair has another one.
uint64_t VulkanRecorder::experts_in_host(const Matrix& w, const Picked& p, uint32_t n) const {
  return reads_in_host(w, n) / p.n_expert * std::min(p.n_expert, n * p.used);
}

void VulkanRecorder::linear_of_experts(const Matrix& w, const In& in, const Out& out, const Picked& p,
                                       uint32_t n) {
  if (n == 1 && (first_goes_on(w, in, out, p) || second_in_stages(w, in, out, p))) return;
  decode_collected();
  dispatch_linear_of_experts(w, in, out, p, n);
}

void VulkanRecorder::dispatch_linear_of_experts(const Matrix& w, const In& in, const Out& out,
                                                const Picked& p, uint32_t n) {
  if (!w.addresses)
    throw Error(ErrorKind::device,
                device_.info().name + " cannot run experts of this type; try --device cpu");
  const uint32_t pairs = n * p.used;
  read_in_host(experts_in_host(w, p, n));
  if (n == 1 && places_) program_.experts.rows.back().push_back(w.addresses.get());
  if (out.kind == Out::Kind::gate) {
    if (in_list(n)) {
      quantise_by_expert(w, in, p, n);
    } else {
      beside_last_ = last_ == &kernels_.route();
      quantise(w, in, n);
    }
    return product_of_experts(w, in.q, out, p, n);
  }
  quantise(w, in, pairs);
  if (!in_list(n) && w.layout == Layout::groups) return add_down_of_experts(w, in.q, out, p, n);
  product_of_experts(w, in.q, store(*p.results), p, n);
  constexpr uint32_t kThreads = 64;  // of sum_experts
  const uint32_t width = w.parts[0].rows / w.n_expert;
  dispatch(kernels_.sum_experts(), SumPush{width, p.used, in_list(n) ? place_at(p, pairs) : 0},
           {&out.y, p.results.get(), p.weights.get(), p.groups.get()}, ceil_div(width, kThreads), n);
}

}  // namespace bitnet::vk
