"""The command's answers as objects: each field is one of its JSON, by the same
name.  Bytes are counted as in larder-report(1), larder-tune(1), larder-replay(1)
and docs/FIT.md."""

import html
from dataclasses import dataclass
from typing import Any, Optional

from larder._typed import read


class Result:
    """An answer of the command: str() of it is the command's own text."""

    _asked = None  # the question, which can be asked again for the text
    _said = None

    @classmethod
    def _of(cls, said, asked):
        made = read(cls, said)
        object.__setattr__(made, "_asked", asked)
        object.__setattr__(made, "_said", said)
        return made

    @property
    def json(self):
        """The JSON that it was made from, as a dict."""
        return self._said

    def __str__(self):
        return self._asked.text()

    def __repr__(self):
        return f"<larder.{type(self).__name__}: {self._brief()}>"

    def _brief(self):
        return getattr(self, "verdict", "")

    def _repr_html_(self):
        return f"<pre>{html.escape(str(self))}</pre>"

    def __reduce__(self):
        # The sources may be temporary: an object sent to another process carries
        # its text.
        return _unpickled, (type(self), self._said, str(self))


class Told:
    """Replaces a question that cannot be asked again: a run is not repeated, and
    another process does not have the sources."""

    def __init__(self, text):
        self._text = text

    def text(self):
        return self._text

    def page(self):
        return None


def _unpickled(kind, said, text):
    return kind._of(said, Told(text))


# A notebook stores what it shows: larger pages should be separate files.
_INLINE_MAX = 4 << 20


class _Shown(Result):
    """A result with a page."""

    @property
    def page(self):
        """The page of `larder view`: HTML in one piece, for a file or a browser.
        None in another process than the one that asked."""
        return self._asked.page()

    def _repr_html_(self):
        page = self.page
        if page is None or len(page) > _INLINE_MAX:
            return super()._repr_html_()
        # A separate sandbox: nothing in it can access the notebook.
        return (
            '<iframe sandbox="allow-scripts" width="100%" height="720" '
            f'style="border:0" srcdoc="{html.escape(page)}"></iframe>'
        )


# ---- report -------------------------------------------------------------------


@dataclass(frozen=True)
class Verdict:
    """The three lines."""

    what: str
    who: str
    do: str
    saves_bytes: int
    saving: dict[str, Any]


@dataclass(frozen=True)
class _Held:
    bytes: int
    requested_bytes: int
    count: int


@dataclass(frozen=True)
class Line(_Held):
    frame: str


@dataclass(frozen=True)
class CallPath(_Held):
    frames: tuple[str, ...]


@dataclass(frozen=True)
class Category(_Held):
    category: str


@dataclass(frozen=True)
class AtPeak:
    reserved_bytes: int
    allocated_bytes: int
    pending_bytes: int
    free_bytes: int
    largest_free_bytes: int
    free_pieces: int


@dataclass(frozen=True)
class OutOfMemory:
    event: int
    asked_bytes: int
    device_free_bytes: int
    explanation: Optional[str]


@dataclass(frozen=True)
class Curves:
    requested: tuple[int, ...]
    allocated: tuple[int, ...]
    reserved: tuple[int, ...]


@dataclass(frozen=True)
class Finding:
    title: str
    text: str


@dataclass(frozen=True)
class IterationPeak:
    begin_event: int
    peak_allocated_bytes: int


@dataclass(frozen=True)
class Device:
    device: int
    events: int
    segments: int
    oom_events: int
    peak_allocated_bytes: int
    peak_requested_bytes: int
    peak_reserved_bytes: int
    peak_event: int
    duration_us: int
    driver_time_ns: int
    iterations: int
    unexplained_events: int
    actions: dict[str, int]
    top: tuple[Line, ...]
    paths: tuple[CallPath, ...]
    categories: tuple[Category, ...]
    at_peak: AtPeak
    ooms: tuple[OutOfMemory, ...]
    over_time: Curves
    findings: tuple[Finding, ...]
    before: int
    iterations_marked: bool
    iteration_peaks: tuple[IterationPeak, ...]
    verdict: Verdict
    by: tuple[dict[str, Any], ...]
    has_history: bool
    repeats: str
    categories_recorded_bytes: int


