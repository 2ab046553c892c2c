"""Tensors live as long as Python's objects, and compute."""

import gc

import lab_case
from lab_case import KIB, MIB, LabCase
from larder import lab


class Lifetimes(LabCase):
    def test_rebinding_makes_the_new_one_before_the_old_one_goes(self):
        x = lab.zeros(MIB, device="cuda")
        x = lab.zeros(MIB, device="cuda")
        self.assertEqual(self.allocated(), 4 * MIB)
        self.assertEqual(self.figure("allocated_peak"), 8 * MIB)
        del x

    def test_del_frees_at_once(self):
        x = lab.zeros(MIB, device="cuda")
        del x
        self.assertEqual(self.allocated(), 0)
        self.assertGreaterEqual(self.figure("reserved_bytes"), 4 * MIB)
        self.session.empty_cache()
        self.assertEqual(self.figure("reserved_bytes"), 0)

    def test_no_collector_is_needed(self):
        gc.disable()
        try:
            x = lab.ones(KIB, device="cuda", requires_grad=True)
            y = (x * 2 + 1).mean()
            y.backward()
            del x, y
            self.assertEqual(self.allocated(), 0)
        finally:
            gc.enable()

    def test_a_view_keeps_the_storage(self):
        x = lab.zeros(4, MIB, device="cuda")
        row = x[1]
        del x
        self.assertEqual(self.allocated(), 16 * MIB)
        self.assertEqual(row.untyped_storage().nbytes(), 16 * MIB)
        del row
        self.assertEqual(self.allocated(), 0)

    def test_temporaries_of_an_expression_go_when_it_is_done(self):
        x = lab.ones(MIB, device="cuda")
        y = x + x + x
        self.assertEqual(self.allocated(), 8 * MIB)
        self.assertEqual(self.figure("allocated_peak"), 12 * MIB)
        del x, y

    def test_host_and_device_are_told_apart(self):
        x = lab.zeros(MIB)
        self.assertEqual(self.figure("host_bytes"), 4 * MIB)
        self.assertEqual(self.allocated(), 0)
        x = x.to("cuda")
        self.assertEqual(self.figure("host_bytes"), 0)
        self.assertEqual(self.allocated(), 4 * MIB)
        self.assertIs(x.to("cuda:0"), x)
        del x

    def test_a_session_with_tensors_does_not_close(self):
        x = lab.zeros(1)
        with self.assertRaises(lab.LabError):
            self.session.close()
        del x
        self.session.close()
        self.session = lab.use(lab.Session(self.device))


class OutOfMemory(LabCase):
    def test_it_explains_itself_and_the_session_goes_on(self):
        x = lab.ones(MIB, device="cuda")
        with self.assertRaises(lab.OutOfMemoryError) as caught:
            lab.zeros(1024, MIB, device="cuda")
        self.assertIn("Tried to allocate 4.00 GiB", str(caught.exception))
        self.assertIsInstance(caught.exception, RuntimeError)
        self.assertEqual(self.allocated(), 4 * MIB)
        self.assertEqual((x + 1)[0].item(), 2)
        del x

    def test_it_is_raised_inside_backward_too(self):
        x = lab.ones(16, MIB, device="cuda", requires_grad=True)
        y = x * x
        kept = lab.zeros(24, MIB, device="cuda")
        with self.assertRaises(lab.OutOfMemoryError):
            y.mean().backward()
        del kept
        self.session.empty_cache()
        del x, y


