"""larder.torch.enable(): what it changes, and when it refuses."""

import unittest

import torch_case
from torch_case import C10, TorchCase

ENABLE = "import torch, larder.torch\nlarder.torch.enable()\n"


class Enabling(TorchCase):
    def test_memory_comes_from_larder(self):
        self.program(
            """
            x = torch.empty(1 << 20)
            assert x.data_ptr() % 512 == 0 and x.data_ptr() > 0
            assert torch.cuda.memory_allocated() == 1 << 20
            assert torch.cuda.memory.memory_allocated(0) == 1 << 20
            assert torch.cuda.memory_allocated("cuda:1") == 0
            del x
            assert torch.cuda.memory_allocated() == 0
            assert torch.cuda.max_memory_allocated() == 1 << 20
            assert larder.torch.is_enabled()
            """
        )

    def test_every_hook_is_set_with_its_function(self):
        self.program(
            """
            import ctypes
            from larder.torch import _plugin
            from torch import _allocators
            hooks = _allocators.current.hooks
            names = dict(init="init", reset="reset", fraction="fraction",
                         base="base", record_stream="record_stream",
                         begin="begin_pool", end="end_pool",
                         release="release_pool")
            assert hooks == {
                hook: _plugin.address("larder_torch_" + name)
                for hook, name in names.items()}, hooks
            """
        )

    def test_recorded_streams_reach_larder(self):
        self.program(
            """
            x = torch.empty(4096, stream=5)
            first = x.data_ptr()
            x.record_stream(7)
            del x
            stats = torch.cuda.memory_stats()
            assert stats["active_bytes.all.current"] == 4096, stats
            assert stats["allocated_bytes.all.current"] == 0
            """,
            LARDER_TORCH_DEVICE="sim:256MiB,events=manual",
        )

    def test_cuda_in_use_is_refused(self):
        self.refused(
            "import torch, larder.torch\n"
            "x = torch.empty(1)\nlarder.torch.enable()",
            "CUDA is already initialized",
        )

    def test_nccl_is_the_engine_that_asks_for_no_snapshot(self):
        self.program("import os; assert os.environ['TORCH_DIST_USE_NCCL2'] == '0'")
        self.program(
            "import os; assert os.environ['TORCH_DIST_USE_NCCL2'] == '1'",
            TORCH_DIST_USE_NCCL2="1",
        )

    def test_old_versions_are_refused(self):
        self.refused(
            "import torch, larder.torch\n"
            "del torch.cuda.memory.change_current_allocator\n"
            "larder.torch.enable()",
            "has no torch.cuda.memory.change_current_allocator: 2.0 or newer",
        )
        self.refused(
            ENABLE,
            "has no set_record_stream_fn",
            TORCH_DOUBLE_LACKS="set_record_stream_fn",
        )

    def test_a_build_without_cuda_is_refused(self):
        self.refused(
            "import torch, larder.torch\n"
            "torch.version.cuda = None\nlarder.torch.enable()",
            "was built without CUDA",
        )

    def test_arguments_of_other_types_are_refused(self):
        for arguments, words in (
            ("conf=5", "TypeError: conf: expected text, but got: 5"),
            ("policy=2", "TypeError: policy: expected text"),
            ("devices=['sim:1GiB']", "TypeError: devices: expected the spec"),
            ("devices={0: 1}", "TypeError: devices: expected the spec"),
            ("devices=''", "ValueError: devices: the spec of a device is empty"),
        ):
            self.refused(
                f"import torch, larder.torch\nlarder.torch.enable({arguments})",
                words,
            )

    def test_a_version_without_pool_hooks_is_warned_of(self):
        run = self.run_python(
            "-c",
            ENABLE + "print([u.feature for u in larder.torch.unsupported()])",
            TORCH_DOUBLE_LACKS="set_release_pool",
        )
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("do not capture graphs", run.stderr)
        self.assertIn("CUDA graphs", run.stdout)

    def test_bad_settings_are_refused_and_change_nothing(self):
        for arguments, words in (
            ("'limit:lots'", "limit: 'lots' is not accepted"),
            ("policy='best'", "best"),
            ("'backend:cudaMallocAsync'", "does not model"),
        ):
            self.refused(
                "import torch, larder.torch\n"
                "from torch import _allocators\n"
                "try:\n"
                f"    larder.torch.enable({arguments})\n"
                "except ValueError:\n"
                "    assert _allocators.current.name == 'native'\n"
                "    torch.cuda.memory_stats()\n"
                "    raise\n",
                words,
            )

    def test_settings_come_from_the_environment(self):
        text = "print(torch.cuda.get_per_process_memory_fraction())"
        text = text.replace("cuda.get", "cuda.memory.get")
        conf = "per_process_memory_fraction:0."
        self.assertEqual(
            self.program(text, PYTORCH_CUDA_ALLOC_CONF=conf + "5"), "0.5\n"
        )
        self.assertEqual(
            self.program(
                text,
                PYTORCH_CUDA_ALLOC_CONF=conf + "5",
                LARDER_CONF=conf + "25",
            ),
            "0.25\n",
        )
        self.assertEqual(
            self.program(text, enable=f"'{conf}125'", LARDER_CONF=conf + "5"),
            "0.125\n",
        )

    def test_twice_the_same_is_nothing_and_other_settings_refused(self):
        self.program(
            """
            larder.torch.enable()
            try:
                larder.torch.enable("limit:1GiB")
            except RuntimeError as error:
                assert "with other settings" in str(error)
            else:
                sys.exit(1)
            """
        )

    def test_devices_can_be_named(self):
        self.program(
            """
            assert torch.empty(64 << 20, device="cuda:0").data_ptr()
            assert torch.empty(64 << 20, device="cuda:1").data_ptr()
            text = torch.cuda.memory_summary(1)
            assert "device ID" in text
            """,
            enable="devices={1: 'sim:128MiB', 0: 'sim:512MiB'}",
        )

    def test_a_policy_can_be_named(self):
        self.program(
            """
            x = torch.empty(300)
            assert torch.cuda.memory_allocated() == 512  # not cut further
            settings = torch.cuda.memory._snapshot()["larder"]
            assert "direct" in str(settings), settings
            """,
            enable="policy='direct'",
        )


