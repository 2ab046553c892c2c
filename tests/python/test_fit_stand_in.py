"""`larder run --engine stand-in` as a command, with a double of PyTorch: the
program's own process, the simulated driver, the report."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import unittest

import lab_case

LARDER = os.path.join(os.environ.get("LARDER_LIBRARY_DIR", ""), "larder")
DOUBLE = os.path.join(lab_case.HERE, "stand_in_torch")
MIB = lab_case.MIB

TRAIN = """
    import sys, torch

    class Net(torch.nn.Module):
        def __init__(self):
            self.weight = torch.Tensor(8 << 20)

        def forward(self):
            return torch.Tensor(rows << 20)

    rows = 3
    net = Net()
    optimizer = torch.optim.AdamW(net.parameters())
    def backward():
        net.weight.grad = torch.Tensor(8 << 20)
    kept = []
    for step in range(9):
        out = net()
        torch.backward(backward)
        optimizer.step()
        net.zero_grad()
        BODY
    print("the end")
"""


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def script(self, text, name="train.py"):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(text))
        return path

    def run_it(self, *words, stdin=None, stdout=subprocess.PIPE, **environment):
        return subprocess.run(
            [LARDER, "run", "--engine", "stand-in", *words],
            env={
                **os.environ, **environment, "PYTHONPATH": DOUBLE,
                "LARDER_PYTHON": sys.executable,
                "LARDER_PYTHON_DIR": lab_case.PACKAGE_DIR,
                "PYTHONDONTWRITEBYTECODE": "1",
            },
            text=True, timeout=120, stdin=stdin, stdout=stdout,
            stderr=subprocess.PIPE,
        )

    def told(self, *words, status=0, **environment):
        path = os.path.join(self.folder, "report.json")
        run = self.run_it(f"--json={path}", *words, **environment)
        self.assertEqual(run.returncode, status, run.stderr)
        self.said, self.complained = run.stdout, run.stderr
        with open(path, encoding="utf-8") as file:
            return json.load(file)


class Training(Case):
    def test_steps_are_recognized_and_the_program_stopped(self):
        told = self.told(self.script(TRAIN.replace("BODY", "")))
        self.assertEqual(told["engine"], "stand-in")
        self.assertEqual((told["verdict"], told["fits"]), ("fits", True))
        self.assertEqual(told["scope"]["steps"], 3)
        self.assertFalse(told["scope"]["ended"])
        self.assertEqual(self.said, "")

    def test_all_steps_are_run_if_asked_and_the_output_is_the_program_s(self):
        told = self.told("--steps", "all", self.script(TRAIN.replace("BODY", "")))
        self.assertEqual(told["scope"]["steps"], 9)
        self.assertTrue(told["scope"]["ended"])
        self.assertEqual(self.said, "the end\n")

    def test_memory_has_its_purpose_line_module_and_phase(self):
        told = self.told(self.script(TRAIN.replace("BODY", "")))
        self.assertEqual(
            told["by_category"],
            {"parameters": 8 * MIB, "gradients": 8 * MIB,
             "optimizer state": 8 * MIB, "activations": 3 * MIB},
        )
        self.assertEqual(told["peak_requested_bytes"], 27 * MIB)
        lines = dict(told["lines"])
        made = os.path.join(self.folder, "train.py") + ":9"
        self.assertEqual(lines[made], 3 * MIB)
        self.assertEqual(dict(told["modules"])["Net"], {"activations": 3 * MIB})

    def test_what_each_step_keeps_grows(self):
        script = self.script(TRAIN.replace("BODY", "kept.append(torch.Tensor(16 << 20))"))
        told = self.told("--device", "sim:1GiB", script)
        self.assertEqual(told["scope"]["grows_bytes_per_step"], 16 * MIB)
        self.assertGreater(told["full_at_step"], 40)

    def test_a_peak_that_the_program_sets_back_is_told(self):
        text = "import torch\nx = torch.Tensor(7 << 20)\ndel x\n" \
            "torch.cuda.reset_peak_memory_stats()\ny = torch.Tensor(2 << 20)\n"
        told = self.told(self.script(text))
        self.assertEqual(told["peak_allocated_bytes"], 7 * MIB)
        self.assertEqual(told["peak_reserved_bytes"], 7 * MIB)

    def test_a_long_run_is_read_out_in_parts(self):
        """Each step makes more events than PyTorch's record is to keep."""
        body = "[torch.Tensor(512) for _ in range(20000)]"
        script = self.script(TRAIN.replace("BODY", body))
        told = self.told("--steps", "4", script)
        self.assertEqual(told["scope"]["steps"], 4)
        self.assertEqual(told["requests"], 1 + 4 * 2 + 1 + 3 * 20000)
        self.assertEqual(told["by_category"]["parameters"], 8 * MIB)


