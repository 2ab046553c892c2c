"""Automatic mixed precision: float32, float16 with a scaler, bfloat16."""
#%%
import gc
import time

import torch
import torch.nn as nn
from torch.cuda.amp import GradScaler, autocast

torch.manual_seed(0)
device = "cuda"
start_time = None


def start_timer():
    global start_time
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    torch.cuda.synchronize()
    start_time = time.time()


def end_timer_and_print(local_msg):
    torch.cuda.synchronize()
    end_time = time.time()
    print("\n" + local_msg)
    print("Total execution time = {:.3f} sec".format(end_time - start_time))
    peak = torch.cuda.max_memory_allocated()
    print("Max memory used by tensors = {} bytes".format(peak))
    return peak


def make_model(in_size, out_size, num_layers):
    layers = []
    for _ in range(num_layers - 1):
        layers.append(nn.Linear(in_size, in_size))
        layers.append(nn.ReLU())
    layers.append(nn.Linear(in_size, out_size))
    return nn.Sequential(*tuple(layers)).cuda()


batch_size, in_size, out_size, num_layers = 512, 64, 64, 9
data = [torch.randn(batch_size, in_size, device=device) for _ in range(4)]
targets = [torch.randn(batch_size, out_size, device=device) for _ in range(4)]
loss_fn = torch.nn.MSELoss().cuda()

#%% default precision
net = make_model(in_size, out_size, num_layers)
opt = torch.optim.SGD(net.parameters(), lr=0.001)
start_timer()
for input, target in zip(data, targets):
    output = net(input)
    loss = loss_fn(output, target)
    loss.backward()
    opt.step()
    opt.zero_grad()
in_float32 = end_timer_and_print("Default precision:")

#%% with autocast and a scaler
net = make_model(in_size, out_size, num_layers)
opt = torch.optim.SGD(net.parameters(), lr=0.001)
use_amp = True
scaler = torch.amp.GradScaler("cuda", enabled=use_amp)
start_timer()
for input, target in zip(data, targets):
    with torch.autocast(device_type=device, dtype=torch.float16, enabled=use_amp):
        output = net(input)
        assert output.dtype is torch.float16
        loss = loss_fn(output, target)
        assert loss.dtype is torch.float32
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    torch.nn.utils.clip_grad_norm_(net.parameters(), max_norm=0.1)
    scaler.step(opt)
    scaler.update()
    opt.zero_grad()
mixed = end_timer_and_print("Mixed precision:")
print("scale", scaler.get_scale())
assert all(p.dtype == torch.float32 for p in net.parameters())
assert mixed < in_float32

#%% the older spelling, and saving all of it
checkpoint = {
    "model": net.state_dict(),
    "optimizer": opt.state_dict(),
    "scaler": scaler.state_dict(),
}
scaler = GradScaler()
scaler.load_state_dict(checkpoint["scaler"])
with autocast():
    loss = loss_fn(net(data[0]), targets[0])
scaler.scale(loss).backward()
scaler.step(opt)
scaler.update()

#%% an overflow is noticed, and the step left out
before = net[0].weight.detach().clone()
net[0].weight.grad.fill_(float("inf"))
scale = scaler.get_scale()
scaler.step(opt)
scaler.update()
assert torch.equal(net[0].weight, before)
assert scaler.get_scale() == scale / 2

#%% bfloat16 throughout
net = make_model(in_size, out_size, num_layers).to(torch.bfloat16)
opt = torch.optim.AdamW(net.parameters(), lr=0.001)
for input, target in zip(data, targets):
    loss = loss_fn(net(input.bfloat16()), target.to(torch.bfloat16))
    opt.zero_grad()
    loss.backward()
    opt.step()
assert net[0].weight.element_size() == 2
assert opt.state[net[0].weight]["exp_avg"].dtype == torch.bfloat16
print("bfloat16 loss", round(loss.float().item(), 2))
