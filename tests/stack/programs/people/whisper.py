"""Whisper on random sounds: spectra on the GPU, training in bfloat16.
Needs: transformers."""

import torch
from transformers import WhisperConfig, WhisperForConditionalGeneration

model = WhisperForConditionalGeneration(WhisperConfig(
    vocab_size=2000, d_model=128, encoder_layers=2, decoder_layers=2,
    encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=256,
    decoder_ffn_dim=256, max_source_positions=300, pad_token_id=0, bos_token_id=1,
    eos_token_id=2, decoder_start_token_id=1, suppress_tokens=None, begin_suppress_tokens=None,
)).cuda()
optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
bank = torch.rand(80, 201, device="cuda")
window = torch.hann_window(400, device="cuda")
for _ in range(3):
    sounds = torch.randn(4, 600 * 160).cuda()
    spectra = torch.stft(sounds, 400, 160, window=window, return_complex=True)
    features = (bank @ spectra[..., :-1].abs() ** 2).clamp(min=1e-10).log10()
    features = torch.maximum(features, features.max() - 8.0)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = model(input_features=features, labels=torch.randint(3, 2000, (4, 40)).cuda()).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
