"""A latent-diffusion pipeline of diffusers, in float16, from a prompt's embedding.
Needs: diffusers, transformers, accelerate."""

import torch
from diffusers import AutoencoderKL, DDIMScheduler, StableDiffusionPipeline, UNet2DConditionModel
from transformers import CLIPTextConfig, CLIPTextModel

unet = UNet2DConditionModel(
    sample_size=32, in_channels=4, out_channels=4, layers_per_block=1,
    block_out_channels=(32, 64), cross_attention_dim=64, attention_head_dim=8,
    down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
    up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
)
vae = AutoencoderKL(
    block_out_channels=(32, 64), in_channels=3, out_channels=3, latent_channels=4,
    down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
)
text = CLIPTextModel(CLIPTextConfig(hidden_size=64, intermediate_size=128,
                                    num_hidden_layers=2, num_attention_heads=4))
pipe = StableDiffusionPipeline(
    vae=vae, text_encoder=text, tokenizer=None, unet=unet, scheduler=DDIMScheduler(),
    safety_checker=None, feature_extractor=None, requires_safety_checker=False,
).to("cuda", torch.float16)
pipe.set_progress_bar_config(disable=True)
said = torch.randn(1, 77, 64, device="cuda", dtype=torch.float16)
images = pipe(prompt_embeds=said, negative_prompt_embeds=torch.zeros_like(said),
              num_inference_steps=4, num_images_per_prompt=2, height=128, width=128).images
print(len(images), images[0].size)
