"""Faults in what ternary types and families of models add to a file: see make_hostile_ggufs.py.

Types that the engine does not know have made-up bytes, as many as their tensors have.
"""
import struct

import numpy as np

import gguf_types
import make_family
from hostile_file import ARCH, ARRAY, BOOL, F64, I32, I64, VOCAB, File, Tensor, f32, floats, ints, p32, p64, scalar, string, strings, u32

NOT_FINITE = {name: struct.pack("<e", float(name)) for name in ("nan", "inf", "-inf")}
NO_DIGITS = [bytes([b]) for b in sorted(set(range(256)) - {-(-q * 256 // 243) for q in range(243)})[::6]]
SIZES = {  # elements and bytes of a block
    0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 8: (32, 34), 10: (256, 84), 12: (256, 144), 13: (256, 176),
    14: (256, 210), 30: (1, 2), 35: (256, 66), 39: (32, 17), 36: (4, 1), 41: (128, 18), 142: (128, 34), 143: (128, 28)}


def booleans(values):
    return p32(ARRAY) + p32(BOOL) + p64(len(values)) + bytes(map(int, values))


def name_of(entry):
    """Returns the name of a key of make_model.key()."""
    return entry[8:8 + struct.unpack_from("<Q", entry)[0]]


class Family(File):
    """A model of any family; the arguments are those of make_family.py."""

    def __init__(self, *arguments):
        super().__init__()
        self.arguments = a = make_family.parse(
            ["out", "--dim", "256", "--ffn", "256", "--heads", "4", "--kv", "2", "--layers", "1", "--embd", "q4_0",
             "--vocab", str(VOCAB), *arguments])
        head_dim = a.head_dim or a.dim // a.heads
        self.keys = [(k.replace(ARCH.encode(), a.arch.encode()), v) for k, v in self.keys]
        for name, value in dict(embedding_length=a.dim, feed_forward_length=a.ffn).items():
            self.key(name, u32(value))
        for name, value in {"head_count": a.heads, "head_count_kv": a.kv, "key_length": head_dim,
                            "value_length": head_dim}.items():
            self.key("attention." + name, u32(value))
        self.key("rope.dimension_count", u32(head_dim))
        self.set("general.architecture", string(a.arch))
        self.key("block_count", u32(a.layers))
        if a.arch == "gpt2":
            self.drop("gpt2.attention.layer_norm_rms_epsilon")
            self.key("attention.layer_norm_epsilon", f32(1e-5))
        if a.arch in make_family.GEMMA:
            self.key("attention.sliding_window", u32(a.window))
            self.key("attention.sliding_window_pattern", booleans(make_family.local_layers(a)))
        if a.arch == "gemma4":
            swa = a.swa_head_dim or head_dim
            self.key("feed_forward_length", ints([a.ffn] * (a.layers - a.shared) + [2 * a.ffn] * a.shared))
            for name, value in dict(key_length_swa=swa, value_length_swa=swa, shared_kv_layers=a.shared).items():
                self.key("attention." + name, u32(value))
            self.key("rope.dimension_count_swa", u32(swa))
            self.key("embedding_length_per_layer_input", u32(a.per_layer))
        rng = np.random.Generator(np.random.PCG64(9))
        if a.hadamard:
            keys = make_family.hadamard_keys(a, VOCAB, head_dim)
            self.keys += [(name_of(entry), entry[8 + len(name_of(entry)):]) for entry in keys]
            self.sign_widths = make_family.sign_widths(a, VOCAB, head_dim)
        self.tensors = [Tensor(name, shape[::-1], *make_family.tensor(a, rng, name, kind, shape))
                        for name, kind, shape in make_family.tensors(a, VOCAB, head_dim)]

    def key(self, name, value):
        self.set(f"{self.arguments.arch}.{name}", value)


def with_bytes(file, name, at, replacement):
    """Puts bytes into a tensor; a negative `at` counts from the end."""
    tensor = file.tensor(name)
    at %= len(tensor.data)
    tensor.data = tensor.data[:at] + replacement + tensor.data[at + len(replacement):]


def retyped(file, name, kind):
    """Gives a tensor another type and as many bytes as that has."""
    tensor = file.tensor(name)
    block, size = SIZES[kind]
    tensor.kind, tensor.data = kind, b"\0" * (int(np.prod(tensor.shape)) // block * size)


def resized(file, name, more):
    """Gives a tensor so many bytes more, or less."""
    tensor = file.tensor(name)
    tensor.data = tensor.data + b"\0" * more if more > 0 else tensor.data[:more]


def vector(file, name, values):
    tensor = file.tensor(name)
    tensor.shape, tensor.data = [len(values)], values.astype("<f4").tobytes()


def moved_last(file, name):
    """Makes a tensor the last one of the file, and returns it."""
    tensor = file.tensor(name)
    file.tensors.remove(tensor)
    file.tensors.append(tensor)
    return tensor


def one_family(c, *arguments):
    c.base = Family(*arguments)
    c.put("fine-" + "-".join(x.lstrip("-") for x in arguments), None, c.base.bytes())


def ternary_types(c):
    """Scales and codes that are none, in projections and in tables."""
    for kind in ("tq1_0", "tq2_0", "q2_0", "q2_0_128", "pq2_0", "ptq1_0", "q1_0"):
        one_family(c, "--arch", "llama", "--proj", kind, "--embd", kind, "--head", kind)
        block = gguf_types.KINDS[kind].bytes
        scale_at = 0 if kind in gguf_types.SCALE_FIRST else block - 2
        for tensor in ("blk.0.attn_q.weight", "blk.0.ffn_down.weight", "token_embd.weight", "output.weight"):
            for at in (scale_at, scale_at - block):  # of the first block and of the last
                for name, value in NOT_FINITE.items():
                    c.add("no-scale", tensor.replace(".", r"\."), lambda f: with_bytes(f, tensor, at, value))
            if kind == "ptq1_0":
                for at in (0, 25, -3):
                    for byte in NO_DIGITS:
                        c.add("no-ternary-code-ptq1_0", tensor + ".*byte that is not five digits",
                              lambda f: with_bytes(f, tensor, at, byte))
            elif kind not in ("tq1_0", "q1_0"):  # every byte of which is weights
                for at in (2, -1) if scale_at == 0 else (0, -3):
                    for code in (b"\x03", b"\xc0"):
                        c.add("no-ternary-code-" + kind, tensor + ".*code of 3",
                              lambda f: with_bytes(f, tensor, at, code))
    one_family(c, "--arch", "llama", "--proj", "i2_s", "--embd", "i2_s", "--head", "i2_s")
    for tensor in ("token_embd.weight", "output.weight", "blk.0.attn_k.weight"):
        c.add("no-ternary-code-i2_s", tensor + ".*code of 3", lambda f: with_bytes(f, tensor, 0, b"\xc0"))
        c.add("i2_s-scale", tensor, lambda f: with_bytes(f, tensor, -32, struct.pack("<f", float("nan"))))


def dense_types(c):
    """Scales that are none, and types that cannot be stacked."""
    for kind, places in (("q8_0", (0,)), ("q4_k", (0, 2)), ("q6_k", (208,))):
        one_family(c, "--arch", "llama", "--proj", kind)
        block = gguf_types.KINDS[kind].bytes
        for tensor in ("blk.0.attn_q.weight", "blk.0.ffn_down.weight"):
            for at in (*places, *(place - block for place in places)):  # of the first block and of the last
                for value in NOT_FINITE.values():
                    c.add("no-scale-of-blocks", tensor.replace(".", r"\.") + ".*scale",
                          lambda f: with_bytes(f, tensor, at, value))
        for other in (1, 35):
            c.add("another-layout", "blk.0.attn_v.weight has type", lambda f: retyped(f, "blk.0.attn_v.weight", other))
        for other in (2, 6):
            c.add("another-gate", "blk.0.ffn_up.weight has type", lambda f: retyped(f, "blk.0.ffn_up.weight", other))


def blocks(c):
    """Sizes of tensors that do not fit their types."""
    matrix = "blk.0.attn_q.weight"
    for kind, widths in (("tq1_0", (128, 192, 255, 257)), ("tq2_0", (128, 64, 384)), ("q2_0", (32, 96, 255)),
                         ("pq2_0", (64, 192, 255)), ("ptq1_0", (64, 192, 255))):
        one_family(c, "--arch", "bitnet", "--proj", kind)
        number = gguf_types.KINDS[kind].id
        for width in widths:
            c.attribute("row-length", matrix, "shape", [[width, 256]], f"{matrix}.*multiple of")
        for width in (512, 768):  # of whole blocks, but other ones than the model has
            c.attribute("row-length", matrix, "shape", [[width, 256]], "tensor")
        size = gguf_types.KINDS[kind].bytes
        c.add("block-size", "tensor", lambda f: resized(f, matrix, -16 * size))  # overlaps the next one
        c.add("block-size", matrix + ".*complete|q2_0", lambda f: (moved_last(f, matrix), resized(f, matrix, -16 * size)))
        for other in {34, 35, 36, 42, 142, 143} - {number}:
            c.attribute("another-ternary-type", matrix, "kind", [other], "tensor")
    for kind in ("q2_0", "q2_0_128"):
        one_family(c, "--arch", "qwen3", "--proj", kind)
        for more in (32, 64, 4096, -32, -4096):
            c.add("q2_0-span", "q2_0", lambda f: resized(f, matrix, more))
        other = "q2_0_128" if kind == "q2_0" else "q2_0"
        for tensor in ("blk.0.attn_q.weight", "blk.0.ffn_down.weight", "blk.0.attn_v.weight"):
            c.add("q2_0-disagree", "q2_0", lambda f: setattr(f.tensor(tensor), "data", gguf_types.quantise(
                other, np.zeros(f.tensor(tensor).shape[::-1], np.float32) + 0.01)))
        c.attribute("q2_0-internal", matrix, "kind", [0x10000 + 42, 2**31 + 42], matrix + ".*not known")
        c.attribute("q2_0-overlaps", matrix, "offset", [0, 32], "tensor")
        c.add("q2_0-cut", matrix + ".*complete", lambda f: (moved_last(f, matrix), resized(f, matrix, -2000)))


def refused_types(c):
    """Types that are known by name alone."""
    for arch in ("bitnet", "llama", "qwen3"):
        one_family(c, "--arch", arch, "--proj", "i2_s", "--head", "q8_0")
        matrix = "blk.0.ffn_up.weight"
        c.add("refused-type", f"{matrix} has type.*MXFP4 or TL2", lambda f: retyped(f, matrix, 39))
        c.attribute("refused-type", matrix, "kind", [38], f"{matrix} has type TL1.*i2_s")
        for kind in (0, 1, 2, 6, 8, 10, 12, 13, 14, 30):
            c.add("dense-projection", f"{matrix} has type.*wanted", lambda f: retyped(f, matrix, kind))
        for tensor in ("token_embd.weight", "output.weight"):
            for kind in (3, 10, 39):
                c.add("refused-table", f"{tensor} has type.*wanted", lambda f: retyped(f, tensor, kind))


def heads(c):
    """Sizes of heads, and what stands beside the projections."""
    one_family(c, "--arch", "qwen3", "--proj", "tq2_0", "--head-dim", "128")
    for name in ("key_length", "value_length"):
        for n in (0, 1, 4, 64, 100, 130, 256, 512, 2**31):
            c.add("head-dim", "head|attn|attention|rope", lambda f: f.key("attention." + name, u32(n)))
    for n in (0, 1, 63, 129, 130, 2**31):
        c.add("rope-dim", r"rope\.dimension_count", lambda f: f.key("rope.dimension_count", u32(n)))
    for tensor in ("blk.0.attn_q_norm.weight", "blk.0.attn_k_norm.weight"):
        c.add("head-norm-missing", tensor + ".*missing", lambda f: f.tensors.remove(f.tensor(tensor)))
        for n in (32, 64, 256, 512):
            c.add("head-norm-length", tensor, lambda f: vector(f, tensor, np.ones(n)))
        c.attribute("head-norm-type", tensor, "kind", [1, 30])
        for value in ("nan", "inf"):
            c.add("head-norm-not-finite", tensor, lambda f: with_bytes(f, tensor, 8, struct.pack("<f", float(value))))
    one_family(c, "--arch", "qwen2", "--proj", "q2_0")
    for tensor in ("blk.0.attn_q.bias", "blk.0.attn_k.bias", "blk.0.attn_v.bias"):
        c.add("bias-missing", tensor + ".*missing", lambda f: f.tensors.remove(f.tensor(tensor)))
        c.attribute("bias-shape", tensor, "shape", [[64], [1, 64], [64, 1]])
        c.attribute("bias-type", tensor, "kind", [1, 30])
        for at, value in ((0, "nan"), (-4, "inf")):
            c.add("bias-not-finite", tensor, lambda f: with_bytes(f, tensor, at, struct.pack("<f", float(value))))


def rope(c):
    """What stretches a model's context."""
    one_family(c, "--arch", "llama", "--proj", "tq1_0", "--rope-freqs")
    name = "rope_freqs.weight"
    for n in (1, 16, 31, 33, 64):
        c.add("rope-freqs-length", r"rope_freqs\.weight", lambda f: vector(f, name, np.ones(n)))
    c.attribute("rope-freqs-shape", name, "shape", [[8, 4], [32, 1]])
    c.attribute("rope-freqs-type", name, "kind", [1, 26, 30])
    for at, value in ((0, 0.0), (4, -1.0), (8, float("nan")), (-4, float("inf")), (-4, -0.0)):
        c.add("rope-freqs-value", r"rope_freqs\.weight", lambda f: with_bytes(f, name, at, struct.pack("<f", value)))
    for arch in ("llama", "qwen3"):
        one_family(c, "--arch", arch, "--proj", "tq2_0")

        def scaled(kind, factor, *more):
            def change(f):
                f.key("rope.scaling.type", string(kind))
                f.key("rope.scaling.factor", factor)
                for key, value in more:
                    f.key(key, value)
            return change

        for kind in ("linear", "yarn"):
            c.add("fine-rope-factor-0", None, scaled(kind, f32(0.0)))
            for value in (-4.0, float("nan"), float("inf")):
                c.add("rope-factor", r"rope\.scaling\.factor", scaled(kind, f32(value)))
                c.add("rope-factor-alone", r"rope\.scaling\.factor", lambda f: f.key("rope.scaling.factor", f32(value)))
                c.add("rope-factor-of-old", r"rope\.scale_linear", lambda f: f.key("rope.scale_linear", f32(value)))
            for value in (u32(4), string("4"), scalar("d", F64, 4.0), floats([4.0])):
                c.add("rope-factor-type", r"rope\.scaling\.factor", scaled(kind, value))
        for kind in ("longrope", "su", "", "\x1b[2J", "x" * 10000):
            c.add("rope-scaling-type", r"rope\.scaling\.type", scaled(kind, f32(4.0)))
        original = "rope.scaling.original_context_length"
        c.add("rope-original", original, scaled("yarn", f32(4.0), (original, u32(0))))
        for value in (f32(64.0), string("64"), scalar("q", I64, -1)):
            c.add("rope-original-type", original, scaled("yarn", f32(4.0), (original, value)))
        for value in (0.0, -1.0, float("nan")):
            c.add("rope-base", r"rope\.freq_base", lambda f: f.key("rope.freq_base", f32(value)))


def activations(c):
    one_family(c, "--arch", "bitnet", "--proj", "tq2_0")
    for value in (string(""), string("gelu"), string("\x1b[2J"), u32(1)):
        c.add("activation", "hidden_activation", lambda f: f.key("hidden_activation", value))
    for name in ("mamba", "gptneox", "gptj", "olmoe"):
        c.add("unknown-family", "general.architecture", lambda f: f.set("general.architecture", string(name)))


def hadamard(c):
    """Keys of a transform that is folded into weights, without which a model talks garbage."""
    one_family(c, "--arch", "qwen3", "--proj", "pq2_0", "--embd", "pq2_0", "--head", "pq2_0", "--hadamard", "128")
    P = "prism.hadamard."
    names, widths = [f"blk.0.{name}.weight" for name in ("attn_q", "attn_k", "attn_v", "ffn_down")], c.base.sign_widths
    signs = [1] * sum(widths)
    for name, values in {
            "version": (u32(0), u32(3), string("1"), f32(1.0), u32(2)), "transform": (string("hadamard"), string(""), u32(1)),
            "axis": (string("output"), string("\x1b[2J"), u32(0)), "block_size": tuple(map(u32, (0, 1, 96, 512, 4096, 2**31))),
            "sign_mode": (string("random"), u32(1)),
            "sign_widths": (ints(widths[:-1]), ints([*widths, 64]), ints([*widths[:-1], -widths[-1]]), ints([w // 2 for w in widths]),
                            ints([]), string("256")),
            "sign_values": (ints(signs[1:]), ints([*signs, 1]), ints([0, *signs[1:]]), ints([*signs[1:], 2]), ints([]),
                            floats([1.0] * len(signs))),
            "weight_names": (strings(["blk.7.attn_q.weight"]), strings(["output_norm.weight"]), strings(names[:1]),
                             strings(names[:2]), strings(names[:3] * 2), string("output.weight"), strings(["x" * 5000])),
            "inverse_weight_names": (strings(["output.weight"]), strings(["token_embd.weight", ""])),
            "gdn_v_grouped": (u32(1),), "tied_output": (scalar("?", BOOL, True),)}.items():
        for value in values:
            c.add("hadamard-" + name.replace("_", "-"), "hadamard", lambda f: f.set(P + name, value))
    for name in ("version", "transform", "axis", "block_size", "sign_mode", "weight_names", "sign_values"):
        c.add("hadamard-missing", "hadamard", lambda f: f.drop(P + name))


def missing(c, *tensors):
    for tensor in tensors:
        c.add("family-tensor-missing", tensor.replace(".", r"\.") + ".*missing", lambda f: f.tensors.remove(f.tensor(tensor)))


def gpt2(c):
    one_family(c, "--arch", "gpt2", "--proj", "q8_0", "--kv", "4")
    missing(c, "position_embd.weight", "output_norm.bias", "blk.0.attn_norm.bias", "blk.0.attn_qkv.weight",
            "blk.0.attn_qkv.bias", "blk.0.attn_output.bias", "blk.0.ffn_up.bias", "blk.0.ffn_down.bias")
    positions = "position_embd.weight"
    c.attribute("positions-shape", positions, "shape", [[256, 255], [256], [256, 16, 16]])
    c.attribute("positions-type", positions, "kind", [26])
    c.add("positions-not-finite", positions, lambda f: with_bytes(f, positions, -4, struct.pack("<f", float("nan"))))
    c.add("gpt2-heads", "head_count_kv", lambda f: f.key("attention.head_count_kv", u32(2)))
    for value in (-1.0, 2.0, float("nan")):
        c.add("gpt2-epsilon", "layer_norm_epsilon", lambda f: f.key("attention.layer_norm_epsilon", f32(value)))
    for tensor, words in (("blk.0.ffn_up.weight", "ternary.*GELU"), ("blk.0.ffn_down.weight", "ternary.*bias")):
        c.add("gpt2-ternary", words, lambda f: retyped(f, tensor, 35))


def gemma(c):
    shapes = ("--proj", "q8_0", "--dim", "128", "--ffn", "128", "--layers", "4", "--pattern", "2", "--head-dim", "64")
    one_family(c, "--arch", "gemma3", *shapes)
    window, pattern = "attention.sliding_window", "attention.sliding_window_pattern"
    for value in (u32(0), string("16"), f32(16.0)):
        c.add("window", r"sliding_window", lambda f: f.key(window, value))
    c.add("window-missing", r"sliding_window", lambda f: f.drop("gemma3." + window))
    for value in (u32(0), booleans([True] * 3), booleans([]), string("2"), floats([1.0] * 4)):
        c.add("window-pattern", r"sliding_window_pattern", lambda f: f.key(pattern, value))
    c.add("cap-on-scores", "attn_logit_softcapping", lambda f: f.key("attn_logit_softcapping", f32(50.0)))
    c.add("experts", "expert_count.*MoE", lambda f: f.key("expert_count", u32(8)))
    c.add("vision", "sees images", lambda f: f.set("general.architecture", string("clip")))
    missing(c, "blk.0.post_attention_norm.weight", "blk.1.post_ffw_norm.weight", "blk.2.attn_k_norm.weight")


def gemma4(c):
    one_family(c, "--arch", "gemma4", "--proj", "q8_0", "--dim", "128", "--ffn", "128", "--layers", "4", "--pattern", "2", "--head-dim", "64",
               "--swa-head-dim", "32", "--shared", "1", "--per-layer", "32")
    huge = u32(2**31)
    for name, values in {
            "feed_forward_length": (ints([128] * 3), ints([0] * 4), ints([-128] * 4), ints([2**30] * 4), ints([100] * 4),
                                    floats([128.0] * 4), u32(0), huge, string("256")),
            "attention.head_count_kv": (ints([2] * 3), ints([0] * 4), ints([3] * 4), ints([2, 2, 2, 4096]), u32(3), huge),
            "attention.shared_kv_layers": (u32(4), u32(3), huge, f32(1.0)),
            "attention.key_length_swa": (u32(0), u32(4), u32(1024), u32(40), huge),
            "rope.dimension_count_swa": (u32(0), u32(31), u32(64), huge),
            "rope.freq_base_swa": (f32(0.0), f32(-1.0), f32(float("nan"))),
            "final_logit_softcapping": (f32(-1.0), f32(float("nan")), f32(float("inf")), u32(30)),
            "embedding_length_per_layer_input": (u32(16), u32(33), u32(64), u32(8192), huge)}.items():
        words = {"attention.key_length_swa": "key_length_swa|head|tensor|rope", "embedding_length_per_layer_input": name + "|tensor",
                 "attention.head_count_kv": "head_count_kv|heads|tensor", "attention.shared_kv_layers": "shared_kv|layer",
                 "feed_forward_length": "feed|tensor"}.get(name, name)
        for value in values:
            c.add("gemma4-key", words, lambda f: f.key(name, value))
    for value in (ints([-1]), ints([VOCAB]), string("x"), floats([1.0])):
        c.add("suppressed", "suppress_tokens", lambda f: f.set("tokenizer.ggml.suppress_tokens", value))
    scale = "blk.1.layer_output_scale.weight"
    c.add("layer-scale", scale, lambda f: with_bytes(f, scale, 0, struct.pack("<f", float("inf"))))
    c.add("layer-scale", scale, lambda f: vector(f, scale, np.ones(2)))
    missing(c, "per_layer_token_embd.weight", "per_layer_model_proj.weight", "per_layer_proj_norm.weight",
            "blk.0.inp_gate.weight", "blk.1.proj.weight", "blk.3.post_norm.weight", "blk.3.attn_q.weight",
            "blk.0.attn_k.weight")


def phi3(c):
    one_family(c, "--arch", "phi3", "--proj", "q8_0", "--long-rope", "1.2", "--kv", "1")
    short, long = (f"rope_factors_{length}.weight" for length in ("short", "long"))
    missing(c, "blk.0.attn_qkv.weight", "blk.0.ffn_up.weight", short, long)
    for tensor, shapes in {"blk.0.attn_qkv.weight": ([256, 256], [256, 383], [384, 256], [256, 768]),
                           "blk.0.ffn_up.weight": ([256, 256], [256, 511], [256, 1024], [512, 256])}.items():
        c.attribute("phi3-shape", tensor, "shape", shapes)
    for tensor in (short, long):
        for n in (1, 16, 31, 33, 64):
            c.add("long-rope-length", tensor, lambda f: vector(f, tensor, np.ones(n)))
        c.attribute("long-rope-type", tensor, "kind", [1, 26, 30])
        for at, value in ((0, 0.0), (4, -1.0), (8, float("nan")), (-4, float("inf")), (-4, -0.0)):
            c.add("long-rope-value", tensor, lambda f: with_bytes(f, tensor, at, struct.pack("<f", value)))
    for value in (f32(0.0), f32(-1.0), f32(float("nan")), f32(float("inf")), u32(1), string("1")):
        c.add("attn-factor", r"scaling\.attn_factor", lambda f: f.key("rope.scaling.attn_factor", value))
    for value in (u32(0), f32(64.0), string("64"), scalar("q", I64, -1)):
        c.add("long-rope-original", "original_context_length",
              lambda f: f.key("rope.scaling.original_context_length", value))
    for value in (string("yarn"), string("linear"), string(""), u32(1), string("\x1b[2J")):
        c.add("long-rope-kind", r"scaling\.type", lambda f: f.key("rope.scaling.type", value))
    for value in (f32(16.0), string("16"), scalar("i", I32, -1)):
        c.add("phi3-window", "sliding_window", lambda f: f.key("attention.sliding_window", value))


def phi3_as_i2_s(c):
    one_family(c, "--arch", "phi3", "--proj", "tq2_0")
    whole = "blk.0.ffn_up.weight"

    def change(f):
        retyped(f, whole, 36)
        resized(f, whole, 32)
    c.add("halves-of-i2_s", "I2_S.*halves", change)


def as_i2_s(file, name):
    """Makes a tensor an i2_s one of zeros."""
    tensor = file.tensor(name)
    shape = tensor.shape[::-1]
    tensor.kind = gguf_types.KINDS["i2_s_64"].id
    tensor.data = gguf_types.pack_ternary("i2_s_64", np.ones(shape, np.uint8), 1.0)


def short_rows(c):
    """Rows of I2_S that are whole blocks of the file, and end in the middle of what kernels take at once."""
    gate, proj, table = "blk.0.inp_gate.weight", "blk.0.proj.weight", "per_layer_token_embd.weight"
    for features, layers in ((64, 3), (192, 1), (320, 1), (64, 1)):
        one_family(c, "--arch", "gemma4", "--proj", "q8_0", "--per-layer", str(features), "--layers", str(layers))
        for tensor in (proj, table):
            c.add("row-length-i2_s", tensor + ".*multiple of 128", lambda f: as_i2_s(f, tensor))
    one_family(c, "--arch", "gemma4", "--proj", "q8_0", "--per-layer", "128", "--other", "proj=i2_s")
    one_family(c, "--arch", "gemma4", "--proj", "q8_0", "--per-layer", "64", "--other", "proj=q2_0")
    c.add("ternary-gelu", gate + ".*GELU", lambda f: as_i2_s(f, gate))


GROUPS = (hadamard, phi3, phi3_as_i2_s, gpt2, gemma, gemma4, ternary_types, dense_types, blocks, short_rows, refused_types, heads,
          rope, activations)
