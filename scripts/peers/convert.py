"""Writes a GGUF model as a bf16 folder that vLLM and the load tools read: weights, configuration and tokenizer.

    convert.py MODEL.gguf FOLDER
"""
import json
import os
import sys

import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, AutoTokenizer

gguf, out = sys.argv[1:]
folder, file = os.path.split(os.path.abspath(gguf))
os.makedirs(out)
AutoTokenizer.from_pretrained(folder, gguf_file=file).save_pretrained(out)
model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=file, dtype=torch.bfloat16)
config = model.config.to_dict()
config.pop("quantization_config", None)
config |= {"architectures": ["LlamaForCausalLM"], "tie_word_embeddings": True, "dtype": "bfloat16"}
with open(os.path.join(out, "config.json"), "w") as f:
    json.dump(config, f, indent=2)
# The output matrix is the embedding: vLLM ties them itself.
weights = {k: v.to(torch.bfloat16).contiguous() for k, v in model.state_dict().items() if k != "lm_head.weight"}
save_file(weights, os.path.join(out, "model.safetensors"), metadata={"format": "pt"})
