"""larder.cupy, larder.rmm, larder.onnxruntime and larder.preload, under
modules that stand in for those libraries."""

import ctypes
import os
import re
import sys
import unittest

import lab_case
from lab_case import HERE, MIB, PACKAGE_DIR, RunCase

sys.path.insert(0, os.path.join(HERE, "stand_ins"))

import cupy  # noqa: E402
import onnxruntime  # noqa: E402
import rmm  # noqa: E402

import larder.adapters  # noqa: E402
import larder.cupy  # noqa: E402
import larder.onnxruntime  # noqa: E402
import larder.preload  # noqa: E402
import larder.rmm  # noqa: E402

DEVICE = "sim:64MiB"
ROOT = os.path.dirname(PACKAGE_DIR)


class CuPy(unittest.TestCase):
    def setUp(self):
        cupy.set_stream(0)
        self.allocator = larder.cupy.enable(conf="", device=DEVICE)
        self.addCleanup(larder.cupy.disable)

    def test_memory_is_larder_s_and_goes_back(self):
        memory = cupy.allocate(3 * MIB)
        first = memory.ptr
        self.assertGreater(first, 0)
        del memory
        memory = cupy.allocate(3 * MIB)
        self.assertEqual(memory.ptr, first)
        self.assertIn("3072 KiB", self.allocator.adapter.summary())
        del memory
        self.allocator.adapter.empty_cache()
        self.allocator.adapter.close()

    def test_memory_is_the_current_stream_s(self):
        cupy.set_stream(7)
        memory = cupy.allocate(3 * MIB)
        first = memory.ptr
        del memory
        cupy.set_stream(0)
        other = cupy.allocate(3 * MIB)
        self.assertNotEqual(other.ptr, first)
        cupy.set_stream(7)
        self.assertEqual(cupy.allocate(3 * MIB).ptr, first)

    def test_too_much_is_an_error_that_says_why(self):
        with self.assertRaises(cupy.OutOfMemoryError) as caught:
            cupy.allocate(65 * MIB)
        self.assertIn("Tried to allocate", str(caught.exception.__cause__))
        self.assertEqual(cupy.allocate(0).ptr, 0)

    def test_threads_own_streams_are_refused(self):
        cupy.set_stream(2)
        with self.assertRaisesRegex(RuntimeError, "per-thread default streams"):
            cupy.allocate(512)

    def test_its_own_pool_comes_back(self):
        larder.cupy.disable()
        self.assertEqual(cupy.allocate(5), "the pool's 5")

    def test_wrong_settings_are_named(self):
        with self.assertRaisesRegex(larder.adapters.LarderError, "colour"):
            larder.cupy.enable(conf="colour:red", device=DEVICE)
        with self.assertRaisesRegex(larder.adapters.LarderError, "fastest"):
            larder.cupy.enable(policy="fastest", device=DEVICE)


class Rmm(unittest.TestCase):
    def setUp(self):
        self.resource = larder.rmm.resource(DEVICE, conf="")

    def test_memory_is_reused_in_its_stream_s_order(self):
        stream = rmm.Stream(5)
        first = self.resource.allocate(3 * MIB, stream)
        self.resource.deallocate(first, 3 * MIB, stream)
        other = self.resource.allocate(3 * MIB, rmm.Stream())
        self.assertNotEqual(other, first)
        self.assertEqual(self.resource.allocate(3 * MIB, stream), first)
        self.assertIn(
            "6144 KiB", larder.rmm.adapter_of(self.resource).summary()
        )

    def test_too_much_is_an_error_that_says_why(self):
        with self.assertRaisesRegex(MemoryError, "Tried to allocate"):
            self.resource.allocate(65 * MIB, rmm.Stream())

    def test_streams_must_tell_their_handles(self):
        with self.assertRaisesRegex(TypeError, "__cuda_stream__"):
            self.resource.allocate(512, object())

    def test_other_resources_have_no_adapter(self):
        with self.assertRaisesRegex(ValueError, "larder.rmm.resource"):
            larder.rmm.adapter_of(object())


class OnnxRuntime(unittest.TestCase):
    def session(self, options):
        return onnxruntime.InferenceSession(
            "model.onnx", [("CUDAExecutionProvider", options)]
        )

    def test_each_session_has_its_own_memory(self):
        options = larder.onnxruntime.options(DEVICE, conf="")
        others = larder.onnxruntime.options(DEVICE, conf="")
        session = self.session(options)
        other = self.session(others)
        first = session.alloc(3 * MIB)
        session.free(first)
        self.assertEqual(session.alloc(3 * MIB), first)
        self.assertNotEqual(
            ctypes.cast(session.alloc, ctypes.c_void_p).value,
            ctypes.cast(other.alloc, ctypes.c_void_p).value,
        )
        self.assertIsNone(session.alloc(65 * MIB))
        session.empty_cache()
        options.release()
        others.release()

    def test_there_are_sixteen(self):
        taken = [larder.onnxruntime.options(DEVICE, "") for _ in range(16)]
        with self.assertRaises(larder.adapters.LarderError):
            larder.onnxruntime.options(DEVICE, "")
        for one in taken:
            one.release()


