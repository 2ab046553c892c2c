"""Pictures and texts are brought together, as CLIP does.
Needs: transformers."""

import torch
from transformers import CLIPConfig, CLIPModel

config = CLIPConfig(
    text_config={"vocab_size": 3000, "hidden_size": 128, "intermediate_size": 256,
                 "num_hidden_layers": 2, "num_attention_heads": 4, "max_position_embeddings": 40},
    vision_config={"hidden_size": 192, "intermediate_size": 384, "num_hidden_layers": 3,
                   "num_attention_heads": 6, "image_size": 96, "patch_size": 16},
    projection_dim=128,
)
model = CLIPModel(config).cuda()
optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
for _ in range(3):
    result = model(
        input_ids=torch.randint(3000, (32, 40)).cuda(),
        attention_mask=torch.ones(32, 40, dtype=torch.long).cuda(),
        pixel_values=torch.randn(32, 3, 96, 96).cuda(), return_loss=True,
    )
    result.loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    with torch.no_grad():
        model.logit_scale.clamp_(0, 4.6)
right = (result.logits_per_image.argmax(1) == torch.arange(32, device="cuda")).float().mean()
print(right.item())
