"""The shape of the model."""
SHAPE = dict(dim=512, ffn=1408, layers=8, heads=8, kv=2, ctx=1024, base=10000.0, eps=1e-5)
