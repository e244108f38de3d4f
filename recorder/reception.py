# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""When a message arrived, on the session's clock."""

MAX_QUEUED_NS = 1_000_000_000  # a message said to have waited longer met a step of the wall clock


def reception_ns(received_ns: int, *, wall_ns: int, session_ns: int) -> int:
    """Return the session time of a reception that the middleware stamped with wall time.

    ``wall_ns`` and ``session_ns`` are now. How long the message waited is all that is taken from
    the wall clock, so that a step of it shifts nothing; a wait that a step made impossible counts
    as none.
    """
    waited = wall_ns - received_ns
    return session_ns - waited if 0 <= waited <= MAX_QUEUED_NS else session_ns