class Values(LabCase):
    def test_lists_go_in_and_out(self):
        x = lab.tensor([[1, 2, 3], [4, 5, 6]])
        self.assertEqual(x.dtype, lab.int64)
        self.assertEqual(x.tolist(), [[1, 2, 3], [4, 5, 6]])
        self.assertEqual(lab.tensor([1, 2.5]).tolist(), [1.0, 2.5])
        self.assertEqual(lab.tensor(3).item(), 3)
        self.assertEqual(lab.tensor([True, False]).tolist(), [True, False])
        self.assertEqual(lab.zeros(2, 0).tolist(), [[], []])
        with self.assertRaises(ValueError):
            lab.tensor([[1, 2], [3]])

    def test_whole_numbers_are_exact(self):
        n = 2**53 + 1
        self.assertEqual(lab.tensor([n]).item(), n)
        self.assertEqual(int(lab.tensor(-n)), -n)

    def test_whole_numbers_are_chosen_and_sorted_exactly(self):
        n = 2**53
        x = lab.tensor([[n, n + 1, -n - 1], [-n, n - 1, 2**63 - 1]])
        self.assertEqual((x.max().item(), x.min().item()), (2**63 - 1, -n - 1))
        self.assertEqual(x.amax(1).tolist(), [n + 1, 2**63 - 1])
        self.assertEqual(x.amin(0).tolist(), [-n, n - 1, -n - 1])
        self.assertEqual(x.max(1).values.tolist(), [n + 1, 2**63 - 1])
        self.assertEqual(x.min(1).values.tolist(), [-n - 1, -n])
        self.assertEqual(x.sort(1).values.tolist(),
                         [[-n - 1, n, n + 1], [-n, n - 1, 2**63 - 1]])
        self.assertEqual(x.sort(1, descending=True).indices.tolist(),
                         [[1, 0, 2], [2, 1, 0]])
        self.assertEqual(x.topk(2).values.tolist(),
                         [[n + 1, n], [2**63 - 1, n - 1]])

    def test_floats_are_sorted_with_equal_ones_in_place(self):
        nan, inf = float("nan"), float("inf")
        x = lab.tensor([0.0, nan, -1.5, -0.0, inf, 1e-45, -inf, -1e-45])
        self.assertEqual(x.sort().indices.tolist(), [6, 2, 7, 0, 3, 5, 4, 1])
        self.assertEqual(x.sort(descending=True).indices.tolist(),
                         [4, 5, 0, 3, 7, 2, 6, 1])

    def test_makers(self):
        self.assertEqual(lab.full((2,), 7).tolist(), [7, 7])
        self.assertEqual(lab.full([2], 0.5).tolist(), [0.5, 0.5])
        self.assertEqual(lab.arange(3).tolist(), [0, 1, 2])
        self.assertEqual(lab.arange(1, 2, 0.5).tolist(), [1.0, 1.5])
        self.assertEqual(lab.ones([2, 1]).tolist(), [[1.0], [1.0]])
        drawn = lab.randint(3, 5, (50,)).tolist()
        self.assertEqual(set(drawn), {3, 4})
        self.assertEqual(sorted(lab.randperm(9).tolist()), list(range(9)))
        like = lab.zeros_like(lab.randint(5, (2,), device="cuda"))
        self.assertEqual((like.dtype, str(like.device)), (lab.int64, "cuda:0"))
        self.assertEqual(lab.randn(()).shape, ())
        self.assertEqual(lab.randn(size=(2, 1)).shape, (2, 1))

    def test_seeds_repeat(self):
        self.session.seed(5)
        first = lab.randn(4).tolist()
        self.session.seed(5)
        self.assertEqual(lab.randn(4).tolist(), first)

    def test_operators(self):
        x = lab.tensor([1.0, 2.0, 4.0])
        y = lab.tensor([2.0, 2.0, 2.0])
        self.close(x + y, [3, 4, 6])
        self.close(x - y, [-1, 0, 2])
        self.close(3 - x, [2, 1, -1])
        self.close(2 * x, [2, 4, 8])
        self.close(x / y, [0.5, 1, 2])
        self.close(8 / x, [8, 4, 2])
        self.close(-x, [-1, -2, -4])
        self.close(x**2, [1, 4, 16])
        self.assertEqual((x @ y).item(), 14)
        self.assertEqual((x == lab.tensor([1.0, 0.0, 4.0])).tolist(), [1, 0, 1])
        self.assertEqual(sum([x, y])[0].item(), 3)

    def test_in_place_operators_make_nothing(self):
        x = lab.ones(MIB, device="cuda")
        y = x
        x += 1
        x *= 3
        x -= 2
        x /= 4
        self.assertIs(x, y)
        self.assertEqual(x[5].item(), 1)
        self.assertEqual(self.figure("allocated_peak"), 4 * MIB)
        del x, y

    def test_reductions(self):
        x = lab.tensor([[1.0, 2.0], [3.0, 6.0]])
        self.assertEqual(x.sum().item(), 12)
        self.assertEqual(x.mean().item(), 3)
        self.close(x.sum(0), [4, 8])
        self.close(x.mean(dim=1), [1.5, 4.5])
        self.assertEqual(x.sum(1, keepdim=True).shape, (2, 1))
        self.assertEqual(x.argmax(1).tolist(), [1, 1])
        self.assertEqual(x.argmax().item(), 3)

    def test_types_change(self):
        x = lab.tensor([1.5, 0.0])
        self.assertEqual(x.long().tolist(), [1, 0])
        self.assertEqual(x.to(lab.bool).tolist(), [True, False])
        self.assertIs(x.float(), x)
        moved = x.to("cuda", lab.int64)
        self.assertEqual((moved.dtype, moved.is_cuda), (lab.int64, True))
        del moved

    def test_what_a_tensor_says_of_itself(self):
        x = lab.zeros(2, 3)
        self.assertEqual(repr(x.shape), "torch.Size([2, 3])")
        self.assertEqual((x.size(1), x.dim(), x.numel()), (3, 2, 6))
        self.assertEqual((x.element_size(), x.nbytes, len(x)), (4, 24, 2))
        self.assertEqual((x.stride(), x.T.stride()), ((3, 1), (1, 3)))
        self.assertEqual(repr(x.dtype), "torch.float32")
        self.assertEqual(f"{lab.tensor(2.5):.2f}", "2.50")
        self.assertIn("tensor(", repr(x))
        self.assertFalse(x.T.is_contiguous())


