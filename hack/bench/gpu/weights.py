"""Writes a model with random weights in the layout of the transformers library, so that an engine can be measured without a download.

usage: weights.py CONFIG.json FOLDER            a model
       weights.py --adapter CONFIG.json FOLDER RANK    a LoRA adapter for it (all linear layers)
"""

import json
import os
import sys

import torch
from safetensors.torch import save_file


def linear_layers(config):
    """Yields (name, inputs, outputs) of each linear layer."""
    hidden, head = config["hidden_size"], config["head_dim"]
    queries, keys = config["num_attention_heads"] * head, config["num_key_value_heads"] * head
    wide = config["intermediate_size"]
    for layer in range(config["num_hidden_layers"]):
        at = f"model.layers.{layer}"
        yield f"{at}.self_attn.q_proj", hidden, queries
        yield f"{at}.self_attn.k_proj", hidden, keys
        yield f"{at}.self_attn.v_proj", hidden, keys
        yield f"{at}.self_attn.o_proj", queries, hidden
        yield f"{at}.mlp.gate_proj", hidden, wide
        yield f"{at}.mlp.up_proj", hidden, wide
        yield f"{at}.mlp.down_proj", wide, hidden


def random(*shape):
    return (torch.randn(*shape, device="cuda", dtype=torch.bfloat16) * 0.02).cpu()


def write_model(config, folder):
    tensors = {name + ".weight": random(outputs, inputs) for name, inputs, outputs in linear_layers(config)}
    hidden, vocabulary = config["hidden_size"], config["vocab_size"]
    biased = config["architectures"][0] == "Qwen2ForCausalLM"
    for layer in range(config["num_hidden_layers"]):
        at = f"model.layers.{layer}"
        for norm in ("input_layernorm", "post_attention_layernorm"):
            tensors[f"{at}.{norm}.weight"] = torch.ones(hidden, dtype=torch.bfloat16)
        if biased:
            for part in "qkv":
                name = f"{at}.self_attn.{part}_proj"
                tensors[name + ".bias"] = torch.zeros(tensors[name + ".weight"].shape[0], dtype=torch.bfloat16)
    tensors["model.norm.weight"] = torch.ones(hidden, dtype=torch.bfloat16)
    tensors["model.embed_tokens.weight"] = random(vocabulary, hidden)
    tensors["lm_head.weight"] = random(vocabulary, hidden)
    save_file(tensors, os.path.join(folder, "model.safetensors"), metadata={"format": "pt"})
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(config, file)
    write_tokenizer(folder)


def write_tokenizer(folder):
    """A tokenizer of bytes: small, and able to write JSON."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    special = ["<|end|>", "<|user|>", "<|assistant|>", "<|system|>"]
    vocabulary = {token: at for at, token in enumerate(special + alphabet)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(special)
    tokenizer.save(os.path.join(folder, "tokenizer.json"))
    chat = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
    with open(os.path.join(folder, "tokenizer_config.json"), "w") as file:
        json.dump({"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|end|>", "pad_token": "<|end|>", "chat_template": chat}, file)


def write_adapter(config, folder, rank):
    tensors = {}
    for name, inputs, outputs in linear_layers(config):
        tensors[f"base_model.model.{name}.lora_A.weight"] = random(rank, inputs)
        tensors[f"base_model.model.{name}.lora_B.weight"] = random(outputs, rank)
    save_file(tensors, os.path.join(folder, "adapter_model.safetensors"))
    modules = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
    with open(os.path.join(folder, "adapter_config.json"), "w") as file:
        json.dump({"peft_type": "LORA", "task_type": "CAUSAL_LM", "r": rank, "lora_alpha": rank, "target_modules": modules, "bias": "none"}, file)


words = sys.argv[1:]
adapter = words[0] == "--adapter"
path, target = words[1:3] if adapter else words[:2]
os.makedirs(target, exist_ok=True)
with open(path) as source:
    described = json.load(source)
if adapter:
    write_adapter(described, target, int(words[3]))
else:
    write_model(described, target)
