"""torch.cuda's functions under larder.torch: statistics, snapshots, history."""

import json
import os
import subprocess
import unittest

import torch_case
from torch_case import C10, TorchCase

# What PyTorch's own test recomputes from memory_snapshot().
RECOMPUTE = """
def recomputed(device):
    expected = {}
    def add(name, pool, value):
        for p in ("all", pool):
            key = f"{name}.{p}.current"
            expected[key] = expected.get(key, 0) + value
    for segment in torch.cuda.memory_snapshot():
        if segment["device"] != device:
            continue
        pool = segment["segment_type"] + "_pool"
        if not segment["is_expandable"]:
            add("segment", pool, 1)
        add("reserved_bytes", pool, segment["total_size"])
        add("allocated_bytes", pool, segment["allocated_size"])
        add("active_bytes", pool, segment["active_size"])
        add("requested_bytes", pool, segment["requested_size"])
        alone = len(segment["blocks"]) == 1
        for block in segment["blocks"]:
            if block["state"] == "active_allocated":
                add("allocation", pool, 1)
            if block["state"].startswith("active_"):
                add("active", pool, 1)
            elif not alone and not segment["is_expandable"]:
                add("inactive_split", pool, 1)
                add("inactive_split_bytes", pool, block["size"])
    return expected

def compare(device):
    stats = torch.cuda.memory_stats(device)
    expected = recomputed(device)
    wrong = {k: (v, stats[k]) for k, v in expected.items() if stats[k] != v}
    assert not wrong, wrong
    zero = [k for k, v in stats.items() if k.endswith(".current")
            and v and k not in expected and "oversize" not in k]
    assert not zero, zero
"""