class Windows(LabCase):
    def test_indices(self):
        x = lab.arange(24).reshape(2, 3, 4)
        plain = [[[12 * i + 4 * j + k for k in range(4)] for j in range(3)]
                 for i in range(2)]
        self.assertEqual(x[1].tolist(), plain[1])
        self.assertEqual(x[-1, 2, 3].item(), 23)
        self.assertEqual(x[0, 1:].tolist(), plain[0][1:])
        self.assertEqual(x[..., 0].tolist(), [[r[0] for r in p] for p in plain])
        self.assertEqual(x[:, -1].tolist(), [p[-1] for p in plain])
        self.assertEqual(x[0, 0, ::2].tolist(), [0, 2])
        self.assertEqual(x[0, 0, 3:1].tolist(), [])
        self.assertEqual(x[None, 0].shape, (1, 3, 4))
        self.assertEqual(x[:, None, ..., None].shape, (2, 1, 3, 4, 1))
        self.assertEqual(x[lab.tensor([1, 0, 1])][2].tolist(), plain[1])
        self.assertEqual([row.shape for row in x], [(3, 4)] * 2)
        self.assertEqual(x[lab.tensor(1)].tolist(), plain[1])

    def test_wrong_indices(self):
        x = lab.zeros(2, 3)
        for key in (2, -3, (0, 0, 0), (..., ...), (0, 3)):
            with self.assertRaises(IndexError):
                x[key]
        first = lab.tensor([0, 1])
        for key in (True, (first, slice(None), first)):
            with self.assertRaises(lab.NotCoveredError):
                x[None][key]
        with self.assertRaisesRegex(ValueError, "out of bounds"):
            x[:, lab.tensor([3])]
        with self.assertRaises(TypeError):
            x["one"]
        with self.assertRaises(ValueError):
            x[::-1]

    def test_writing_through_an_index(self):
        x = lab.zeros(2, 3)
        x[0] = 1
        x[1, 1:] = lab.tensor([2.0, 3.0])
        x[:, 0] += 5
        self.assertEqual(x.tolist(), [[6, 1, 1], [5, 2, 3]])

    def test_shapes(self):
        x = lab.arange(6)
        self.assertEqual(x.view(2, -1).shape, (2, 3))
        self.assertEqual(x.reshape((3, 2)).t().tolist(), [[0, 2, 4], [1, 3, 5]])
        cube = x.view(1, 2, 3)
        self.assertEqual(cube.permute(2, 0, 1).shape, (3, 1, 2))
        self.assertEqual(cube.transpose(1, 2).shape, (1, 3, 2))
        self.assertEqual(cube.squeeze(0).shape, (2, 3))
        self.assertEqual(cube.squeeze().unsqueeze(1).shape, (2, 1, 3))
        self.assertEqual(cube.flatten(1).shape, (1, 6))
        self.assertEqual(cube.expand(4, 2, 3).shape, (4, 2, 3))
        for pieces, expected in (
            (x.chunk(3), [[0, 1], [2, 3], [4, 5]]),
            (x.split(4), [[0, 1, 2, 3], [4, 5]]),
            (x.split([1, 0, 5]), [[0], [], [1, 2, 3, 4, 5]]),
        ):
            self.assertEqual([piece.tolist() for piece in pieces], expected)
        self.assertEqual(lab.cat([x, x]).shape, (12,))
        self.assertEqual(lab.stack([x, x], 1).shape, (6, 2))

    def test_errors_leave_everything_as_it_was(self):
        x = lab.zeros(2, 3, device="cuda")
        for wrong in (
            lambda: x.view(5),
            lambda: x @ x,
            lambda: x + lab.zeros(4, device="cuda"),
            lambda: x + lab.zeros(2, 3),
            lambda: lab.zeros(1, 1, 1, 1, 1, 1, 1),
            lambda: lab.zeros(-1),
        ):
            with self.assertRaises(RuntimeError):
                wrong()
        lab.zeros(2, 3)  # and 2.0 is not taken for the 2 it is equal to
        for sizes in ((2.0,), (2.0, 3)):
            with self.assertRaisesRegex(TypeError, "float"):
                lab.zeros(*sizes)
        with self.assertRaises(TypeError):
            x + "one"
        self.assertEqual(self.allocated(), 512)
        del x


