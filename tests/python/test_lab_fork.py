"""A process that multiprocessing forks has no part in its parent's tensors."""

import multiprocessing
import threading

import lab_case
from lab_case import LabCase

from larder import lab


def child(tensor, answers):
    """What each attempt comes to: the words of its error, or None."""
    words = []
    for attempt in (
        lambda: lab.zeros(1024, device="cuda"),
        lambda: tensor + 1,
        lambda: lab.session().memory(),
    ):
        try:
            attempt()
            words.append(None)
        except Exception as error:  # whichever: its words are looked at
            words.append(str(error))
    answers.put(words)


class Forks(LabCase):
    def test_a_child_is_refused_and_its_parents_bytes_stay(self):
        fork = multiprocessing.get_context("fork")
        tensor = lab.full((4096,), 7.0, device="cuda")
        ends = threading.Event()

        def churn():
            while not ends.is_set():
                lab.zeros(65536, device="cuda")

        thread = threading.Thread(target=churn)
        thread.start()
        try:
            for _ in range(5):
                answers = fork.Queue()
                process = fork.Process(target=child, args=(tensor, answers))
                process.start()
                words = answers.get(timeout=20)
                process.join(20)
                self.assertEqual(process.exitcode, 0)
                for said in words[:2]:
                    self.assertIn("before a fork", said or "nothing")
        finally:
            ends.set()
            thread.join()
        self.assertEqual(tensor.sum().item(), 7.0 * 4096)


if __name__ == "__main__":
    lab_case.main()