@dataclass(frozen=True, repr=False)
class Report(_Shown):
    """`larder report`: where memory went, and why it ran out."""

    file: str
    devices: tuple[Device, ...]
    lost_events: int
    peak_allocated_bytes: int = 0
    peak_requested_bytes: int = 0
    peak_reserved_bytes: int = 0
    events: int = 0
    segments: int = 0
    oom_events: int = 0
    top: tuple[Line, ...] = ()

    @property
    def verdict(self):
        """The three lines of the device that ran out of memory, or that holds
        most; None for a snapshot without devices."""
        if not self.devices:
            return None
        return max(
            self.devices,
            key=lambda d: (d.oom_events > 0, d.peak_reserved_bytes),
        ).verdict

    def _brief(self):
        return f"{self.file}: {self.verdict.what if self.verdict else 'empty'}"


# ---- report of several --------------------------------------------------------


@dataclass(frozen=True)
class HeldLine:
    bytes: int
    count: int
    frame: str


@dataclass(frozen=True)
class Rank:
    """A device of a snapshot.  `asked_bytes`: by the last request that failed,
    0 if none did."""

    file: str
    device: int
    events: int
    peak_allocated_bytes: int
    peak_reserved_bytes: int
    asked_bytes: int
    cause: Optional[str]
    requester: Optional[str]
    top: tuple[HeldLine, ...]


@dataclass(frozen=True)
class Spread:
    min: int
    median: int
    max: int


@dataclass(frozen=True)
class Outlier:
    """How a rank differs from the median one: `rank` is its place in the list,
    `over_bytes` is negative if it holds less."""

    rank: int
    over_bytes: int
    frame: Optional[str]
    frame_bytes: int


@dataclass(frozen=True)
class Common:
    cause: Optional[str]
    requester: Optional[str]
    cause_ranks: int
    frame: Optional[str]
    frame_ranks: int


@dataclass(frozen=True, repr=False)
class Ranks(_Shown):
    """`larder report` of several snapshots: the ranks of one job.  The page has
    the worst and the median."""

    ranks: tuple[Rank, ...]
    failed: int
    worst: int
    allocated_bytes: Spread
    reserved_bytes: Spread
    outliers: tuple[Outlier, ...]
    common: Common

    def _brief(self):
        return f"{len(self.ranks)}, {self.failed} ran out of memory"


# ---- fit and tune -------------------------------------------------------------


@dataclass(frozen=True)
class _Replayed:
    policy: str
    conf: Optional[str]
    verdict: str
    fits: Optional[bool]
    min_capacity_bytes: Optional[int]
    short_bytes: int
    peak_allocated_bytes: int
    peak_reserved_bytes: int
    driver_calls: int
    driver_time_ns: int


@dataclass(frozen=True)
class Candidate(_Replayed):
    """The recording under a setting.  `conf` None: no setting helps.
    `min_capacity_bytes` None: no device is large enough."""


@dataclass(frozen=True)
class Reach:
    """How far a program was run."""

    steps: Optional[int]
    ended: bool
    grows_bytes_per_step: int


@dataclass(frozen=True)
class Scope(Reach):
    """How far the recording goes."""

    next_step_bytes: int


@dataclass(frozen=True)
class Input:
    """A rank, or a device of it."""

    file: str
    conf: str
    capacity_bytes: Optional[int]
    fits: bool
    min_capacity_bytes: Optional[int]
    peak_allocated_bytes: int
    peak_reserved_bytes: int
    device: Optional[int] = None


@dataclass(frozen=True, repr=False)
class _Judged(Result):
    """What `larder tune` and `larder fit` say of the card and the recording."""

    context_bytes: int
    scope: Scope
    by_beginning: bool
    ops: int
    ops_per_second: float
    inputs: tuple[Input, ...]


@dataclass(frozen=True, repr=False)
class Tune(_Judged):
    """`larder tune`: the settings under which it fits, or needs least."""

    verdict: str
    fits: Optional[bool]
    now: Candidate
    best: Candidate
    candidates: tuple[Candidate, ...]
    capacity_bytes: Optional[int]

    def _brief(self):
        return self.best.conf or "no setting helps"


