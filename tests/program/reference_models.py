"""Gives the reference models of program/families, which transformers computed; families/README.md says how."""
import pathlib
import sys
import tarfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "families"))
import make_dense_references  # noqa: E402

ARCHIVE = pathlib.Path(__file__).resolve().parent / "families" / "families.tar.xz"


def unpack(folder, names=None):
    """Writes the models, or those of these names, into the folder. Returns name -> (path, arrays of the .npz or None).

    The arrays are ids [n], logits [n, n_vocab], and hidden [n_layer, n_embd] of the last token, the last row of which
    has gone through output_norm; those of make_dense_references are made here and have no hidden. Models of
    the archive that have no arrays are of no use.
    """
    models = {}
    with tarfile.open(ARCHIVE) as archive:
        for member in archive:
            name = pathlib.Path(member.name).stem
            if names is None or name in names:
                (folder / member.name).write_bytes(archive.extractfile(member).read())
                path, arrays = models.get(name, (None, None))
                if member.name.endswith(".npz"):
                    models[name] = (path, dict(np.load(folder / member.name)))
                else:
                    models[name] = (folder / member.name, arrays)
    models.update(make_dense_references.unpack(folder, names))
    return models