class Reads(Case):
    SCRIPT = "import torch\nx = torch.Tensor(8)\nfor _ in range(3):\n    x.item()\n"

    def test_the_line_that_reads_a_value_is_named_once(self):
        path = self.script(self.SCRIPT)
        self.assertEqual(self.told(path)["made_up"], [[path + ":4", "item"]])
        said = self.run_it(path).stdout
        self.assertIn("values read from the GPU at 1 place, first at", said)
        self.assertIn("train.py:4", said)


class Endings(Case):
    def no_verdict(self, text, *words, how="failed"):
        told = self.told(*words, self.script(text), status=2)
        self.assertEqual(told["verdict"], "no verdict")
        self.assertIsNone(told["fits"])
        self.assertEqual(told["how"], how)
        return told

    def test_a_program_that_fails_has_no_verdict(self):
        told = self.no_verdict("import torch\ntorch.Tensor(8)\nraise ValueError('mine')\n")
        self.assertEqual(told["error"], "ValueError: mine")
        self.assertEqual(told["requests"], 1)

    def test_nor_one_that_exits_with_a_status(self):
        self.no_verdict("import sys, torch\ntorch.Tensor(8)\nsys.exit(3)\n")

    def test_nor_one_that_is_no_python(self):
        self.no_verdict("x = = 1\n")

    def test_nor_one_that_cannot_import(self):
        self.no_verdict("import nothing_of_this_name\n")

    def test_nor_one_that_is_killed(self):
        told = self.no_verdict("import os\nos.kill(os.getpid(), 9)\n")
        self.assertEqual(told["error"], "SIGKILL")

    def test_nor_one_that_uses_no_gpu(self):
        self.no_verdict("import torch\n", how="ended")

    def test_memory_that_runs_out_does_not_fit_and_its_line_is_shown(self):
        script = self.script("import torch\nx = torch.Tensor(3 << 20)\n")
        run = self.run_it(
            "--device", "sim:2MiB", "--advise", "never", script,
            TORCH_DOUBLE_BYTES=str(2 << 20),
        )
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertIn("OutOfMemoryError", run.stderr)
        self.assertTrue(run.stdout.startswith("does not fit"), run.stdout)


class Output(Case):
    def test_a_reader_that_leaves_is_no_error(self):
        reads, writes = os.pipe()
        os.close(reads)
        with open(writes, "wb") as nobody:
            run = self.run_it(
                self.script("import torch\ntorch.Tensor(8)\n"), stdout=nobody
            )
        self.assertEqual(run.returncode, 128 + signal.SIGPIPE, run.stderr)
        self.assertNotIn("Traceback", run.stderr)
        self.assertNotIn("Broken pipe", run.stderr)


