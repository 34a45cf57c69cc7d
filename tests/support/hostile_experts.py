"""Faults in what experts add to a file: see make_hostile_ggufs.py."""
from hostile_file import Tensor, f32, floats, ints, u32
from hostile_types import Family, booleans

NAN = float("nan")


class Experts(Family):
    def __init__(self, arch):
        super().__init__("--arch", arch, "--proj", "q8_0", "--dim", "64", "--ffn", "64", "--heads", "1", "--kv", "1",
                         "--experts", "4", "--used", "2")
        self.drop(f"{arch}.feed_forward_length")
        for name, value in dict(count=4, used_count=2, feed_forward_length=64).items():
            self.key("expert_" + name, u32(value))
        if arch == "maple":
            self.key("attention.sliding_window", u32(8))
            self.key("attention.sliding_window_pattern", booleans([True]))


def both(c):
    for arch in ("qwen3moe", "maple"):
        c.base = Experts(arch)
        c.put(f"fine-{arch}", None, c.base.bytes())
        for name, values in dict(count=(0, 3, 5, 1025, 2**32 - 1), used_count=(0, 5, 2**31),
                                 feed_forward_length=(0, 1, 32, 128, 2**31)).items():
            c.key("experts", f"{arch}.expert_{name}", [u32(n) for n in values], f"expert_{name}|ffn_|wanted a multiple")
            c.add("experts-missing", f"expert_{name}", lambda f: f.drop(f"{arch}.expert_{name}"))
        for name in ("gate_inp", "gate_exps", "up_exps", "down_exps"):
            name = f"blk.0.ffn_{name}.weight"
            c.add("experts-no-tensor", name, lambda f: f.tensors.remove(f.tensor(name)))
            c.attribute("experts-shape", name, "shape", [c.base.tensor(name).shape[::-1], c.base.tensor(name).shape[:1]])


def of_one(c):
    arch, down = "qwen3moe", "blk.0.ffn_down_exps.weight"
    c.base = Experts(arch)
    c.attribute("experts-shape", down, "shape", [[64, 64, 2], [64, 64, 8], [64, 256], [4096, 4], [64, 64, 4, 2]])
    c.key("experts-gating", arch + ".expert_gating_func", [u32(n) for n in (0, 3, 2**31)])
    c.key("experts-scale", arch + ".expert_weights_scale", [f32(n) for n in (0, -1, NAN)])
    c.key("experts-shared", arch + ".expert_shared_count", [u32(1)], "shared")
    c.add("experts-shared", "shared", lambda f: f.tensors.append(Tensor("blk.0.ffn_gate_shexp.weight", [64], 0, b"\0" * 256)))
    c.key("experts-in-groups", arch + ".expert_group_count", [u32(8)])
    c.add("experts-bias", "bias", lambda f: f.tensors.append(Tensor("blk.0.exp_probs_b.bias", [4], 0, b"\0" * 16)))
    c.add("experts-router", "router", lambda f: (setattr(f.tensor("blk.0.ffn_gate_inp.weight"), "kind", 8),
                                                  setattr(f.tensor("blk.0.ffn_gate_inp.weight"), "data", b"\0" * 272)))
    c.base = Experts("maple")
    pattern, clamps = "maple.attention.sliding_window_pattern", "maple.swiglu_clamp_exp"
    c.key("maple-window", "maple.attention.sliding_window", [u32(0)])
    c.key("maple-pattern", pattern, [booleans([]), booleans([True, True]), u32(4)])
    c.add("maple-pattern", pattern, lambda f: f.drop(pattern))
    c.key("maple-clamp", clamps, [floats([-1]), floats([NAN]), ints([7])])
    c.key("maple-base", "maple.rope.freq_base_swa", [f32(0), f32(NAN)])


GROUPS = (both, of_one)
