"""The plan of a serving engine, read from what it says as it starts."""

import unittest

import lab_case  # noqa: F401  the package is found beside the tests
from larder.fit import serving

GIB = 1 << 30
LOG = """
INFO [gpu_model_runner.py] Model loading took 1.1201 GiB and 0.5 seconds
INFO [gpu_model_runner.py] Model loading took 1.1203 GiB and 0.6 seconds
DEBUG [gpu_worker.py] Memory profiling takes 2.00 seconds. Total non KV cache memory: \
6.70GiB; torch peak memory increase: 5.55GiB; non-torch forward increase memory: \
0.13GiB; weights memory: 1.12GiB.
INFO [gpu_worker.py] Available KV cache memory: 64.59 GiB
INFO [gpu_worker.py] Available KV cache memory: 64.50 GiB
INFO [kv_cache_utils.py] GPU KV cache size: 604,672 tokens
INFO [kv_cache_utils.py] Maximum concurrency for 16,000 tokens per request: 37.79x
""".splitlines()
NEWER = """
INFO [model_runner.py] Model loading took 1.12 GiB memory and 10.673599 seconds
DEBUG [gpu_worker.py] Memory profiling takes 3.63 seconds. Total non KV cache memory: \
4.01GiB; torch peak memory increase: 2.07GiB; total consumed (from mem_get_info): \
1.95GiB; weights memory: 1.12GiB.
INFO [gpu_worker.py] Available KV cache memory: 67.25 GiB
INFO [kv_cache_utils.py] GPU KV cache size: 629,504 tokens, Maximum concurrency for \
16,000 tokens per request: 39.34x
INFO [model_runner.py] Graph capturing finished in 12 secs, took 0.52 GiB
INFO [core.py] init engine (profile, create kv cache, warmup model) took 7.18 s \
(compilation: 3.10 s)
""".splitlines()
STARTED = "INFO init engine (profile, create kv cache, warmup model) took 5.1 seconds"
LACKS = (
    "ValueError: To serve at least one request with the models's max seq len (40000), "
    "(9.78 GiB KV cache is needed, which is larger than the available KV cache memory "
    "(4.38 GiB). Based on the available memory, the estimated maximum model length is "
    "17920."
)


def plan_of(lines):
    plan = serving.Plan()
    for line in lines:
        plan.read(line)
    return plan


class Serving(unittest.TestCase):
    def test_each_number_is_found_and_the_scarcest_worker_counts(self):
        told = plan_of(LOG).told()
        self.assertEqual(told["weights_bytes"], round(1.1203 * GIB))
        self.assertEqual(told["activation_bytes"], round(5.55 * GIB))
        self.assertEqual(told["nontorch_bytes"], round(0.13 * GIB))
        self.assertEqual(told["kv_cache_bytes"], round(64.50 * GIB))
        self.assertEqual(told["kv_cache_tokens"], 604672)
        self.assertEqual(told["max_concurrency"], 37.79)
        self.assertIsNone(told["graph_bytes"])

    def test_a_newer_one_tells_what_it_keeps_besides_weights(self):
        plan = plan_of(NEWER)
        told = plan.told()
        self.assertTrue(plan.is_ready)
        self.assertEqual(told["weights_bytes"], round(1.12 * GIB))
        self.assertEqual(told["activation_bytes"], round(2.07 * GIB))
        self.assertEqual(told["kept_bytes"], round(1.95 * GIB) - round(1.12 * GIB))
        self.assertEqual(told["kv_cache_tokens"], 629504)
        self.assertEqual(told["max_concurrency"], 39.34)
        self.assertEqual(told["graph_bytes"], round(0.52 * GIB))
        self.assertIsNone(told["nontorch_bytes"])
        self.assertIsNone(plan_of(LOG).told()["kept_bytes"])

    def test_graphs_count_where_they_are_captured(self):
        line = "INFO Graph capturing finished in 12 secs, took 0.52 GiB"
        told = plan_of([*LOG, line]).told()
        self.assertEqual(told["graph_bytes"], round(0.52 * GIB))

    def test_it_is_ready_when_it_says_so(self):
        self.assertFalse(plan_of(LOG).is_ready)
        self.assertTrue(plan_of([*LOG, STARTED]).is_ready)

    def test_without_a_cache_there_is_no_plan(self):
        self.assertIsNone(plan_of(LOG[:3]).told())

    def test_it_is_told_in_words(self):
        lines = []
        plan_of(LOG).write(lines.append)
        text = "\n".join(lines)
        self.assertIn("64.50 GiB  KV cache", text)
        self.assertIn("604,672  tokens", text)
        self.assertIn("37.79  requests at once, of 16,000 tokens each", text)

    def test_why_it_does_not_start_and_by_how_much(self):
        plan = plan_of(LOG[:6])
        plan.note({"text": "EngineCore failed", "error": LACKS})
        plan.note({"text": "", "error": "RuntimeError: see above"})
        self.assertEqual((plan.error, plan.is_short), (LACKS, True))
        self.assertEqual(plan.lacks_bytes, round((9.78 - 4.38) * GIB))
        self.assertEqual(plan.longest, 17920)

    def test_another_error_is_not_a_lack_of_memory(self):
        plan = serving.Plan()
        plan.note({"error": "ValueError: no such model"})
        self.assertFalse(plan.is_short)

    def test_a_cache_of_less_than_nothing_is_no_plan(self):
        plan = plan_of(["Available KV cache memory: -3.25 GiB"])
        self.assertEqual(plan.cache_bytes(), round(-3.25 * GIB))
        self.assertIsNone(plan.told())


if __name__ == "__main__":
    unittest.main()
