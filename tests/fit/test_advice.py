"""`larder run --advise`: what would save memory, found by running with it."""

import unittest

from fit_case import Case

BLOCKS = """
    import torch
    from torch import nn

    batch_size = 2048

    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.wide = nn.Linear(width, 4 * width)
            self.narrow = nn.Linear(4 * width, width)

        def forward(self, data):
            return data + self.narrow(torch.relu(self.wide(data)))

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList(Block(256) for _ in range(6))

        def forward(self, data):
            for block in self.blocks:
                data = block(data)
            return data.square().mean()

    model = Net().cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(20):
        optimizer.zero_grad()
        model(torch.randn(batch_size, 256, device="cuda")).backward()
        optimizer.step()
"""

LOADER = """
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    model = torch.nn.Linear(256, 256).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for data, in DataLoader(TensorDataset(torch.zeros(65536, 256)), batch_size=8192):
        model(data.cuda()).relu().sum().backward()
        optimizer.step()
        optimizer.zero_grad()
"""


def of(advice, words):
    found = [one for one in advice if words in one["title"]]
    return found[0] if found else None


class Advice(Case):
    known = {}  # by a program's text: each is run seven times

    def advised(self, text):
        if text not in self.known:
            told = self.told("--advise", "always", self.script(text))
            self.known[text] = told["needed_bytes"]["default"], told["advice"]
        return self.known[text]

    def test_each_change_is_run_and_named(self):
        need, advice = self.advised(BLOCKS)
        for words in (
            "checkpointing of blocks (6 Block)",
            "autocast to bfloat16",
            "SGD without momentum instead of AdamW",
            "AdamW with 8-bit state",
            "batch_size = 2048 to 1024",
        ):
            self.assertIsNotNone(of(advice, words), (words, advice))
        for one in advice:
            self.assertLess(one["need"], need)
        best = advice[-1]
        self.assertEqual(best["changes"], ["checkpoint", "half", "adam8bit"])
        self.assertEqual(min(one["need"] for one in advice), best["need"])

    def test_what_checkpoints_save_is_what_they_save_in_the_program(self):
        _, advice = self.advised(BLOCKS)
        by_hand = BLOCKS.replace(
            "data = block(data)",
            "data = torch.utils.checkpoint.checkpoint(block, data, use_reentrant=False)",
        ).replace("import torch\n", "import torch, torch.utils.checkpoint\n", 1)
        told = self.told(self.script(by_hand))
        self.assertEqual(
            of(advice, "checkpointing of blocks")["need"],
            told["needed_bytes"]["default"],
        )

    def test_what_autocast_saves_is_what_it_saves_in_the_program(self):
        _, advice = self.advised(BLOCKS)
        by_hand = BLOCKS.replace(
            "            return data.square().mean()",
            "            return data.square().mean()\n\n"
            "        forward = torch.autocast('cuda', torch.bfloat16)(forward)",
        )
        told = self.told(self.script(by_hand))
        self.assertEqual(
            of(advice, "autocast")["need"], told["needed_bytes"]["default"]
        )

    def test_a_loader_is_halved_and_what_finds_nothing_says_nothing(self):
        _, advice = self.advised(LOADER)
        self.assertIsNotNone(of(advice, "the loader's 8192 to 4096"), advice)
        self.assertIsNone(of(advice, "checkpointing"), advice)
        self.assertIsNone(of(advice, "8 bits"), advice)
        self.assertIsNone(of(advice, "SGD"), advice)

    def test_it_comes_by_itself_where_the_program_does_not_fit(self):
        script = self.script("import torch\ntorch.zeros(1 << 20, device='cuda')\n")
        small = ("--device", "sim:2MiB")
        run = self.run_it(*small, script)
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertIn("none of the changes tried", run.stdout)
        run = self.run_it(*small, "--advise", "never", script)
        self.assertNotIn("none of the changes tried", run.stdout)
        self.assertNotIn("none of the changes tried", self.run_it(script).stdout)


if __name__ == "__main__":
    unittest.main()
