"""`larder run` as the first of several processes."""

import os
import re
import unittest

from fit_case import HERE, Case

LAYER = (1024 * 1024 + 1024) * 4


class Distributed(Case):
    def program(self, name):
        return os.path.join(HERE, "programs", f"{name}.py")

    def test_ddp_has_the_buckets_that_pytorch_documents(self):
        trace = self.path("t.trace")
        told = self.told(
            "--world-size", "4", "--steps", "all", "--trace", trace,
            self.program("ddp"), "4",
        )
        self.assertEqual((told["how"], told["world_size"]), ("ended", 4))
        self.assertEqual(told["groups"], [4])
        with open(trace, encoding="utf-8") as file:
            sizes = [int(s) for s in re.findall(r"^a \d+ (\d+)", file.read(), re.M)]
        # What rank 0 sends before training, then the buckets: one of all at first,
        # later one that is closed at 1 MiB, and one at 25.
        self.assertEqual(
            [size for size in sizes if size % LAYER == 0],
            [8 * LAYER, 8 * LAYER, LAYER, 7 * LAYER],
        )

    def test_fsdp_keeps_shards_and_gathers_blocks(self):
        told = self.told(
            "--world-size", "4", "--steps", "all", self.program("fsdp")
        )
        self.assertEqual((told["how"], told["groups"]), ("ended", [4]))

    def test_a_mesh_cuts_layers_for_tensor_parallelism(self):
        told = self.told(
            "--world-size", "4", "--steps", "all", self.program("tensor_parallel")
        )
        self.assertEqual((told["how"], told["groups"]), ("ended", [4]))

    def test_the_first_stage_of_a_pipeline_sends_its_parts(self):
        for schedule in ("gpipe", "1f1b"):
            told = self.told(
                "--world-size", "4", "--steps", "all",
                self.program("pipeline"), schedule,
            )
            self.assertEqual((told["how"], told["steps"]), ("ended", 3))

    def test_objects_of_other_processes_are_said_not_to_come(self):
        script = self.script(
            """
            import torch.distributed as dist
            dist.init_process_group("nccl")
            dist.recv_object_list([None], src=1)
            """
        )
        run = self.run_it("--world-size", "2", script)
        self.assertEqual(run.returncode, 2)
        self.assertIn("the other processes are not there", run.stderr)

    def test_what_is_gathered_is_what_this_process_holds(self):
        script = self.script(
            """
            import torch, torch.distributed as dist
            dist.init_process_group("nccl")
            mine = torch.arange(4.0).cuda()
            whole, part = torch.zeros(8).cuda(), torch.zeros(2).cuda()
            dist.all_gather_into_tensor(whole, mine)
            assert whole.tolist() == [0, 1, 2, 3, 0, 1, 2, 3], whole
            dist.reduce_scatter_tensor(part, mine)
            assert part.tolist() == [0, 1], part
            """
        )
        told = self.told("--real-cpu", "--world-size", "2", script)
        self.assertEqual(told["groups"], [2])

    def test_nccl_is_a_line_of_its_own_on_a_card(self):
        words = ["--gpu", "a10", "--world-size", "2", "--steps", "2"]
        run = self.run_it(*words, self.program("ddp"), "2")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("544.00 MiB  NCCL communicators", run.stdout)
        self.assertIn("rank 0 of 2", run.stdout)

    def test_the_environment_says_how_many_too(self):
        os.environ["WORLD_SIZE"] = "3"
        self.addCleanup(os.environ.pop, "WORLD_SIZE")
        told = self.told("--steps", "1", self.program("ddp"), "3")
        self.assertEqual(told["world_size"], 3)

    def test_spawn_runs_the_first_process(self):
        script = self.script(
            """
            import torch.multiprocessing as mp

            def work(rank, words):
                print("rank", rank, words)

            if __name__ == "__main__":
                mp.spawn(work, args=("here",), nprocs=4)
            """
        )
        run = self.run_it("--world-size", "4", script)
        self.assertIn("rank 0 here", run.stdout)
        self.assertNotIn("rank 1", run.stdout)


if __name__ == "__main__":
    unittest.main()