class Programs(Case):
    def notebook(self, *cells):
        made = [
            {"cell_type": "code", "metadata": {}, "outputs": [], "source": text}
            for text in cells
        ]
        return self.script(json.dumps({"nbformat": 4, "cells": made}), "book.ipynb")

    def test_a_notebook_s_cells_run_one_after_another(self):
        book = self.notebook("import torch\nx = torch.Tensor(5 << 20)", "y = x")
        self.assertEqual(self.told(book)["peak_requested_bytes"], 5 * MIB)

    def test_a_module_is_run_by_its_name(self):
        self.script("import torch\nx = torch.Tensor(5 << 20)\n", "prog.py")
        os.makedirs(os.path.join(self.folder, "package"))
        path = os.path.join(self.folder, "report.json")
        run = subprocess.run(
            [LARDER, "run", f"--json={path}", "-m", "prog"],
            env={
                **os.environ, "LARDER_PYTHON": sys.executable,
                "PYTHONPATH": DOUBLE + os.pathsep + self.folder,
                "LARDER_PYTHON_DIR": lab_case.PACKAGE_DIR,
            },
            capture_output=True, text=True, timeout=120,
        )
        self.assertEqual(run.returncode, 0, run.stderr)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(json.load(file)["peak_requested_bytes"], 5 * MIB)

    def test_a_command_s_processes_are_found_and_the_largest_is_told(self):
        script = self.script(
            """
            import sys, torch
            x = torch.Tensor(int(sys.argv[1]) << 20)
            """
        )
        launcher = self.script(
            f"#!/bin/sh\n{sys.executable} {script} 3 &\n"
            f"{sys.executable} {script} 7\nwait\n",
            "launch",
        )
        os.chmod(launcher, 0o755)
        told = self.told(launcher)
        self.assertEqual(told["peak_requested_bytes"], 7 * MIB)
        self.assertEqual(len(told["processes"]), 2)

    def test_a_number_of_the_script_is_searched(self):
        script = self.script(TRAIN.replace("BODY", ""))
        told = self.told("--device", "sim:64MiB", "--max", "rows=1..40", script)
        best = told["largest"]
        self.assertGreater(best, 3)
        self.assertEqual(
            max(need for need in told["tried"].values() if need <= 64 * MIB),
            told["tried"][str(best)],
        )

    def test_a_program_of_the_driver_alone_is_judged_by_what_it_held(self):
        subject = os.path.join(
            os.environ.get("LARDER_LIBRARY_DIR", ""), "tests", "cuda",
            "driver_subject_linked",
        )
        told = self.told("--device", "sim:64MiB", subject)
        self.assertEqual(told["verdict"], "fits")
        self.assertGreater(told["min_capacity_bytes"], 0)
        self.assertIn("held from the driver", told["by_category"])


VLLM_LOGGER = """
    import logging
    from logging.config import dictConfig

    def configure_logging():
        of_vllm = {"level": "INFO", "handlers": [], "propagate": False}
        dictConfig({"version": 1, "disable_existing_loggers": False,
                    "loggers": {"vllm": of_vllm}})

    configure_logging()
"""

VLLM_ARGUMENTS = """
    class EngineArgs:
        def __init__(self, model, max_model_len=9, utilization=0.5):
            self.model, self.max_model_len = model, max_model_len
            self.gpu_memory_utilization = utilization
            self.tensor_parallel_size = 1
            self.load_format, self.tokenizer = "auto", None
            self.skip_tokenizer_init = False

        def create_engine_config(self):
            return vars(self)
"""

SERVE = """
    import os, sys, torch
    import vllm.logger
    from vllm.engine.arg_utils import EngineArgs

    def serve(arguments):
        vllm.logger.configure_logging()
        log = vllm.logger.logging.getLogger("vllm.worker")
        print(arguments.load_format, arguments.skip_tokenizer_init, file=sys.stderr)
        print(f"ranks are <{os.environ['LARDER_NCCL']}>", file=sys.stderr)
        tokens = 1000 * arguments.tensor_parallel_size
        x = torch.Tensor(5 << 20)
        log.debug("torch peak memory increase: %.2fGiB", 0.5)
        log.info("Available KV cache memory: %.2f GiB", 1)
        if arguments.max_model_len > tokens:
            raise ValueError(
                "(2.50 GiB KV cache is needed, which is larger than the available KV "
                "cache memory (1.00 GiB). the estimated maximum model length is 1000."
            )
        log.info("GPU KV cache size: %s tokens", f"{tokens:,}")
        log.info("init engine (profile) took %.2f seconds", 1)
        sys.stdin.read()
        print("served")

    try:
        arguments = EngineArgs(os.path.dirname(__file__), int(sys.argv[1]), 0.9)
        arguments.create_engine_config()
        EngineArgs(arguments.model)  # to tell what is not as usual
        serve(arguments)
    except ValueError as error:
        vllm.logger.logging.getLogger("vllm").exception("failed to start")
        raise
"""