@dataclass(frozen=True, repr=False)
class Fit(_Judged, _Replayed):
    """`larder fit`: whether it fits on a card, and what makes it fit."""

    cures: tuple[Candidate, ...]
    capacity_bytes: int


# ---- diff ---------------------------------------------------------------------


@dataclass(frozen=True)
class LineDiff:
    frame: str
    bytes: tuple[int, int]


@dataclass(frozen=True)
class DeviceDiff:
    """Each pair: of the first snapshot, and of the second."""

    device: int
    lines: tuple[LineDiff, ...]
    peak_allocated_bytes: tuple[int, int]
    peak_requested_bytes: tuple[int, int]
    peak_reserved_bytes: tuple[int, int]
    unused_bytes: tuple[int, int]
    events: tuple[int, int]
    allocations: tuple[int, int]
    oom_events: tuple[int, int]
    driver_calls: tuple[int, int]
    driver_time_ns: tuple[int, int]
    iterations: tuple[int, int]


@dataclass(frozen=True, repr=False)
class Diff(_Shown):
    """`larder diff` of two snapshots."""

    files: tuple[str, str]
    devices: tuple[DeviceDiff, ...]
    same: bool

    def _brief(self):
        return "same" if self.same else "different"


# ---- replay -------------------------------------------------------------------


@dataclass(frozen=True)
class RecordedOom:
    """The request that failed in the recording, made again."""

    bytes: int
    event: int
    fits: bool
    short_bytes: int
    device_bytes: int
    min_capacity_bytes: Optional[int]
    by_beginning: bool
    cures: tuple[Any, ...]
    larder_fits: bool


@dataclass(frozen=True)
class Run:
    """A replay of one device.  None: not asked for, or not known of a trace."""

    trace: str
    policy: str
    conf: str
    ops: int
    oom_op: Optional[int]
    oom_count: int
    peak_requested_bytes: int
    peak_allocated_bytes: int
    peak_reserved_bytes: int
    peak_fragmentation: Optional[float]
    driver_allocs: int
    driver_frees: int
    pages_created: int
    pages_mapped: int
    pages_unmapped: int
    stream_syncs: int
    driver_calls: int
    driver_time_ns: int
    ns_per_op: Optional[float]
    later_driver_calls: Optional[int] = None
    later_driver_time_ns: Optional[int] = None
    min_capacity_bytes: Optional[int] = None
    device: Optional[int] = None
    rolled_back: Optional[int] = None
    unmatched_frees: Optional[int] = None
    overwritten: Optional[int] = None
    zero_sizes: Optional[int] = None
    deferred: Optional[int] = None
    empty_caches: Optional[int] = None
    pools: Optional[int] = None
    pool_allocs: Optional[int] = None
    unpooled: Optional[int] = None
    recorded_ooms: Optional[int] = None
    recorded_oom: Optional[RecordedOom] = None
    recorded_placements: Optional[int] = None
    recorded_same: Optional[int] = None
    recorded_first_difference: Optional[dict[str, Any]] = None
    recorded_segment_events: Optional[int] = None
    recorded_segments_same: Optional[bool] = None
    recorded_segments_difference: Optional[str] = None
    recorded_end_same: Optional[bool] = None
    recorded_end_difference: Optional[str] = None
    recorded_not_compared: Optional[str] = None


@dataclass(frozen=True, repr=False)
class Replay(Result):
    """`larder replay`: a run for each device with a history."""

    runs: tuple[Run, ...]

    def _brief(self):
        return f"{len(self.runs)} of {self.runs[0].trace}" if self.runs else ""


# ---- run ----------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Estimate(Result):
    """`larder run`: whether a program would fit, run without a GPU.  `json` has
    more."""

    engine: str
    verdict: str
    fits: Optional[bool]
    scope: Reach
    peak_allocated_bytes: int
    peak_reserved_bytes: int
    min_capacity_bytes: int
    by_category: dict[str, int]
    needed_bytes: dict[str, int]
    cards: Optional[dict[str, bool]] = None
    serving: Optional[dict[str, Any]] = None
    advice: Optional[tuple[dict[str, Any], ...]] = None
