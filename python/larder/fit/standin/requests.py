"""PyTorch's recording as a ledger: each allocation with its purpose."""

from larder.fit import ledger


class Builder:
    """Builds the ledger of one device. Events and notes can come in parts."""

    def __init__(self):
        self.book = ledger.Ledger()
        self._notes = []
        self._next = 0  # note
        self._place = 0
        self._live = {}  # address -> allocation
        self._streams = {0: 0}
        self._scope = (ledger.OTHER, "", 0)
        self._is_over = False
        self.failed = 0  # requests

    def _take_notes(self):
        """Take the notes made before the next event."""
        while self._next < len(self._notes):
            place, what, value = self._notes[self._next]
            if place > self._place:
                return
            self._next += 1
            getattr(self, "_note_" + what)(value)

    def _note_scope(self, scope):
        self._scope = scope

    def _note_mark(self, text):
        self.book.mark(text)

    def _note_kinds(self, kinds):
        for address, kind in kinds:
            number = self._live.get(address)
            if number is not None:
                self.book.records[number][ledger.KIND] = kind

    def _note_workspaces(self, _):
        """Blocks freed after this are workspaces of libraries."""
        self._is_over = True

    def _free(self, event):
        # An allocation from before the recording has no number.
        number = self._live.pop(event["addr"], None)
        if number is None:
            return
        if self._is_over:
            self.book.records[number][ledger.KIND] = ledger.WORKSPACE
        else:
            self.book.drop(number)

    def _stream(self, handle):
        return self._streams.setdefault(handle, len(self._streams))

    def _alloc(self, event):
        phase, module, step = self._scope
        frames = event.get("frames", ())
        place = ledger.innermost((one["filename"], one["line"]) for one in frames)
        self._live[event["addr"]] = self.book.add(
            [
                event["size"], self._stream(event["stream"]), phase, module, "",
                *place, None, step,
            ]
        )

    def feed(self, events, notes):
        """`events`: from PyTorch's snapshot; `notes`: of watching.Notes."""
        self._notes, self._next = notes, 0
        for event in events:
            action = event["action"]
            if action in ("alloc", "free_requested"):
                self._take_notes()
                self._place += 1
            if action == "alloc":
                self._alloc(event)
            elif action == "free_completed":
                self._free(event)
            elif action == "oom":
                self.failed += 1
        self._take_notes()
