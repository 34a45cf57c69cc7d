#!/usr/bin/env python3
"""Compute the forward pass of a model in float64, for comparison: bitnet*, llama, qwen2, qwen3, qwen3moe, maple, phi3,
qwen35, gpt2, gemma3, gemma4.

    reference.py model.gguf --ids 256,72,101 --logits logits.npy [--hidden hidden.npy] [--i2s-layout 64|1x4]
                 [--kv float64] [--int8 float32|off] [--sums float32|backwards]

logits.npy is [n_tokens, n_vocab]; hidden.npy is [n_layers, n_embd], the residual stream after each block at the
last position. They are exact but for the two roundings that belong to a model as it is run: the cache holds keys and
values in F16, and where a model was trained so (i2_s, and BitNet's architectures) the input of every ternary matrix
becomes int8 by its row's largest magnitude. The switches, which are `Numbers` in here, change one thing each, to see
what it costs (rounding_costs.py and input_rounding.py make tables of that).

BitNet is as the report (arXiv 2504.12285) has it; the others are as Hugging Face's transformers compute them, with YaRN as
arXiv 2309.00071 has it. families_test.py compares this with logits that transformers gave.
"""
import argparse
import math
import typing

import numpy as np

import gguf
import gguf_types


class Numbers(typing.NamedTuple):
    """How the forward pass is computed."""
    kv: type = np.float16  # what the cache holds
    int8: typing.Optional[type] = np.float64  # in which the input of a ternary matrix is scaled and rounded; None: neither
    sums: type = np.float64  # everything else
    backwards: bool = False  # sums over features and keys begin at their ends
    product: typing.Optional[typing.Callable] = None  # (x, codes, scales) -> x times the matrix, instead of all this


def rms_norm(x, weight, eps, order=1):
    mean = np.mean((x * x)[..., ::order], -1, keepdims=True)
    return x / np.sqrt(mean + x.dtype.type(eps)) * weight.astype(x.dtype)


def quantise(x, kind=np.float64):
    """Returns the int8 values and what each row was multiplied by. numpy rounds halves to even."""
    x = x.astype(kind)
    scale = kind(127) / np.maximum(kind(1e-5), np.abs(x).max(-1, keepdims=True))
    return np.clip(np.rint(x * scale), -128, 127).astype(np.float64), scale


def relu2(x):
    return np.maximum(x, 0) ** 2


def silu(x):
    return x / (1 + np.exp(-x))


def gelu(x):
    return x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3))) / 2


class Layer(typing.NamedTuple):
    """What may differ from layer to layer."""
    head_dim: int
    n_head_kv: int
    rotate: typing.Optional[typing.Callable]
    scale: float  # of the scores
    window: int = 0  # keys that a token sees; 0: all
    kv_of: int = -1  # the layer whose keys and values it uses; -1: its own


