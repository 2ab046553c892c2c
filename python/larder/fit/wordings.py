"""The assumptions about unknown values (assumptions.py) in the words of the report,
which needs no PyTorch."""

# In JSON.
NO_INFINITY = "no infinity, no NaN is found"
BALANCE = "experts are chosen in turn"
LENGTH = "what is generated ends at its length"
ALL_COUNT = "all elements of an unknown mask count"
ONCE = "repeat_interleave repeats each element once"
BELOW = "numbers counted by bincount are smaller than their count"

TEXTS = {
    NO_INFINITY: "no infinities or NaNs occur",
    BALANCE: "experts are selected in turn",
    LENGTH: "generation runs to its maximum length",
    ALL_COUNT: "an unknown mask selects every element",
    ONCE: ONCE,
    BELOW: BELOW,
}