class Gradients(LabCase):
    def test_a_leaf_has_one(self):
        x = lab.tensor([1.0, 2.0], device="cuda", requires_grad=True)
        y = x * x
        self.assertIsNone(x.grad)
        y.sum().backward()
        self.close(x.grad, [2, 4])
        self.assertTrue(x.is_leaf)
        self.assertFalse(y.is_leaf)
        self.assertEqual(repr(y.grad_fn), "<MulBackward0>")
        self.assertIsNone(x.grad_fn)
        x.grad = None
        self.assertIsNone(x.grad)
        del x, y

    def test_what_backward_holds(self):
        x = lab.zeros(MIB, requires_grad=True, device="cuda")
        y = 5 * x
        self.assertEqual(self.allocated(), 8 * MIB)
        y.mean().backward()
        self.assertEqual(self.allocated(), 12 * MIB)
        self.assertEqual(self.figure("allocated_peak"), 16 * MIB + 1024)
        del x, y

    def test_retained_ones_are_there(self):
        x = lab.ones(3, requires_grad=True)
        y = x * 2
        y.retain_grad()
        (y * y).sum().backward()
        self.close(y.grad, [4, 4, 4])
        self.close(x.grad, [8, 8, 8])

    def test_no_grad(self):
        x = lab.ones(3, requires_grad=True)
        with lab.no_grad():
            self.assertFalse((x * 2).requires_grad)
            with lab.enable_grad():
                self.assertTrue((x * 2).requires_grad)
            self.assertFalse(lab.is_grad_enabled())
        self.assertTrue(lab.is_grad_enabled())

        @lab.no_grad()
        def quietly():
            return x * 2

        @lab.no_grad
        def quietly_too():
            return x * 2

        self.assertFalse(quietly().requires_grad)
        self.assertFalse(quietly_too().requires_grad)
        with lab.set_grad_enabled(False):
            self.assertFalse((x * 2).requires_grad)
        self.assertTrue((x * 2).requires_grad)
        lab.set_grad_enabled(False)
        self.assertFalse((x * 2).requires_grad)
        self.assertFalse(x.detach().requires_grad)

    def test_a_second_backward_is_refused(self):
        x = lab.ones(3, requires_grad=True)
        y = (x * x).sum()
        y.backward(retain_graph=True)
        y.backward()
        self.close(x.grad, [4, 4, 4])
        with self.assertRaises(RuntimeError):
            y.backward()

    def test_checkpoint_keeps_only_its_input(self):
        def segment(x):
            return ((x * 2).tanh() * 3).tanh()

        grads = []
        held = []
        for run in (segment, lambda x: lab.checkpoint(segment, x)):
            x = lab.full((MIB,), 0.25, device="cuda", requires_grad=True)
            y = run(x)
            held.append(self.allocated())
            y.mean().backward()
            grads.append(x.grad[3].item())
            del x, y
        self.assertEqual(grads[0], grads[1])
        self.assertEqual(held, [12 * MIB, 8 * MIB])
        self.assertEqual(self.allocated(), 0)

    def test_an_exception_in_a_checkpoint_is_the_one_raised(self):
        class Mine(Exception):
            pass

        calls = []

        def segment(x):
            calls.append(x)
            if len(calls) == 2:
                raise Mine("second run")
            return x * 2

        x = lab.ones(3, requires_grad=True)
        y = lab.checkpoint(segment, x)
        with self.assertRaisesRegex(Mine, "second run"):
            y.sum().backward()


if __name__ == "__main__":
    lab_case.main()