class Rotation:
    """RoPE of one model: the angle of each pair at a position, and which dims are a pair."""

    def __init__(self, file, n_rot, plain_base=None):
        """Where plain_base is given, positions are not stretched."""
        meta, arch = file.meta, file.meta["general.architecture"]
        get = lambda key, default=None: meta.get(f"{arch}.rope.{key}", default)
        self.n_rot, self.interleaved, self.magnitude, self.original = n_rot, arch == "llama", 1.0, None
        base, half = plain_base or get("freq_base", 10000.0), n_rot // 2
        self.frequency = base ** (-np.arange(half) / half)
        if plain_base:
            return
        if "rope_freqs.weight" in file.tensors:
            self.frequency = self.frequency / file.floats("rope_freqs.weight")
        if "rope_factors_long.weight" in file.tensors:
            self.original, self.magnitude = get("scaling.original_context_length"), get("scaling.attn_factor")
            self.long = self.frequency / file.floats("rope_factors_long.weight")
            self.frequency = self.frequency / file.floats("rope_factors_short.weight")
        kind, factor = get("scaling.type"), get("scaling.factor", 1.0)
        if kind == "linear":
            self.frequency = self.frequency / factor
        if kind == "yarn":
            # The pair that turns `turns` times in the original context.
            pair = lambda turns: half * math.log(get("scaling.original_context_length") / (turns * 2 * math.pi)) / math.log(base)
            low, high = max(math.floor(pair(32)), 0), min(math.ceil(pair(1)), n_rot - 1)
            slow = np.clip((np.arange(half) - low) / max(0.001, high - low), 0, 1)  # 1: is stretched
            self.frequency = self.frequency * (1 - slow) + self.frequency / factor * slow
            self.magnitude = 1 + 0.1 * math.log(factor)

    def __call__(self, x):
        """Rotates x [tokens, heads, head_dim]; dims from n_rot on stay as they are."""
        is_long = self.original and len(x) > self.original
        angle = np.arange(len(x))[:, None] * (self.long if is_long else self.frequency)
        cos, sin = ((self.magnitude * f(angle))[:, None].astype(x.dtype) for f in (np.cos, np.sin))
        half, y = self.n_rot // 2, x.copy()
        first = slice(0, self.n_rot, 2) if self.interleaved else slice(0, half)
        second = slice(1, self.n_rot, 2) if self.interleaved else slice(half, self.n_rot)
        a, b = x[..., first], x[..., second]
        y[..., first], y[..., second] = a * cos - b * sin, a * sin + b * cos
        return y


def sylvester(n):
    """Returns the orthonormal Walsh-Hadamard matrix in Sylvester's order."""
    h = np.ones((1, 1))
    while len(h) < n:
        h = np.block([[h, h], [h, -h]])
    return h / math.sqrt(n)


def attend(q, k, v, order=1, scale=None, window=0):
    """Computes causal softmax attention; q is [tokens, heads, d], k and v are [tokens, kv_heads, d]."""
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, 1), np.repeat(v, group, 1)
    scores = np.einsum("thd,shd->hts", q[..., ::order], k[..., ::order])
    scores = scores / q.dtype.type(np.sqrt(q.shape[-1])) if scale is None else scores * scale
    scores += np.triu(np.full(scores.shape[1:], -np.inf, q.dtype), 1)
    if window:
        scores += np.tril(np.full(scores.shape[1:], -np.inf, q.dtype), -window)
    weights = np.exp(scores - scores.max(-1, keepdims=True))[..., ::order]
    return np.einsum("hts,shd->thd", weights / weights.sum(-1, keepdims=True), v[::order])


def activation_of(meta):
    """BitNet's files do not say it: only Microsoft's model, whose vocabulary is LLaMA 3's, has relu squared."""
    arch = meta["general.architecture"]
    if arch in ("gpt2", "gemma3", "gemma4"):
        return gelu
    if f"{arch}.hidden_activation" in meta:
        return {"relu2": relu2, "silu": silu}[meta[f"{arch}.hidden_activation"]]
    is_2b4t = arch in ("bitnet-25", "bitnet-b1.58", "bitnet-1.58") and meta["tokenizer.ggml.model"] == "gpt2"
    return relu2 if is_2b4t else silu


