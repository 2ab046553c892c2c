"""Models of language, from transformers, with random weights."""

import torch
import transformers
from torch import nn

DEVICE = "cuda"


def tokens(vocabulary, batch, length):
    return torch.randint(0, vocabulary, (batch, length), device=DEVICE)


def causal(config, options, batch, length, factory):
    model = factory(config)
    if options.checkpoint:
        model.gradient_checkpointing_enable(
            gradient_checkpointing_kwargs={"use_reentrant": False}
        )
    model.to(DEVICE).train()

    def loss():
        words = tokens(config.vocab_size, batch, length)
        return model(input_ids=words, labels=words).loss

    return model, loss


def gpt2(options):
    config = transformers.GPT2Config()
    return causal(config, options, 4, 512, transformers.GPT2LMHeadModel)


def gpt2_medium(options):
    config = transformers.GPT2Config(n_embd=1024, n_layer=24, n_head=16)
    return causal(config, options, 2, 1024, transformers.GPT2LMHeadModel)


def _llama_config():
    return transformers.LlamaConfig(
        hidden_size=1024,
        intermediate_size=2816,
        num_hidden_layers=8,
        num_attention_heads=16,
        num_key_value_heads=4,
    )


def llama(options):
    return causal(_llama_config(), options, 4, 512, transformers.LlamaForCausalLM)


class Adapted(nn.Module):
    """A layer that stays, and two thin ones beside it that learn."""

    def __init__(self, base, rank=8):
        super().__init__()
        self.base = base
        self.down = nn.Parameter(
            torch.randn(rank, base.in_features, device=DEVICE) * 0.01
        )
        self.up = nn.Parameter(torch.zeros(base.out_features, rank, device=DEVICE))

    def forward(self, data):
        return self.base(data) + 2 * (data @ self.down.T) @ self.up.T


def lora(options):
    model, loss = llama(options)
    if options.checkpoint:
        model.enable_input_require_grads()
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    for layer in model.model.layers:
        layer.self_attn.q_proj = Adapted(layer.self_attn.q_proj)
        layer.self_attn.v_proj = Adapted(layer.self_attn.v_proj)
    return model, loss


def bert(options):
    config = transformers.BertConfig()
    model = transformers.BertForSequenceClassification(config)
    if options.checkpoint:
        model.gradient_checkpointing_enable()
    model.to(DEVICE).train()

    def loss():
        return model(
            input_ids=tokens(config.vocab_size, 16, 128),
            attention_mask=torch.ones(16, 128, dtype=torch.long, device=DEVICE),
            labels=torch.randint(0, 2, (16,), device=DEVICE),
        ).loss

    return model, loss


def moe(options):
    config = transformers.MixtralConfig(
        hidden_size=512,
        intermediate_size=1024,
        num_hidden_layers=4,
        num_attention_heads=8,
        num_key_value_heads=2,
        num_local_experts=4,
    )
    return causal(config, options, 4, 256, transformers.MixtralForCausalLM)
