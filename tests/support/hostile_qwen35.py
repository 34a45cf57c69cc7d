"""Faults in what Qwen3.5 adds to a file: see make_hostile_ggufs.py."""
import struct

from hostile_file import floats, ints, u32
from hostile_types import Family, booleans, with_bytes

NAN = float("nan")
SIZES = dict(conv_kernel=4, state_size=32, group_count=1, time_step_rank=2, inner_size=64)


class Qwen35(Family):
    """A layer with a DeltaNet and one with attention."""

    def __init__(self, *arguments):
        super().__init__("--arch", "qwen35", "--proj", "q8_0", "--dim", "64", "--ffn", "64", "--heads", "1", "--kv", "1",
                         "--layers", "2", "--k-heads", "1", "--v-heads", "2", "--state", "32", *arguments)
        self.key("rope.dimension_sections", ints([11, 11, 10, 0]))
        self.key("full_attention_interval", u32(2))
        for name, value in SIZES.items():
            self.key("ssm." + name, u32(value))


def keys(c):
    c.base = Qwen35()
    c.put("fine-qwen35", None, c.base.bytes())
    huge = (0, 2**20, 2**31, 2**32 - 1)
    for name, values in dict(conv_kernel=(0, 1, 3, 9), state_size=(0, 16, 48, 64, 512), group_count=(0, 2, 3, 1025),
                             time_step_rank=(0, 1, 3, 1025), inner_size=(0, 63, 128)).items():
        c.key("delta-size", f"qwen35.ssm.{name}", [u32(n) for n in (*values, *huge)], "ssm|attn_qkv")
        c.add("delta-missing", f"ssm.{name}", lambda f: f.drop(f"qwen35.ssm.{name}"))
    sections = "qwen35.rope.dimension_sections"
    c.key("delta-sections", sections, [ints(n) for n in (
        [], [11, 11, 10, 1], [32, 0, 0, 0, 0], [2**30, 2**30, 2**31 - 1, 0], [-1, 33, 0, 0], [0] * 4)] + [u32(32), floats([32.0])])
    c.add("delta-sections", sections, lambda f: f.drop(sections))
    c.key("delta-interval", "qwen35.full_attention_interval", [u32(0)])
    c.key("delta-interval", "qwen35.full_attention_interval", [u32(n) for n in (1, 3)], "tensor blk")
    listed = "qwen35.attention.recurrent_layers"
    c.key("delta-layers", listed, [booleans([]), booleans([True]), ints([1]), u32(1)])
    c.key("delta-layers", listed, [booleans([True, True]), booleans([False, True])], "tensor blk")
    c.key("fine-delta-layers", listed, [booleans([True, False]), ints([1, 0, 1])], None)
    c.key("delta-nextn", "qwen35.nextn_predict_layers", [u32(n) for n in (2, 3, 2**32 - 1)])


def tensors(c):
    c.base = Qwen35()
    for name in ("attn_qkv.weight", "attn_gate.weight", "ssm_alpha.weight", "ssm_beta.weight", "ssm_conv1d.weight", "ssm_dt.bias",
                 "ssm_a", "ssm_norm.weight", "ssm_out.weight", "post_attention_norm.weight"):
        name = "blk.0." + name
        c.add("delta-no-tensor", name, lambda f: f.tensors.remove(f.tensor(name)))
        shape = c.base.tensor(name).shape
        c.attribute("delta-shape", name, "shape", [[shape[0] // 2, *shape[1:]], [*shape, 2]])
    c.attribute("delta-gated-q", "blk.1.attn_q.weight", "shape", [[64, 64], [64, 192], [128, 64]])
    for name in ("ssm_conv1d.weight", "ssm_dt.bias", "ssm_a", "ssm_norm.weight"):
        for value in (NAN, float("inf")):
            c.add("delta-not-finite", f"blk.0.{name}", lambda f: with_bytes(f, f"blk.0.{name}", 4, struct.pack("<f", value)))
    for names in (["attn_qkv", "attn_gate"], ["attn_q", "attn_k", "attn_v"], ["attn_output"], ["ffn_down"]):
        others = [argument for name in names for argument in ("--other", f"{name}=i2_s")]
        c.put("delta-coarse-inputs", rf"{names[0]}\.weight is I2_S.*cannot",
              Qwen35("--dim", "128", "--ffn", "128", "--heads", "2", *others).bytes())
    c.add("delta-decay-that-grows", "blk.0.ssm_a", lambda f: with_bytes(f, "blk.0.ssm_a", 0, struct.pack("<f", 0.5)))


GROUPS = (keys, tensors)
