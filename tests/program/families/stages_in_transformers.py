#!/usr/bin/env python3
"""Compare what a token has at each stage and in each layer of reference.py with what it has in transformers.

    stages_in_transformers.py [MODEL.gguf...]

The models are the four of assets/stages.gguf, those of second_set.py, and any that are named; torch and transformers are
needed. transformers computes in float64, also where it asks for float32 (norms, RoPE, softmax), and its layers are looked
at with hooks: nothing of it is written again here. A cell is the largest difference in any layer, as a part of the largest
value there. "F16" is 1 - cosine of the worst row when the cache holds F16, as the golden values and the engine have it.
Exit code 1 if a cell is above BAR.
"""
import contextlib
import functools
import pathlib
import sys
import tempfile
import traceback
import unittest.mock

import numpy as np
import torch
import transformers

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[2] / "bench")]
import make_stages  # noqa: E402  (finds tests/program and tests/support too)
import in_transformers  # noqa: E402
import reference  # noqa: E402
import second_set  # noqa: E402

BAR = 1e-6  # a file has LongRoPE's factor in float32, which is 1e-7 away from what transformers computes
N_TOKENS = 48  # of a model without golden values: more than most windows hold


@contextlib.contextmanager
def in_float64():
    """Within, whoever asks torch for float32 gets float64."""
    usual = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    with unittest.mock.patch.multiple(torch, float32=torch.float64, float=torch.float64), \
            unittest.mock.patch.object(torch.Tensor, "float", torch.Tensor.double):
        try:
            yield
        finally:
            torch.set_default_dtype(usual)


class Stages:
    """Hooks of a loaded model. found: stage -> layer -> the last token's values."""

    def __init__(self, loaded):
        self.model, self.found = loaded.model, {stage: {} for stage in make_stages.STAGES}
        gpt2, gemma = loaded.arch == "gpt2", loaded.arch.startswith("gemma")
        for i, layer in enumerate(self.model.transformer.h if gpt2 else self.model.model.layers):
            attention = layer.attn if gpt2 else layer.self_attn
            places = {"input": layer.ln_1 if gpt2 else layer.input_layernorm,
                      "attention": layer.post_attention_layernorm if gemma else attention,
                      "ffn": layer.post_feedforward_layernorm if gemma else layer.mlp, "residual": layer}
            for stage, module in places.items():
                module.register_forward_hook(functools.partial(self.keep, stage, i))
        self.file = sys.modules[type(attention).__module__]  # of transformers, which has what all of its layers call

    def keep(self, stage, layer, _module, _inputs, output):
        rows = output[0] if isinstance(output, tuple) else output
        self.found[stage][layer] = rows[0, -1].numpy()

    def read(self, ids):
        attend = self.file.eager_attention_forward

        def watched(module, query, *others, **how):
            heads, weights = attend(module, query, *others, **how)
            self.found["query"][module.layer_idx] = query[0, :, -1].numpy().ravel()
            self.found["heads"][module.layer_idx] = heads[0, -1].numpy().ravel()
            return heads, weights

        with unittest.mock.patch.object(self.file, "eager_attention_forward", watched), torch.no_grad():
            logits = self.model(torch.tensor([ids.tolist()]), use_cache=False).logits
        assert logits.dtype == torch.float64
        return self.found


def compare(name, path):
    """Returns the largest difference at each stage, and how far the F16 of a cache turns the worst row."""
    model = reference.Model(path)
    has_golden = name in ("bundled", *make_stages.MADE)
    ids = make_stages.tokens_of(name, model) if has_golden else np.random.default_rng(1).integers(
        0, len(model.file.meta["tokenizer.ggml.tokens"]) - 8, N_TOKENS)
    with in_float64():
        found = Stages(in_transformers.Loaded(path, torch.float64)).read(ids)
    exactly = dict(make_stages.stages_of(model, ids, reference.Numbers(kv=np.float64)))
    as_run = dict(make_stages.stages_of(model, ids))
    worst, turned = [], 0.0
    for stage in make_stages.STAGES:
        differences = []
        for layer in range(model.n_layer):
            a, b, c = (np.ravel(rows[layer]) for rows in (found[stage], exactly[stage], as_run[stage]))
            assert a.shape == b.shape, (stage, layer, a.shape, b.shape)
            differences.append(np.abs(a - b).max() / np.abs(a).max())
            turned = max(turned, 1 - a @ c / np.sqrt((a @ a) * (c @ c)))
        worst.append(max(differences))
    return model.n_layer, worst, turned


def models(folder, named):
    """Yields the name of each model and its file."""
    yield from make_stages.files(folder)
    for name in second_set.CASES:
        path = pathlib.Path(folder) / f"second-{name}.gguf"
        second_set.make(name, path)
        yield f"second {name}", path
    for path in named:
        yield pathlib.Path(path).stem, pathlib.Path(path)


def main():
    torch.set_num_threads(1)
    print(f"torch {torch.__version__}, transformers {transformers.__version__}, numpy {np.__version__}")
    print(f"{'model':25} layers " + " ".join(f"{stage:>9}" for stage in make_stages.STAGES) + f" {'F16':>9}")
    largest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for name, path in models(folder, sys.argv[1:]):
            try:
                layers, worst, turned = compare(name, path)
            except Exception:  # one model must not end the others
                traceback.print_exc(limit=-3)
                print(f"{name:25} could not be compared", flush=True)
                largest = np.inf
                continue
            largest = max(largest, *worst)
            print(f"{name:25} {layers:6} " + " ".join(f"{value:9.1e}" for value in [*worst, turned]), flush=True)
    print(f"largest difference {largest:.1e}, bar {BAR:.0e}")
    sys.exit(0 if largest <= BAR else 1)


if __name__ == "__main__":
    main()
