"""Everything that a memory tutorial prints."""
#%%
import os
import pickle
import tempfile

import torch
import torch.nn as nn

assert torch.cuda.is_available(), "this one needs a GPU"
print(torch.__version__, torch.version.cuda, torch.backends.cudnn.version())
print(torch.cuda.device_count(), torch.cuda.get_device_name(0))
props = torch.cuda.get_device_properties(0)
print(props.name, props.total_memory // 2**20, "MiB", props.multi_processor_count)
print(torch.cuda.get_device_capability())
torch.backends.cuda.matmul.allow_tf32 = True
torch.set_float32_matmul_precision("high")
torch.backends.cudnn.benchmark = True


def show(what):
    allocated = torch.cuda.memory_allocated() / 2**20
    reserved = torch.cuda.memory_reserved() / 2**20
    print(f"{what:20s} allocated {allocated:8.2f} MiB, reserved {reserved:8.2f} MiB")


#%% record
torch.cuda.memory._record_memory_history(max_entries=100000)
show("start")


def make_activations(n):
    kept = []
    for _ in range(n):
        kept.append(torch.empty(1024, 1024, device="cuda"))
    return kept


activations = make_activations(3)
show("three of 4 MiB")
x = torch.randn(1024, 1024, device="cuda", dtype=torch.float16)
show("one of 2 MiB")
assert x.element_size() * x.nelement() == 2 * 2**20
assert torch.cuda.memory_allocated() == 14 * 2**20
del activations
show("del")
torch.cuda.empty_cache()
show("empty_cache")

#%% a model
model = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 512)).cuda()
show("model")
optimizer = torch.optim.Adam(model.parameters())
for step in range(2):
    optimizer.zero_grad(set_to_none=True)
    loss = model(torch.randn(64, 512, device="cuda")).abs().mean()
    show("forward")
    loss.backward()
    show("backward")
    optimizer.step()
    show("step")

#%% snapshot
folder = tempfile.mkdtemp()
path = os.path.join(folder, "snapshot.pickle")
torch.cuda.memory._dump_snapshot(path)
torch.cuda.memory._record_memory_history(enabled=None)
with open(path, "rb") as file:
    snapshot = pickle.load(file)
events = snapshot["device_traces"][0]
print(len(events), "events,", len(snapshot["segments"]), "segments")
first = next(e for e in events if e["action"] == "alloc" and e["size"] == 4 * 2**20)
frames = [(f["name"], os.path.basename(f["filename"])) for f in first["frames"]]
print(frames)
assert frames[0] == ("make_activations", "memory_api.py"), frames
assert first["frames"][0]["line"] == 35, first["frames"][0]

#%% what PyTorch says of itself
stats = torch.cuda.memory_stats()
print("peak", stats["allocated_bytes.all.peak"], "retries", stats["num_alloc_retries"])
print(torch.cuda.memory_summary(device=None, abbreviated=True))
free, total = torch.cuda.mem_get_info()
assert 0 < free < total
for segment in torch.cuda.memory_snapshot()[:1]:
    print(segment["total_size"], [b["state"] for b in segment["blocks"]])
torch.cuda.reset_peak_memory_stats()
torch.cuda.set_per_process_memory_fraction(0.5)
try:
    torch.empty(int(total * 0.75), dtype=torch.int8, device="cuda")
    raise SystemExit("0.75 of the device fitted into half of it")
except torch.cuda.OutOfMemoryError as error:
    print("caught:", str(error).splitlines()[0][:80])
try:
    torch.empty(total, dtype=torch.uint8, device="cuda")
except RuntimeError as error:
    assert "out of memory" in str(error)
torch.cuda.set_per_process_memory_fraction(1.0)
torch.cuda.ipc_collect()
show("end")