class Statistics(TorchCase):
    def test_they_equal_the_snapshot_s_sums(self):
        self.program(
            RECOMPUTE
            + """
kept = []
for n in (1, 513, 700 << 10, 3 << 20, 12 << 20, 1000, 30 << 20, 100):
    for device in (0, 1):
        kept.append(torch.empty(n + device, device=f"cuda:{device}"))
    compare(0), compare(1)
for i in (12, 5, 2, 9, 1):
    del kept[i]
    compare(0), compare(1)
torch.cuda.empty_cache()
compare(0), compare(1)
assert len(torch.cuda.memory_snapshot()) >= 4
""",
            LARDER_TORCH_DEVICE="sim:256MiB,count=2",
        )

    def test_the_keys_are_pytorch_s(self):
        self.program(
            """
            assert torch.cuda.memory_stats() == {}
            assert torch.cuda.memory_allocated() == 0
            assert torch.cuda.memory_snapshot() == []
            assert not torch.cuda.is_initialized()
            torch.empty(1)
            stats = torch.cuda.memory_stats()
            assert list(stats) == sorted(stats)
            assert len(stats) == 9 * 3 * 4 + 2 * 4 + 7, len(stats)
            assert stats["max_split_size"] == -1
            nested = torch.cuda.memory_stats_as_nested_dict()
            assert (nested["segment"]["small_pool"]["allocated"]
                    == stats["segment.small_pool.allocated"] == 1)
            assert nested["num_ooms"] == 0
            """,
            enable="policy='pytorch'",
        )

    def test_peaks_and_sums_are_reset(self):
        self.program(
            """
            import warnings
            torch.empty(4 << 20)
            c = torch.cuda
            assert c.max_memory_allocated() == 4 << 20
            assert c.max_memory_reserved() == c.memory_reserved() == 20 << 20
            c.reset_peak_memory_stats()
            assert c.max_memory_allocated() == 0
            c.reset_accumulated_memory_stats()
            assert c.memory_stats()["allocated_bytes.all.allocated"] == 0
            torch.empty(4 << 20)
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                c.reset_max_memory_allocated()
                assert c.memory_cached() == 20 << 20
            assert [w.category for w in said] == [FutureWarning] * 2
            assert c.max_memory_allocated() == 0
            c.empty_cache()
            assert c.memory_reserved() == 0
            """,
            enable="policy='pytorch'",
        )

    @unittest.skipUnless(C10, "no C++ compiler")
    def test_a_fraction_is_kept_to(self):
        self.program(
            """
            c = torch.cuda
            for bad, kind in ((1, TypeError), (1.5, ValueError)):
                try:
                    c.set_per_process_memory_fraction(bad)
                except kind:
                    continue
                sys.exit(1)
            c.set_per_process_memory_fraction(0.25)
            assert c.memory.get_per_process_memory_fraction() == 0.25
            torch.empty(60 << 20)
            try:
                torch.empty(70 << 20)
            except torch.OutOfMemoryError:
                sys.exit(0)
            sys.exit(1)
            """
        )

    def test_the_summary_is_larder_s(self):
        out = self.program(
            """
            torch.empty(4 << 20)
            print(torch.cuda.memory_summary(abbreviated=True))
            """
        )
        self.assertIn("Larder", out)
        self.assertIn("CUDA OOMs: 0", out)
        self.assertNotIn("from large pool", out)

    def test_settings_can_change(self):
        self.program(
            """
            torch.cuda.memory._set_allocator_settings(
                "expandable_segments:True")
            x = torch.empty(1 << 20)
            assert torch.cuda.memory_snapshot()[0]["is_expandable"]
            try:
                torch.cuda.memory._set_allocator_settings("no:thing")
            except ValueError as error:
                assert "no" in str(error)
            else:
                sys.exit(1)
            """
        )

    def test_a_device_is_named_in_each_of_pytorch_s_ways(self):
        self.program(
            """
            from types import SimpleNamespace as Made
            x = torch.empty(1 << 20, device="cuda:1")
            bytes_of = torch.cuda.memory_allocated
            for device in (1, "cuda:1", Made(type="cuda", index=1),
                           Made(idx=1)):
                assert bytes_of(device) == 1 << 20, device
            for device in (None, "cuda", Made(type="cuda", index=None)):
                assert bytes_of(device) == 0, device
            for device in (1.0, "cpu", Made(type="cpu", index=1)):
                try:
                    bytes_of(device)
                except ValueError as error:
                    assert "Expected a cuda device" in str(error)
                    continue
                sys.exit(1)
            """
        )

    def test_a_forked_worker_drops_tensors_and_asks(self):
        self.program(
            """
            import os
            x = torch.empty(1 << 20)
            y = torch.empty(30 << 20)
            del y
            child = os.fork()
            if child == 0:
                torch.cuda._initialized = False  # PyTorch's answer in a child
                del x
                torch.cuda.empty_cache()
                assert torch.cuda.memory_allocated() == 0
                os._exit(larder.torch.error_count())
            assert os.waitpid(child, 0)[1] == 0
            assert torch.cuda.memory_allocated() == 1 << 20
            assert torch.cuda.memory_reserved() > 30 << 20
            """
        )

    def test_names_that_pytorch_lacks_are_not_added(self):
        self.program(
            """
            assert not hasattr(torch.cuda, "max_memory_cached")
            assert not hasattr(torch.cuda, "_dump_snapshot")
            assert not hasattr(torch, "accelerator")
            """
        )


