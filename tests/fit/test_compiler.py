"""torch.compile under `larder run`: left out, and its package only loaded if asked."""

import unittest

from fit_case import TINY, Case


class Compiler(Case):
    def ends(self, text):
        run = self.run_it("--steps", "all", self.script(text))
        self.assertEqual(run.returncode, 0, run.stderr)
        return run

    def test_what_is_compiled_is_run_as_it_is_and_said_once(self):
        run = self.ends(
            """
            import torch

            @torch.compile
            def double(x):
                return x * 2

            model = torch.compile(torch.nn.Linear(4, 4).cuda())
            model(double(torch.zeros(4, 4, device="cuda"))).sum().backward()
            """
        )
        self.assertEqual(run.stderr.count("torch.compile is skipped"), 1)

    def test_training_does_not_load_the_compiler(self):
        self.ends(
            TINY.replace("range(50)", "range(2)")
            + """
    assert "torch._dynamo" in sys.modules
    assert "torch._dynamo.symbolic_convert" not in sys.modules
"""
        )

    def test_who_asks_for_the_compiler_gets_it(self):
        self.ends(
            """
            import sys
            import torch
            import torch._dynamo as package

            torch._dynamo.config.suppress_errors = True

            @torch.compiler.disable
            def one():
                return 1

            assert one() == 1
            assert "torch._dynamo.utils" not in sys.modules
            from torch._dynamo.utils import counters

            first = sys.modules["torch._dynamo.utils"]
            torch._dynamo.reset()
            import torch._dynamo.utils

            assert torch._dynamo is package is sys.modules["torch._dynamo"]
            assert torch._dynamo.utils is first and counters is first.counters
            assert torch._dynamo.config.suppress_errors
            assert first.__spec__.name == "torch._dynamo.utils"
            assert package.disable(one)() == 1 and package.disable is not None
            torch.nn.Linear(4, 4).cuda()(torch.zeros(4, 4, device="cuda"))
            """
        )

    def test_a_module_of_the_compiler_s_alone_gives_it_too(self):
        self.ends(
            """
            import torch
            import torch._dynamo.source

            assert torch._dynamo.source.LocalSource("x").name
            assert torch._dynamo.optimize is not None
            torch.zeros(4, device="cuda")
            """
        )


if __name__ == "__main__":
    unittest.main()
