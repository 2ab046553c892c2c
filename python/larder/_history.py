"""Structures of larder/history.h that both libraries use."""

from larder._loading import structure

HistoryOptions = structure(
    "larder_history_options",
    """
    size z  max_events Q  stacks i  depth u  skip_actions u  stackless_actions u
    stack_bytes Q  stack_fn p  stack_ctx p  counted i
    """,
)
