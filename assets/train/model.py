"""BitNet b1.58 in PyTorch, quantisation-aware: the training graph and, with exact=True, the engine's own arithmetic."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from shape import SHAPE


def ternary(w):
    """absmean: the nearest of -1, 0, +1 to w / mean|w|, and that mean."""
    s = w.abs().mean().clamp(min=1e-5)
    return (w / s).round().clamp(-1, 1), s


def ternary_ste(w):
    t, s = ternary(w)
    return w + (t * s - w).detach()  # forwards the ternary value, backwards the identity


def absmax(x):
    """int8 per token: round half to even, as the engine does."""
    s = 127.0 / x.abs().amax(-1, keepdim=True).clamp(min=1e-5)
    return (x * s).round().clamp(-128, 127), s


class Norm(nn.Module):
    def __init__(self, n, eps):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(n)), eps

    def forward(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


def bit_linears(x, weights, exact):
    """The same float32 input through several ternary matrices: it is quantised once."""
    q, s = absmax(x)
    if exact:  # integer sums below 2^24 are exact in float32
        out = []
        for w in weights:
            t, scale = ternary(w)
            out.append(F.linear(q, t) / s * scale)
        return out
    x = (x + (q / s - x).detach()).bfloat16()
    w = torch.cat([ternary_ste(w) for w in weights]).bfloat16()
    return F.linear(x, w).split([w.shape[0] for w in weights], -1)


def rope(x, cos, sin):
    """NeoX pairs: element i turns with element i + half."""
    a, b = x.float().chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1).to(x.dtype)


def attention(q, k, v):
    """[batch, heads, time, 64], causal. Written out where PyTorch is older than 2.0."""
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    s = q.float() @ k.float().transpose(-1, -2) / q.shape[-1] ** 0.5
    s = s.masked_fill(torch.ones(s.shape[-2:], dtype=torch.bool, device=s.device).triu(1), float("-inf"))
    return (s.softmax(-1) @ v.float()).to(v.dtype)


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        d, f, self.heads, self.kv, self.hd = c["dim"], c["ffn"], c["heads"], c["kv"], c["dim"] // c["heads"]
        mat = lambda o, i, std=0.02: nn.Parameter(torch.randn(o, i) * std)
        down = 0.02 / (2 * c["layers"]) ** 0.5
        self.attn_norm, self.attn_sub_norm = Norm(d, c["eps"]), Norm(d, c["eps"])
        self.ffn_norm, self.ffn_sub_norm = Norm(d, c["eps"]), Norm(f, c["eps"])
        self.attn_q, self.attn_k, self.attn_v = mat(d, d), mat(self.kv * self.hd, d), mat(self.kv * self.hd, d)
        self.attn_output, self.ffn_down = mat(d, d, down), mat(d, f, down)
        self.ffn_gate, self.ffn_up = mat(f, d), mat(f, d)

    def forward(self, x, cos, sin, exact):
        b, t, _ = x.shape
        q, k, v = bit_linears(self.attn_norm(x), [self.attn_q, self.attn_k, self.attn_v], exact)
        shape = lambda y, n: y.reshape(b, t, n, self.hd).transpose(1, 2)
        q, k, v = rope(shape(q, self.heads), cos, sin), rope(shape(k, self.kv), cos, sin), shape(v, self.kv)
        g = self.heads // self.kv
        o = attention(q, k.repeat_interleave(g, 1), v.repeat_interleave(g, 1)).transpose(1, 2).reshape(b, t, -1)
        x = x + bit_linears(self.attn_sub_norm(o), [self.attn_output], exact)[0]
        gate, up = bit_linears(self.ffn_norm(x), [self.ffn_gate, self.ffn_up], exact)
        h = F.relu(gate.float()).pow(2) * up.float()
        return x + bit_linears(self.ffn_sub_norm(h), [self.ffn_down], exact)[0]


class BitNet(nn.Module):
    def __init__(self, vocab, shape=SHAPE):
        super().__init__()
        self.shape = c = dict(shape)
        self.embed = nn.Parameter(torch.randn(vocab, c["dim"]) * 0.02)  # also the output head
        self.blocks = nn.ModuleList(Block(c) for _ in range(c["layers"]))
        self.norm = Norm(c["dim"], c["eps"])
        hd = c["dim"] // c["heads"]
        angle = torch.outer(torch.arange(c["ctx"]).double(), c["base"] ** (-torch.arange(0, hd, 2).double() / hd))
        self.register_buffer("cos", angle.cos().float(), persistent=False)
        self.register_buffer("sin", angle.sin().float(), persistent=False)

    def forward(self, ids, targets=None, exact=False):
        """ids [batch, time] -> float32 logits, or with targets (-1 = no loss) the mean loss."""
        t = ids.shape[1]
        x = F.embedding(ids, self.embed)
        if not exact:
            x = x.bfloat16()
        for block in self.blocks:
            x = block(x, self.cos[:t], self.sin[:t], exact)
        x = self.norm(x)
        logits = F.linear(x, self.embed) if exact else F.linear(x.bfloat16(), self.embed.bfloat16()).float()
        if targets is None:
            return logits
        return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1), ignore_index=-1)
