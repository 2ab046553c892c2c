"""Programs as students write them run unchanged: tests/python/programs."""

import os

import lab_case
from lab_case import HERE, RunCase

PROGRAMS = os.path.join(HERE, "programs")


class Programs(RunCase):
    def runs(self, name, *arguments):
        """What the program printed, a line each."""
        run = self.python(
            "-m",
            "larder.lab.run",
            "--no-panel",
            "--device",
            "sim:2GiB,backing=memory",
            os.path.join(PROGRAMS, name),
            *arguments,
        )
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout.splitlines()

    def test_cnn_with_batchnorm(self):
        lines = self.runs("cnn_batchnorm.py")
        self.assertIn("20,314 parameters", lines)
        self.assertEqual(sum(l.startswith("epoch") for l in lines), 3)
        # More than the weights, the momentum and the gradients.
        self.assertGreater(int(lines[-1].split()[1]), 3 * 4 * 20314)

    def test_transformer(self):
        self.assertEqual(self.runs("transformer.py")[-1], "done")

    def test_lstm(self):
        lines = self.runs("lstm.py")
        self.assertIn("torch.float32", lines[-1])

    def test_mixed_precision(self):
        lines = self.runs("mixed_precision.py")
        self.assertIn("scale 65536.0", lines)

    def test_a_siamese_net(self):
        lines = self.runs("siamese.py")
        self.assertIn("cosine torch.Size([8])", lines)

    def test_characters_of_a_text(self):
        lines = self.runs("characters.py")
        losses = [float(line.split()[1]) for line in lines[1:5]]
        self.assertLess(losses[-1], losses[0])
        self.assertTrue(lines[-2].startswith("to be "))

    def test_style_transfer(self):
        lines = self.runs("style_transfer.py")
        self.assertTrue(lines[-1].startswith("torch.Size([1, 3, 64, 64])"))

    def test_dcgan(self):
        lines = self.runs("dcgan.py")
        self.assertEqual(lines[-1], "6 (4, 3, 32, 32) tensor(True) True")

    def test_vae(self):
        lines = self.runs("vae.py")
        losses = [float(line.split()[-1]) for line in lines if "Test" in line]
        self.assertEqual(len(losses), 3)
        self.assertLess(losses[2], losses[0])

    def test_translation_with_attention(self):
        lines = self.runs("translation.py")
        self.assertLess(float(lines[2].split()[2]), float(lines[0].split()[2]))
        self.assertEqual(lines[-1], "torch.Size([1, 8, 8]) True")

    def test_hooks_of_tensors(self):
        lines = self.runs("grad_cam.py")
        self.assertEqual(lines, ["clamped True", "free True",
                                 "torch.Size([1, 1, 32, 32]) 10 True"])

    def test_dataloader_with_workers(self):
        lines = self.runs("data_workers.py")
        self.assertEqual(lines[-3:], ["(4, 4) 10", "(4, 8) 26", "done"])

    def test_memory_api(self):
        lines = self.runs("memory_api.py")
        self.assertIn(
            "three of 4 MiB       allocated    12.00 MiB, "
            "reserved    20.00 MiB",
            lines,
        )
        self.assertTrue(any(l.startswith("caught: ") for l in lines))

    def test_accumulation(self):
        self.assertEqual(self.runs("accumulation.py")[-1], "done")
        self.assertEqual(
            self.runs("accumulation.py", "--accumulate", "2")[-1], "done"
        )

    def test_save_and_load(self):
        lines = self.runs("save_load.py")
        self.assertIn("<All keys matched successfully>", lines)

    def test_q_learning(self):
        lines = self.runs("q_learning.py")
        self.assertEqual(lines[-1], "Complete torch.Size([6])")

    def test_unet(self):
        self.assertEqual(self.runs("unet.py")[-1], "done True")

    def test_vision_transformer(self):
        lines = self.runs("vision_transformer.py")
        self.assertEqual(sum(l.startswith("step") for l in lines), 6)
        self.assertEqual(lines[-1], "torch.Size([16]) True 16.0")

    def test_lora(self):
        lines = self.runs("lora.py")
        self.assertIn("trainable params: 9,984 of 851,584", lines)
        self.assertIn("12 True []", lines)

    def test_diffusion(self):
        lines = self.runs("diffusion.py")
        self.assertIn("torch.Size([40, 2, 1, 16, 16]) True", lines)

    def test_graphs(self):
        self.assertEqual(self.runs("graphs.py")[-1],
                         "True torch.Size([5]) True")

    def test_packed_sequences(self):
        lines = self.runs("packed_sequences.py")
        self.assertIn("48 True", lines)
        self.assertTrue(lines[-1].startswith("episode 2"))

    def test_each_is_run(self):
        names = {name for name in dir(self) if name.startswith("test_")}
        self.assertEqual(len(names) - 1, len(os.listdir(PROGRAMS)))


if __name__ == "__main__":
    lab_case.main()