class Model:
    def __init__(self, path, i2s="128"):
        self.numbers, self.order = Numbers(), 1
        self.steer, self.ablated = {}, []  # {layer: vector} added behind it, and (layer, head) that give zeros
        self.file = gguf.File(path, i2s)
        meta = self.file.meta
        self.arch = meta["general.architecture"]
        get = lambda key, default=None: meta.get(f"{self.arch}.{key}", default)
        self.n_layer, self.n_head = get("block_count"), get("attention.head_count")
        self.n_embd, self.is_gemma = get("embedding_length"), self.arch.startswith("gemma")
        self.eps = get("attention.layer_norm_rms_epsilon", get("attention.layer_norm_epsilon"))
        self.act, self.cap = activation_of(meta), get("final_logit_softcapping", 0)
        self.layers = [self.layer(i, get) for i in range(self.n_layer)]

    def layer(self, i, get):
        """Returns what the keys say of layer i."""
        n_head_kv, head_dim = get("attention.head_count_kv", self.n_head), get("attention.key_length", self.n_embd // self.n_head)
        n_head_kv = n_head_kv[i] if isinstance(n_head_kv, list) else n_head_kv
        rotate = None if self.arch == "gpt2" else Rotation(self.file, get("rope.dimension_count", head_dim))
        if self.arch == "maple":  # llama.cpp's src/models/maple.cpp
            local = get("attention.sliding_window_pattern")[i]
            return Layer(head_dim, n_head_kv, rotate if local else None, None, get("attention.sliding_window") if local else 0)
        if not self.is_gemma:
            return Layer(head_dim, n_head_kv, rotate, None, get("attention.sliding_window", 0))
        pattern, window = get("attention.sliding_window_pattern", 6), get("attention.sliding_window")
        local = lambda j: pattern[j] if isinstance(pattern, list) else (j + 1) % pattern != 0
        if local(i):
            head_dim = get("attention.key_length_swa", head_dim)
            rotate = Rotation(self.file, get("rope.dimension_count_swa", head_dim), get("rope.freq_base_swa", 10000.0))
        own, kv_of = self.n_layer - get("attention.shared_kv_layers", 0), -1
        if i >= own:
            kv_of = max(j for j in range(own) if local(j) == local(i))
        return Layer(head_dim, n_head_kv, rotate, 1.0 if self.arch == "gemma4" else None, window if local(i) else 0, kv_of)

    def linear(self, name, x):
        y = self.product(name + ".weight", x)
        if name + ".bias" in self.file.tensors:
            y = y + self.file.floats(name + ".bias").astype(y.dtype)
        return y

    def product(self, name, x):
        kind = self.file.kind(name)
        if kind not in gguf_types.TERNARY:
            return (x.astype(np.float64) @ self.weights(name).T).astype(x.dtype)
        codes, scales = self.file.ternary(name)
        if self.numbers.product:
            return self.numbers.product(x, codes, scales)
        trained_so = self.arch.startswith("bitnet") or kind in gguf_types.I2_S
        if self.numbers.int8 is None or not trained_so:
            return (x.astype(np.float64) @ self.weights(name).T).astype(x.dtype)
        q, s = quantise(x, self.numbers.int8)
        self.quantised.append(q)
        if np.ndim(scales):
            return (q @ self.file.floats(name).T).astype(x.dtype) / s.astype(x.dtype)
        return (q @ codes.T).astype(x.dtype) / s.astype(x.dtype) * x.dtype.type(scales)

    def weights(self, name):
        """Returns the values of a matrix without the transform that is folded into it: y = W H (s x), or e = s H row."""
        values, meta = self.file.floats(name), self.file.meta
        names = [*meta.get("prism.hadamard.weight_names", []), *meta.get("prism.hadamard.inverse_weight_names", [])]
        if name not in names:
            return values
        block, width, signs = meta["prism.hadamard.block_size"], values.shape[-1], 1
        if meta["prism.hadamard.sign_mode"] == "explicit":
            widths = meta["prism.hadamard.sign_widths"]
            begin = sum(widths[:widths.index(width)])
            signs = np.array(meta["prism.hadamard.sign_values"][begin:begin + width])
        return (values.reshape(len(values), -1, block) @ sylvester(block)).reshape(values.shape) * signs

    def norm(self, name, x):
        """Norms by blk.N.NAME.weight, or gives x back where the model has none of that name."""
        if name + ".weight" not in self.file.tensors:
            return x
        if name + ".bias" in self.file.tensors:
            x = x - x.mean(-1, keepdims=True)
            return rms_norm(x, self.file.floats(name + ".weight"), self.eps) + self.file.floats(name + ".bias")
        return rms_norm(x, self.file.floats(name + ".weight"), self.eps, self.order)

    def forward(self, ids, numbers=Numbers(), choices=None):
        """Returns logits [tokens, vocabulary] and hidden [layers, embedding] of the last token.

        choices [tokens, layers, used] are experts that are taken instead of the likeliest. self.doubt is how much smaller
        the logit of one of them is, at most, than that of an expert that is not among them.

        self.quantised has the int8 inputs of the ternary matrices afterwards, in the order in which they were needed, and
        self.stages what the last token has at each stage (engine/observation.h), {stage: [layers, width]}.
        """
        self.numbers, self.quantised, self.choices, self.doubt = numbers, [], choices, 0.0
        self.stages = {}
        self.order = -1 if numbers.backwards else 1
        there = lambda name: name in self.file.tensors
        embedding = self.weights("token_embd.weight").astype(numbers.sums)
        x, hidden, self.cache = embedding[ids], [], []
        if self.is_gemma:
            x = x * np.sqrt(self.n_embd)
        if there("position_embd.weight"):
            x = x + self.file.floats("position_embd.weight")[:len(ids)]
        per_layer = self.per_layer_inputs(ids, x) if there("per_layer_token_embd.weight") else None
        for i in range(self.n_layer):
            b = f"blk.{i}."
            a = self.norm(b + "attn_norm", x)
            o = self.delta_net(i, a) if self.is_delta(i) else self.attention(i, a)
            for head in (h for layer, h in self.ablated if layer == i):
                np.split(o, self.n_head, -1)[head][:] = 0  # a view
            added = self.linear(b + ("ssm_out" if self.is_delta(i) else "attn_output"), self.norm(b + "attn_sub_norm", o))
            if self.arch != "qwen35":
                added = self.norm(b + "post_attention_norm", added)
            x = x + added
            self.keep(input=a, heads=o, attention=added)
            f = self.norm(b + ("post_attention_norm" if self.arch == "qwen35" else "ffn_norm"), x)
            if there(b + "ffn_gate_inp.weight"):
                added = self.experts(i, f)
            else:
                added = self.norm(b + "post_ffw_norm", self.linear(b + "ffn_down", self.norm(b + "ffn_sub_norm", self.gated(b, f))))
            x = x + added
            self.keep(ffn=added)
            if per_layer is not None:
                g = self.act(self.linear(b + "inp_gate", x)) * per_layer[:, i]
                x = x + self.norm(b + "post_norm", self.linear(b + "proj", g))
            if there(b + "layer_output_scale.weight"):
                x = x * self.file.floats(b + "layer_output_scale.weight")
            x = x + self.steer.get(i, 0)
            hidden.append(x[-1])
            self.keep(residual=x)
        head = self.weights("output.weight") if "output.weight" in self.file.tensors else embedding
        y = self.norm("output_norm", x)[:, ::self.order] @ head.astype(numbers.sums)[:, ::self.order].T
        if self.cap:
            y = self.cap * np.tanh(y / self.cap)
        return y.astype(np.float64), np.array(hidden, np.float64)

    def gated(self, b, f):
        """Returns what the matrix down of a dense feed-forward is given, without its norm."""
        h = self.linear(b + "ffn_up", f)
        if self.arch == "phi3":
            gate, up = np.split(h, 2, -1)
            return self.act(gate) * up
        return self.act(self.linear(b + "ffn_gate", f)) * h if b + "ffn_gate.weight" in self.file.tensors else self.act(h)

    def keep(self, **stages):
        for stage, rows in stages.items():
            self.stages.setdefault(stage, []).append(rows[-1].ravel())

    def rounded(self, name, x):
        """Returns what the input of a matrix of experts stands for when it is rounded as the matrix wants."""
        if self.numbers.int8 is None or self.file.kind(name) not in gguf_types.I2_S:
            return x
        q, s = quantise(x, self.numbers.int8)
        return q / s

    def experts(self, i, f):
        """Returns what the experts of layer i add for each row of f."""
        get = lambda key, default=None: self.file.meta.get(f"{self.arch}.{key}", default)
        used, clamp = get("expert_used_count"), None
        if self.arch == "maple":
            clamp = get("swiglu_clamp_exp", [7.0] * self.n_layer)[i]
        weights = [self.file.floats(f"blk.{i}.ffn_{name}.weight") for name in ("gate_inp", "gate_exps", "up_exps", "down_exps")]
        router, gates, ups, downs = weights
        logits, f = f.astype(np.float64) @ router.T, self.rounded(f"blk.{i}.ffn_gate_exps.weight", f)
        if get("expert_gating_func", 1) == 2:
            shares = 1 / (1 + np.exp(-logits))
        else:
            shares = np.exp(logits - logits.max(-1, keepdims=True))
            shares /= shares.sum(-1, keepdims=True)
        y = np.zeros(f.shape)
        for t, share in enumerate(shares):
            chosen = np.argsort(-share, kind="stable")[:used]
            if self.choices is not None:
                chosen = self.choices[t, i]
                self.doubt = max(self.doubt, np.delete(logits[t], chosen).max(initial=-np.inf) - logits[t, chosen].min())
            of_all = share[chosen].sum() if get("expert_weights_norm", True) else 1
            for e in np.sort(chosen):
                gate, up = gates[e] @ f[t], ups[e] @ f[t]
                if clamp:
                    gate, up = np.minimum(gate, clamp), np.clip(up, -clamp, clamp)
                y[t] += share[e] / of_all * get("expert_weights_scale", 1.0) * (
                    downs[e] @ self.rounded(f"blk.{i}.ffn_down_exps.weight", (self.act(gate) * up)[None])[0])
        return y.astype(f.dtype)

    def per_layer_inputs(self, ids, x):
        """Returns what Gemma 4 gives each layer beside x, [tokens, layers, features]."""
        embedded = self.file.floats("per_layer_token_embd.weight")[ids].reshape(len(ids), self.n_layer, -1)
        projected = self.linear("per_layer_model_proj", x).reshape(embedded.shape) / np.sqrt(self.n_embd)
        return (self.norm("per_layer_proj_norm", projected) + embedded * np.sqrt(embedded.shape[-1])) / np.sqrt(2)

    def is_delta(self, i):
        return f"blk.{i}.ssm_a" in self.file.tensors

    def delta_net(self, i, a):
        """Returns what the Gated DeltaNet of layer i gives, as transformers' recurrent form computes it."""
        self.cache.append(None)
        b, get = f"blk.{i}.", lambda key: self.file.meta[f"{self.arch}.ssm.{key}"]
        dim, n_k, n_v, n_conv = get("state_size"), get("group_count"), get("time_step_rank"), get("conv_kernel")
        sigmoid = lambda x: 1 / (1 + np.exp(-x))
        qkv, z = self.linear(b + "attn_qkv", a), self.linear(b + "attn_gate", a).reshape(len(a), n_v, dim)
        padded = np.concatenate([np.zeros((n_conv - 1, qkv.shape[1])), qkv])
        weights = self.file.floats(b + "ssm_conv1d.weight")
        mixed = silu(sum(padded[j:j + len(a)] * weights[:, j] for j in range(n_conv)))
        q, k, v = np.split(mixed.reshape(len(a), -1, dim), [n_k, 2 * n_k], 1)
        unit = lambda x: x / np.sqrt((x * x).sum(-1, keepdims=True) + self.eps)
        q, k = np.tile(unit(q) / math.sqrt(dim), (1, n_v // n_k, 1)), np.tile(unit(k), (1, n_v // n_k, 1))
        strength = sigmoid(self.linear(b + "ssm_beta", a))
        time = np.logaddexp(0, self.linear(b + "ssm_alpha", a) + self.file.floats(b + "ssm_dt.bias"))
        decay = np.exp(time * self.file.floats(b + "ssm_a"))
        state, o = np.zeros((n_v, dim, dim)), np.zeros((len(a), n_v, dim))
        for t in range(len(a)):
            state = state * decay[t][:, None, None]
            change = strength[t][:, None] * (v[t] - np.einsum("hkv,hk->hv", state, k[t]))
            state = state + k[t][:, :, None] * change[:, None]
            o[t] = np.einsum("hkv,hk->hv", state, q[t])
        return (self.norm(b + "ssm_norm", o) * silu(z)).reshape(len(a), -1)

    def attention(self, i, a):
        """Returns what the heads of layer i give, [tokens, features], and keeps its keys and values in self.cache."""
        b, layer, there = f"blk.{i}.", self.layers[i], lambda name: f"blk.{i}.{name}.weight" in self.file.tensors
        heads = lambda y, n: y.reshape(len(a), n, layer.head_dim)
        rotate = layer.rotate or (lambda x: x)
        if there("attn_qkv"):
            q, k, v = np.split(heads(self.linear(b + "attn_qkv", a), -1), np.cumsum([self.n_head, layer.n_head_kv]), 1)
        else:
            q = heads(self.linear(b + "attn_q", a), -1)
        if self.arch == "qwen35":  # a head's queries, then its gates
            q, gate = q[:, ::2], q[:, 1::2]
        if there("attn_k") and layer.kv_of < 0:
            k = heads(self.linear(b + "attn_k", a), layer.n_head_kv)
            v = heads(self.linear(b + "attn_v", a), layer.n_head_kv) if there("attn_v") else k
        if layer.kv_of < 0:
            if self.arch == "gemma4":
                v = rms_norm(v, np.ones(layer.head_dim), self.eps)
            k = rotate(self.norm(b + "attn_k_norm", k))
            self.cache.append([cached.astype(self.numbers.kv).astype(self.numbers.sums) for cached in (k, v)])
        else:
            self.cache.append(self.cache[layer.kv_of])
        q = rotate(self.norm(b + "attn_q_norm", q))
        self.keep(query=q)
        o = attend(q, *self.cache[i], self.order, layer.scale, layer.window)
        return (o / (1 + np.exp(-gate)) if self.arch == "qwen35" else o).reshape(len(a), -1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--ids", required=True, help="token ids, separated by commas")
    parser.add_argument("--logits", help="write them here (.npy)")
    parser.add_argument("--hidden", help="write them here (.npy)")
    parser.add_argument("--i2s-layout", choices=["128", "64", "1x4"], default="128", help="how i2_s tensors lie")
    parser.add_argument("--kv", choices=["float16", "float64"], default="float16", help="type of the cache")
    parser.add_argument("--int8", choices=["float64", "float32", "off"], default="float64",
                        help="type in which inputs are rounded to int8; off: they are not")
    parser.add_argument("--sums", choices=["float64", "float32", "backwards"], default="float64",
                        help="type of everything else; backwards: float32, and sums begin at their ends")
    a = parser.parse_args()
    numbers = Numbers(getattr(np, a.kv), None if a.int8 == "off" else getattr(np, a.int8),
                      np.float64 if a.sums == "float64" else np.float32, a.sums == "backwards")
    logits, hidden = Model(a.model, a.i2s_layout).forward([int(i) for i in a.ids.split(",")], numbers)
    if a.logits:
        np.save(a.logits, logits)
    if a.hidden:
        np.save(a.hidden, hidden)
    for position, row in enumerate(logits):
        top = np.argsort(-row, kind="stable")[:5]
        print(position, " ".join(f"{i}:{row[i]:.4f}" for i in top))


if __name__ == "__main__":
    main()