@unittest.skipUnless(C10, "no C++ compiler")
class RunningOut(TorchCase):
    def test_it_raises_pytorch_s_error_with_the_explanation(self):
        self.program(
            """
            kept = torch.empty(100 << 20)
            try:
                torch.empty(200 << 20)
            except torch.cuda.OutOfMemoryError as error:
                assert type(error) is torch.OutOfMemoryError
                assert "Tried to allocate 200.00 MiB" in str(error), error
                assert "is allocated by Larder" in str(error)
            else:
                sys.exit(1)
            assert larder.torch.raises_out_of_memory_error()
            assert larder.torch.OutOfMemoryError is torch.OutOfMemoryError
            assert larder.torch.error_count() == 1
            assert "200.00 MiB" in larder.torch.last_error()
            del kept
            x = torch.empty(200 << 20)
            assert torch.cuda.memory_stats()["num_ooms"] == 1
            """
        )

    def test_what_is_no_lack_of_memory_is_runtime_error(self):
        self.program(
            """
            try:
                torch.empty(1 << 20, device="cuda:1")
            except RuntimeError as error:
                assert not isinstance(error, torch.OutOfMemoryError)
                assert "sim:256MiB" in str(error), error
            else:
                sys.exit(1)
            """,
            LARDER_TORCH_DEVICE="sim:256MiB",
        )


class Pools(TorchCase):
    def test_mem_pool_takes_the_function_that_returns_null(self):
        run = self.run_python(
            "-c",
            "import torch, larder.torch\n"
            "from larder.torch import _plugin\n"
            "pool = larder.torch.MemPool(use_on_oom=True)\n"
            "assert pool.use_on_oom and pool.id == (0, 1)\n"
            "with pool.use():\n"
            "    assert pool.pool.begun\n"
            "assert not pool.begun\n"
            "inner = pool.allocator\n"
            "assert inner._alloc == _plugin.address('larder_torch_pool_alloc')\n"
            "assert inner.malloc(1 << 40, 0, 0) is None\n"
            "ptr = inner.malloc(1 << 21, 0, 0)\n"
            "assert ptr\n"
            "inner.free(ptr)\n"
            "assert not larder.torch.is_enabled()\n",
        )
        self.assertEqual(run.returncode, 0, run.stderr)

    def test_without_mem_pool_it_says_so(self):
        self.refused(
            "import torch, larder.torch\ndel torch.cuda.MemPool\n"
            "larder.torch.MemPool()",
            "has no torch.cuda.MemPool: 2.5 or newer",
        )

    def test_what_is_unsupported_is_listed(self):
        run = self.run_python(
            "-c",
            "import larder.torch\n"
            "for u in larder.torch.unsupported():\n"
            "    assert all(u), u\n"
            "    print(u.feature)",
        )
        self.assertEqual(run.returncode, 0, run.stderr)
        for words in ("cudnn.benchmark", "multiprocessing", "MemPool"):
            self.assertIn(words, run.stdout)


if __name__ == "__main__":
    torch_case.main()
