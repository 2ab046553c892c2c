"""A tensor of the GPU goes to another process, which writes to it."""

import torch
import torch.multiprocessing as mp


def child(there, back):
    got = there.get()
    back.put((got.device.type, got.cpu().tolist(), torch.cuda.memory_reserved()))
    got.copy_(torch.arange(4.0) + 10)
    torch.cuda.synchronize()
    back.put("written")
    del got


if __name__ == "__main__":
    mp.set_start_method("spawn")
    there, back = mp.Queue(), mp.Queue()
    process = mp.Process(target=child, args=(there, back))
    process.start()
    sent = torch.arange(4.0).cuda()
    there.put(sent)
    assert back.get() == ("cuda", [0.0, 1.0, 2.0, 3.0], 0)
    assert back.get() == "written"
    process.join()
    assert process.exitcode == 0, process.exitcode
    assert sent.tolist() == [10.0, 11.0, 12.0, 13.0], sent.tolist()
    print("passed on")
