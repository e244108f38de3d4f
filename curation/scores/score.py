# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The score of an episode: four axes and what stands beside them, never one magic number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
import math

import numpy as np
from numpy.typing import NDArray

from curation.align.episode import Episode, Times
from curation.scores.coverage import final_state, gains, initial_state
from curation.scores.grasps import closings, gripper_index
from curation.scores.smoothness import Smoothness, smoothness
from teleop_bridge.clock import NANOSECONDS

IDLE_RAD_S = 0.02  # an arm slower than this in every joint idles


@dataclass(frozen=True)
class Score:
    """What was found in one episode; NaN where it can't be told, times in s.

    ``duration_ratio`` is against the median of the task's episodes, ``coverage_gain`` the distance
    of the initial state to the nearest earlier one of the task, in what ``coverage_basis`` says;
    ``final`` is the same of the end.
    ``grasps`` counts closings of the gripper, None where the rig has none.
    """

    episode_id: str
    name: str
    path: str
    task: str
    location: str
    operator_id: str
    session_id: str
    grade: str
    duration_s: float
    duration_ratio: float
    smoothness: Smoothness
    initial: NDArray[np.float64]
    final: NDArray[np.float64]
    coverage_basis: str
    coverage_gain: float
    grasps: int | None
    idle_share: float
    human_share: float
    interventions: int
    unnamed_interventions: int
    worst_staleness_s: float
    worst_staleness_stream: str
    masked: int
    problems: int


def score_all(episodes: Sequence[Episode]) -> list[Score]:
    """Score episodes against each other, in the order in which they were recorded."""
    return compare([measure(episode) for episode in episodes])


def measure(episode: Episode) -> Score:
    """Return what one episode alone tells: its ratio is 1, its coverage gain NaN."""
    times_s = (episode.grid_ns - episode.grid_ns[0]) / NANOSECONDS
    basis, initial = initial_state(episode)
    arm, events_s, grasps = _split_gripper(episode, times_s)
    known = np.isfinite(arm).all(axis=1)
    worst_s, worst_stream = _worst_staleness(episode)
    authority = episode.authority[np.isfinite(episode.authority)]
    return Score(
        episode_id=episode.id,
        name=episode.name,
        path=episode.path,
        task=episode.facts.task,
        location=episode.facts.location,
        operator_id=episode.facts.operator_id,
        session_id=episode.facts.session_id,
        grade=episode.facts.grade,
        duration_s=episode.duration_ns / NANOSECONDS,
        duration_ratio=1.0,
        smoothness=smoothness(times_s[known], arm[known], events_s=events_s),
        initial=initial,
        final=final_state(episode),
        coverage_basis=basis,
        coverage_gain=math.nan,
        grasps=grasps,
        idle_share=_idle_share(times_s[known], arm[known]),
        human_share=float(np.mean(authority)) if len(authority) else math.nan,
        interventions=len(episode.interventions),
        unnamed_interventions=sum(not entry.kind for entry in episode.interventions),
        worst_staleness_s=worst_s,
        worst_staleness_stream=worst_stream,
        masked=int(np.sum(~episode.valid)),
        problems=sum(problem.lost for problem in episode.problems),
    )


def compare(scores: Sequence[Score]) -> list[Score]:
    """Fill in what only other episodes of a task can tell; order is that of recording."""
    compared = list(scores)
    groups: dict[tuple[str, str, int], list[int]] = {}
    for index, score in enumerate(scores):
        key = score.task, score.coverage_basis, len(score.initial)
        groups.setdefault(key, []).append(index)
    medians = {
        task: float(np.median([s.duration_s for s in scores if s.task == task]))
        for task in {score.task for score in scores}
    }
    for members in groups.values():
        found = gains(np.array([scores[index].initial for index in members]))
        for index, gain in zip(members, found, strict=True):
            score = scores[index]
            median = medians[score.task]
            ratio = score.duration_s / median if median > 0 else math.nan
            compared[index] = replace(score, duration_ratio=ratio, coverage_gain=float(gain))
    return compared


def _split_gripper(
    episode: Episode, times_s: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], int | None]:
    """Return the arm's joints, the times of gripper events and the number of closings."""
    gripper = gripper_index(episode.rig)
    if gripper is None:
        return episode.state, np.empty(0), None
    opening = episode.state[:, gripper]
    known = np.flatnonzero(np.isfinite(opening))
    closed, opened = closings(opening[known]) if len(known) else (known, known)
    events: Times = np.sort(np.concatenate([closed, opened]))
    arm = np.delete(episode.state, gripper, axis=1)
    return arm, times_s[known[events]], len(closed)


def _idle_share(times_s: NDArray[np.float64], arm: NDArray[np.float64]) -> float:
    if len(times_s) < 2:
        return math.nan
    speed = np.abs(np.diff(arm, axis=0)) / np.diff(times_s)[:, None]
    return float(np.mean(np.all(speed < IDLE_RAD_S, axis=1)))


def _worst_staleness(episode: Episode) -> tuple[float, str]:
    """Return the longest staleness relative to what its stream allows, and that stream's name."""
    worst, worst_share, name = math.nan, -1.0, ''
    for track in episode.tracks.values():
        allowed = track.stream.max_age_ns
        if allowed is None or not track.valid.any():
            continue
        longest = int(np.max(track.staleness_ns[track.valid]))
        if longest / allowed > worst_share:
            worst, worst_share, name = longest / NANOSECONDS, longest / allowed, track.stream.name
    return worst, name