class Preload(RunCase):
    """On the stand-in for the driver, which ctypes finds as any program."""

    PROGRAM = """
import ctypes
import larder.preload
driver = ctypes.CDLL("libcuda.so.1")
context = ctypes.c_void_p()
assert driver.cuInit(0) == 0
assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert driver.cuCtxPushCurrent_v2(context) == 0
address = ctypes.c_uint64()
assert driver.cuMemAlloc_v2(ctypes.byref(address), 12 << 20) == 0
larder.preload.pause()
paused = larder.preload.stats()
larder.preload.resume()
larder.preload.snapshot("PATH")
assert driver.cuMemFree_v2(address) == 0
larder.preload.empty_cache()
print(paused["paused_bytes"], larder.preload.stats())
"""

    def setUp(self):
        super().setUp()
        folder = os.environ.get("LARDER_LIBRARY_DIR", "")
        self.library = os.path.join(folder, "liblarder_preload.so")
        self.driver = os.path.join(folder, "fakecuda")
        if not os.path.exists(self.library):
            self.skipTest("no library folder was given")

    def run_below(self, program, **environment):
        return self.python(
            "-c",
            program,
            LD_LIBRARY_PATH=self.driver,
            LARDER_FAKECUDA="sim:64MiB",
            **environment,
        )

    def test_memory_goes_and_comes(self):
        run = self.run_below(
            self.PROGRAM.replace("PATH", self.path("now.pickle")),
            LD_PRELOAD=self.library,
            LARDER_PRELOAD="cache,pause",
        )
        self.assertEqual(run.stderr, "")
        self.assertTrue(run.stdout.startswith(f"{12 * MIB} "), run.stdout)
        self.assertIn("'limit_bytes': None", run.stdout)
        self.assertIn("'held_bytes': 0", run.stdout)
        self.assertTrue(os.path.getsize(self.path("now.pickle")) > 100)

    def test_what_it_lacks_is_told(self):
        run = self.run_below(
            self.PROGRAM, LD_PRELOAD=self.library, LARDER_PRELOAD="cache"
        )
        self.assertIn("RuntimeError: expected LARDER_PRELOAD=", run.stderr)

    def test_a_process_without_it_is_told(self):
        self.assertFalse(larder.preload.is_active())
        with self.assertRaisesRegex(RuntimeError, "LD_PRELOAD="):
            larder.preload.pause()


class Finding(RunCase):
    def test_modules_that_are_missing_are_named(self):
        for name, call in (
            ("cupy", "larder.cupy.enable()"),
            ("rmm", "larder.rmm.resource()"),
        ):
            run = self.python("-c", f"import larder.{name}; {call}")
            self.assertIn(f"ImportError: larder.{name} needs", run.stderr)

    def test_the_library_that_is_missing_is_named(self):
        given = os.environ.get("LARDER_LIBRARY_DIR")
        if not given:
            self.skipTest("no library folder was given")
        for name in os.listdir(given):
            if name.startswith(("liblarder.so", "liblarder_lab.so")):
                os.symlink(
                    os.path.join(os.path.abspath(given), name),
                    self.path(name),
                )
        run = self.python(
            "-c", "import larder.rmm", LARDER_LIBRARY_DIR=self.path("")
        )
        self.assertIn("ImportError: liblarder_adapters.so", run.stderr)
        self.assertIn("LARDER_LIBRARY_DIR", run.stderr)


class Structs(unittest.TestCase):
    """What is written twice is the same."""

    def fields(self, path, struct):
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
        body = re.search(
            r"typedef struct %s \{(.*?)\} %s;" % (struct, struct), text, re.S
        ).group(1)
        return re.findall(r"(\w+)\)?(?:\([^)]*\))?;", body)

    def test_statistics_of_the_preload_library(self):
        found = self.fields(
            "adapters/preload/include/larder/preload.h", "larder_preload_stats"
        )
        self.assertEqual(found, ["size", *larder.preload.COUNTS])

    def test_structs_of_the_adapters(self):
        path = "adapters/functions/include/larder/adapters.h"
        for struct, kind in (
            ("larder_adapter_options", larder.adapters._Options),
            ("larder_ort_functions", larder.adapters.OrtFunctions),
        ):
            names = [name for name, _ in kind._fields_]
            self.assertEqual(self.fields(path, struct), names)


if __name__ == "__main__":
    lab_case.main()