class Snapshots(TorchCase):
    def larder(self, *arguments):
        command = os.path.join(os.environ["LARDER_LIBRARY_DIR"], "larder")
        if not os.path.exists(command):
            self.skipTest("no command")
        return subprocess.run(
            [command, *arguments], capture_output=True, text=True, timeout=60
        )

    def record(self, path, devices):
        return self.program(
            f"""
            def grow():
                return torch.empty(3 << 20)

            torch.cuda.memory._record_memory_history()
            x = grow()
            y = torch.backward_of(x, 5 << 20)
            z = torch.empty(1 << 20, device="cuda:{devices - 1}")
            del x
            torch.cuda.memory._dump_snapshot({path!r})
            whole = torch.cuda.memory._snapshot()
            print(len(whole["device_traces"]))
            events = whole["device_traces"][0]
            alloc = [e for e in events if e["action"] == "alloc"]
            names = [f["name"] for f in alloc[0]["frames"]]
            assert "grow" in names and "<module>" in names, names
            assert names.index("grow") < names.index("<module>")
            frame = alloc[0]["frames"][names.index("grow")]
            assert frame["filename"] == "<string>" and frame["line"] == 6
            names = [f["name"] for f in alloc[1]["frames"]]
            assert names and "grow" not in names, names
            freed = [e for e in events if e["action"] == "free_requested"]
            assert freed[0]["frames"], freed
            """,
            TORCH_DOUBLE_DEVICES=str(devices),
            LARDER_TORCH_DEVICE=f"sim:256MiB,count={devices}",
        )

    def test_one_device_s_file_is_a_snapshot(self):
        path = self.path("one.pickle")
        self.assertEqual(self.record(path, 1), "1\n")
        run = self.larder("report", "--json", path)
        self.assertEqual(run.returncode, 0, run.stderr)
        report = json.loads(run.stdout.splitlines()[0])
        self.assertEqual(report["peak_allocated_bytes"], 9 << 20)

    def test_several_devices_are_in_one_file(self):
        path = self.path("two.pickle")
        self.assertEqual(self.record(path, 2), "2\n")
        run = self.larder("report", path)
        self.assertEqual(run.returncode, 0, run.stderr)
        import pickle

        with open(path, "rb") as file:
            whole = pickle.load(file)
        self.assertEqual({s["device"] for s in whole["segments"]}, {0, 1})
        for device in (0, 1):
            allocated = [
                e["size"]
                for e in whole["device_traces"][device]
                if e["action"] == "alloc"
            ]
            self.assertEqual(
                allocated, [[3 << 20, 5 << 20], [1 << 20]][device]
            )

    def test_json_is_written_by_its_ending(self):
        path = self.path("one.json")
        self.record(path, 1)
        with open(path, encoding="utf-8") as file:
            self.assertIn("segments", json.load(file))

    def test_json_of_several_devices_is_json(self):
        path = self.path("two.json")
        self.assertEqual(self.record(path, 2), "2\n")
        with open(path, encoding="utf-8") as file:
            whole = json.load(file)
        self.assertEqual({s["device"] for s in whole["segments"]}, {0, 1})

    def test_the_arguments_of_every_version_are_taken(self):
        self.program(
            """
            record = torch.cuda.memory._record_memory_history
            def events():
                x = torch.empty(4096)
                return len(torch.cuda.memory._snapshot()["device_traces"][0])
            later = dict(clear_history=True, compile_context=True,
                         global_record_annotations=True,
                         record_pinned_host_memory=True)
            record("all", "all", "python", 1000, None, **later)
            assert events() > 0
            record(True, True, 1000, True, None, True, skip_actions=["alloc"],
                   **later)
            assert events() > 0
            record(None)
            record(record_cuda=False, record_pinned_host_memory=True)
            assert events() == 0
            """
        )

    def test_a_thread_s_text_is_on_its_events(self):
        self.program(
            """
            memory = torch.cuda.memory
            memory._record_memory_history()
            assert memory._memory_metadata_supported()
            assert memory._get_memory_metadata() == ""
            memory._set_memory_metadata("layer 3")
            assert memory._get_memory_metadata() == "layer 3"
            x = torch.empty(4096)
            memory._set_memory_metadata("")
            y = torch.empty(4096)
            alloc = [e for e in memory._snapshot()["device_traces"][0]
                     if e["action"] == "alloc"]
            texts = [e["user_metadata"] for e in alloc]
            assert texts == ["layer 3", ""], texts
            memory._set_memory_metadata({"layer": 3, "of": None})
            assert memory._get_memory_metadata() == '{"layer":3,"of":null}'
            """
        )

    def test_what_lives_at_an_address_has_its_callers(self):
        self.program(
            """
            memory = torch.cuda.memory
            x = torch.empty(4096)
            callers = memory._allocation_traceback
            assert callers(x.data_ptr()) is None
            memory._record_memory_history()
            y = torch.empty(4096)
            assert any(f["name"] == "<module>" for f in callers(y.data_ptr()))
            assert callers(y.data_ptr() + 1) is None
            gone = y.data_ptr()
            del y
            assert callers(gone) is None
            """
        )

    def test_the_arguments_are_named_as_in_pytorch(self):
        self.program(
            """
            import inspect
            memory = torch.cuda.memory
            memory._set_allocator_settings(env="max_split_size_mb:200")
            assert list(inspect.signature(
                memory._record_memory_history).parameters)[:4] == [
                    "enabled", "context", "stacks", "max_entries"]
            """
        )

    def test_what_is_recorded_can_be_chosen(self):
        self.program(
            """
            record = torch.cuda.memory._record_memory_history
            def trace(*args, **kwargs):
                record(*args, **kwargs)
                x = torch.empty(4096)
                del x
                events = torch.cuda.memory._snapshot()["device_traces"][0]
                return [(e["action"], bool(e.get("frames"))) for e in events
                        if e["action"] in ("alloc", "free_requested")]
            both = ["alloc", "free_requested"]
            assert trace() == [(a, True) for a in both]
            assert trace(context="alloc") == list(zip(both, (True, False)))
            assert trace(context=None) == [(a, False) for a in both]
            assert trace(skip_actions=["alloc"]) == [(both[1], True)]
            assert trace(max_entries=1)[-1:] in ([], [(both[1], True)])
            assert trace("state") == []
            assert trace(None) == []
            assert trace(True) == []
            assert trace(True, trace_alloc_max_entries=100,
                         trace_alloc_record_context=True) \\
                == [(a, True) for a in both]
            assert trace(False) == []
            for arguments in (dict(enabled="some"), dict(context="some"),
                              dict(stacks="c"), dict(skip_actions=["no"])):
                try:
                    record(**arguments)
                except ValueError as error:
                    assert "expected" in str(error)
                    continue
                sys.exit(1)
            """
        )

    def test_state_keeps_where_live_memory_came_from(self):
        self.program(
            """
            torch.cuda.memory._record_memory_history("state")
            x = torch.empty(4096)
            block = torch.cuda.memory_snapshot()[0]["blocks"][0]
            assert block["state"] == "active_allocated"
            assert any(f["name"] == "<module>" for f in block["frames"]), block
            """
        )

    def test_a_pool_s_segments_alone(self):
        self.program(
            """
            import ctypes
            from torch import _allocators
            number = ctypes.c_uint64
            def hook(name, *more):
                _allocators.current.call(
                    name, (ctypes.c_int, 0), (number, 3), (number, 0), *more)
            x = torch.empty(4096)
            hook("begin", (ctypes.c_void_p, None))
            y = torch.empty(4096)
            hook("end")
            z = torch.empty(4096)
            snapshot = torch.cuda.memory_snapshot
            assert len(snapshot()) == 2
            inside, = snapshot((3, 0))
            assert inside["address"] <= y.data_ptr() \\
                < inside["address"] + inside["total_size"]
            del y
            torch.cuda.empty_cache()
            assert len(snapshot((3, 0))) == 1
            hook("release")
            torch.cuda.empty_cache()
            assert len(snapshot((3, 0))) == 0
            """
        )

    def test_a_file_that_cannot_be_written_is_named(self):
        error = self.program(
            """
            x = torch.empty(1)
            torch.cuda.memory._dump_snapshot("/nowhere/at/all.pickle")
            """,
            status=1,
        )
        self.assertIn("OSError", error)
        self.assertIn("/nowhere/at/all.pickle", error)


if __name__ == "__main__":
    torch_case.main()
