#!/usr/bin/env python3
"""Measure llama.cpp's decode with some layers on a GPU and the others on the CPU, beside bench/budgets.py.

    bench/llama_layers.py LIBRARIES MODEL.gguf OUT.csv 8 16 24 31 [--threads 12]

LIBRARIES is a folder with llama.cpp's libraries, as the Vulkan build of node-llama-cpp brings them. A row is a number of
layers (n_gpu_layers): the bytes that llama.cpp says to have on the device, and tokens/s (the median of three times 24).
"""
import argparse
import ctypes as c
import re
import statistics
import time
from pathlib import Path


class ModelParams(c.Structure):
    _fields_ = [("devices", c.c_void_p), ("overrides", c.c_void_p), ("n_gpu_layers", c.c_int32), ("rest", c.c_ubyte * 172)]


class ContextParams(c.Structure):
    _fields_ = [("n_ctx", c.c_uint32), ("n_batch", c.c_uint32), ("rest", c.c_uint32 * 62)]


class Batch(c.Structure):
    _fields_ = [("n", c.c_int32), ("token", c.c_void_p), ("embd", c.c_void_p), ("pos", c.c_void_p), ("n_seq", c.c_void_p),
                ("seq", c.c_void_p), ("logits", c.c_void_p)]


LOG = c.CFUNCTYPE(None, c.c_int, c.c_char_p, c.c_void_p)


def load(folder):
    """Returns llama.cpp's library, with the types of what is called."""
    base, ggml, llama = (c.CDLL(str(next(folder.glob(pattern))), mode=c.RTLD_GLOBAL)
                         for pattern in ("libggml-base*", "libggml.*", "libllama.*"))
    ggml.ggml_backend_load_all_from_path(c.c_char_p(str(folder).encode()))
    for name, result, arguments in (
            ("llama_model_default_params", ModelParams, []), ("llama_context_default_params", ContextParams, []),
            ("llama_model_load_from_file", c.c_void_p, [c.c_char_p, ModelParams]),
            ("llama_init_from_model", c.c_void_p, [c.c_void_p, ContextParams]),
            ("llama_set_n_threads", None, [c.c_void_p, c.c_int32, c.c_int32]),
            ("llama_batch_get_one", Batch, [c.c_void_p, c.c_int32]), ("llama_decode", c.c_int32, [c.c_void_p, Batch]),
            ("llama_synchronize", None, [c.c_void_p]), ("llama_free", None, [c.c_void_p]),
            ("llama_model_free", None, [c.c_void_p]), ("llama_log_set", None, [LOG, c.c_void_p])):
        getattr(llama, name).restype, getattr(llama, name).argtypes = result, arguments
    llama.keep = base, ggml
    return llama


def measure(llama, model, layers, threads):
    """Returns bytes on the device and tokens/s."""
    sizes = []
    log = LOG(lambda level, text, data: sizes.extend(
        re.findall(r"Vulkan0 .*buffer size = +([0-9.]+) MiB", text.decode(errors="replace"))))
    llama.llama_log_set(log, None)
    of_model = llama.llama_model_default_params()
    of_model.n_gpu_layers = layers
    loaded = llama.llama_model_load_from_file(str(model).encode(), of_model)
    of_context = llama.llama_context_default_params()
    of_context.n_ctx = of_context.n_batch = 512
    context = llama.llama_init_from_model(loaded, of_context)
    llama.llama_set_n_threads(context, threads, threads)

    def run(ids):
        tokens = (c.c_int32 * len(ids))(*ids)
        assert llama.llama_decode(context, llama.llama_batch_get_one(tokens, len(ids))) == 0
        llama.llama_synchronize(context)

    run([100 + 37 * i for i in range(30)])
    rates = []
    for turn in range(3):
        start = time.time()
        for i in range(24):
            run([1000 + 31 * i + turn])
        rates.append(24 / (time.time() - start))
    llama.llama_free(context)
    llama.llama_model_free(loaded)
    return int(sum(map(float, sizes)) * 2**20), statistics.median(rates)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("layers", type=int, nargs="+")
    parser.add_argument("--threads", type=int, default=12)
    o = parser.parse_args()
    llama = load(o.libraries)
    llama.llama_backend_init()
    with o.out.open("w") as out:
        print("name,on_device,decode", file=out)
        for layers in o.layers:
            on_device, rate = measure(llama, o.model, layers, o.threads)
            print(f"llama.cpp,{on_device},{rate:.1f}", file=out, flush=True)


if __name__ == "__main__":
    main()