class Serving(Case):
    """A double of vLLM, which says what it would say."""

    def setUp(self):
        super().setUp()
        os.makedirs(os.path.join(self.folder, "vllm", "engine"))
        for name in ("vllm/__init__.py", "vllm/engine/__init__.py"):
            self.script("", name)
        self.script(VLLM_LOGGER, "vllm/logger.py")
        self.script(VLLM_ARGUMENTS, "vllm/engine/arg_utils.py")

    def serve(self, length, *words, **how):
        # It waits for its input to end, as a server waits for requests.
        waits, end = os.pipe()
        self.addCleanup(os.close, waits)
        self.addCleanup(os.close, end)
        return self.told(*words, self.script(SERVE), str(length), stdin=waits, **how)

    def test_a_ready_engine_is_ended_and_its_plan_told(self):
        told = self.serve(900)
        self.assertEqual((told["verdict"], told["how"]), ("fits", "ready"))
        self.assertEqual(told["serving"]["kv_cache_tokens"], 1000)
        self.assertEqual(told["serving"]["activation_bytes"], 512 * MIB)
        self.assertEqual(told["peak_requested_bytes"], 5 * MIB)
        self.assertNotIn("served", self.said)

    def test_one_that_does_not_start_is_told_what_would(self):
        told = self.serve(1500, "--gpu", "rtx4090", status=1)
        self.assertEqual(told["verdict"], "does not fit")
        self.assertIn("KV cache is needed", told["error"])
        self.assertEqual(
            [(cure["name"], cure["value"], cure["starts"]) for cure in told["cures"]],
            [("max_model_len", 1000, True), ("gpu_memory_utilization", 0.97, False),
             ("tensor_parallel_size", 2, True)],
        )

    def test_the_ranks_of_an_engine_meet(self):
        self.serve(900)
        self.assertIn("ranks are <>", self.complained)
        self.serve(900, LARDER_NCCL="alone")
        self.assertIn("ranks are <alone>", self.complained)

    def test_the_longest_request_is_searched(self):
        told = self.serve(1, "--max", "max-model-len=1..9000")
        self.assertEqual(told["largest"], 1000)
        self.assertLess(len(told["tried"]), 6)

    def test_weights_that_are_not_there_are_dummies(self):
        self.serve(900)
        self.assertIn("dummy True", self.complained)
        self.script("", "model.safetensors")
        self.serve(900)
        self.assertIn("auto True", self.complained)


class OtherEngines(Case):
    def test_one_that_is_not_followed_is_named(self):
        os.makedirs(os.path.join(self.folder, "sglang", "srt"))
        for name in ("__init__", "srt/__init__", "srt/server_args"):
            self.script("", f"sglang/{name}.py")
        script = self.script("""
            import subprocess, sys, torch, sglang.srt.server_args
            torch.Tensor(9)
            if len(sys.argv) == 1:
                subprocess.run([sys.executable, __file__, "worker"], check=True)
        """)
        self.told(script)
        said = "SGLang runs to its own end"
        self.assertEqual(self.complained.count(said), 1)


class Words(Case):
    def refused(self, *words, saying):
        run = self.run_it(*words)
        self.assertEqual(run.returncode, 2, run.stdout)
        self.assertIn(saying, run.stderr)

    def test_options_of_the_other_engine_are_refused(self):
        script = self.script("import torch\n")
        for option in (["--real-cpu"], ["--on-item", "nan"]):
            self.refused(*option, script, saying=f"{option[0]} applies to --engine fake only")

    def test_a_command_cannot_have_fake_tensors(self):
        self.refused("--engine", "fake", "true", saying="--engine stand-in")

    def test_settings_are_checked_before_the_program_runs(self):
        script = self.script("import torch\nprint('ran')\n")
        run = self.run_it("--conf", "nonsense:1", script)
        self.assertEqual(run.returncode, 2)
        self.assertNotIn("ran", run.stdout)
        self.assertIn("nonsense", run.stderr)


if __name__ == "__main__":
    unittest.main()
