# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The same function over many items: in this process, in threads, processes, or a Ray cluster.

Whichever is chosen, results are the same and come in the items' order. An item that fails is
returned as a ``Failure`` and does not stop the rest; items of a worker that was lost are tried
again, and fail only where they take every worker with them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor as Pool
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from enum import Enum
import logging
import multiprocessing
import os
import pickle
import socket
from typing import Any, Generic, Protocol, TypeVar

from curation.exceptions import WorkerLostError
from teleop_bridge.exceptions import FlywheelError, MissingDependencyError

T = TypeVar('T')
R = TypeVar('R')

ATTEMPTS = 3      # of an item whose worker is lost
_AHEAD = 4        # items given out per worker before the first is done
_CONNECT_S = 5.0  # to a cluster, before it is thought not to be there


class Kind(Enum):
    """Where work runs."""

    SERIAL = 'serial'
    THREADS = 'threads'
    PROCESSES = 'processes'
    RAY = 'ray'


@dataclass(frozen=True)
class Failure:
    """An item that gave an error instead of a result."""

    error: Exception

    def __str__(self) -> str:
        return str(self.error) or type(self.error).__name__

    def about(self, item: object) -> str:
        """Return one sentence that names the item, which an unexpected error does not."""
        return str(self) if isinstance(self.error, FlywheelError) else f'{item}: {self.error!r}'


class Executor(Protocol):
    """Runs a function, which must be importable where workers are processes, over items."""

    def run(self, function: Callable[[T], R], items: Sequence[T]) -> Iterator[R | Failure]:
        """Yield each item's result or failure, in order."""


def make_executor(kind: Kind, jobs: int = 0, address: str = '') -> Executor:
    """Return an executor with that many workers, 0 for one a core; ``address`` is Ray's.

    Raises MissingDependencyError for Ray where it is not installed.
    """
    workers = jobs or len(os.sched_getaffinity(0))
    if kind is Kind.RAY:
        return RayExecutor(address)
    if kind is Kind.SERIAL or workers == 1 and kind is Kind.THREADS:
        return SerialExecutor()
    return ThreadExecutor(workers) if kind is Kind.THREADS else ProcessExecutor(workers)


class SerialExecutor:
    """One item after another, here."""

    def run(self, function: Callable[[T], R], items: Sequence[T]) -> Iterator[R | Failure]:
        """Yield each item's result or failure, in order."""
        for item in items:
            yield _guarded(function, item)


@dataclass(frozen=True)
class ThreadExecutor:
    """Threads of this process: for work that is done outside of Python's lock."""

    workers: int

    def run(self, function: Callable[[T], R], items: Sequence[T]) -> Iterator[R | Failure]:
        """Yield each item's result or failure, in order."""
        with ThreadPoolExecutor(self.workers) as pool:
            jobs = [pool.submit(_guarded, function, item) for item in items]
            try:
                for job in jobs:
                    yield job.result()
            finally:
                pool.shutdown(cancel_futures=True)


@dataclass(frozen=True)
class ProcessExecutor:
    """Processes on this machine."""

    workers: int

    def run(self, function: Callable[[T], R], items: Sequence[T]) -> Iterator[R | Failure]:
        """Yield each item's result or failure, in order."""
        at = 0
        while at < len(items):
            try:
                for result in self._pooled(function, items[at:]):
                    yield result
                    at += 1
            except BrokenProcessPool:
                # Any of those under way may have taken the worker with it: one at a time, the
                # culprit shows itself and the others get their results.
                for item in items[at:at + self.workers * _AHEAD]:
                    yield self._alone(function, item)
                    at += 1

    def _pooled(self, function: Callable[[T], R], items: Sequence[T]) -> Iterator[R | Failure]:
        with self._pool(min(self.workers, len(items))) as pool:
            waiting = [pool.submit(_guarded, function, i) for i in items[:self.workers * _AHEAD]]
            given = len(waiting)
            try:
                while waiting:
                    yield waiting.pop(0).result()
                    if given < len(items):
                        waiting.append(pool.submit(_guarded, function, items[given]))
                        given += 1
            finally:
                pool.shutdown(cancel_futures=True)

    def _alone(self, function: Callable[[T], R], item: T) -> R | Failure:
        for _ in range(ATTEMPTS - 1):
            try:
                with self._pool(1) as pool:
                    return pool.submit(_guarded, function, item).result()
            except BrokenProcessPool:
                continue
        return Failure(_lost(item))

    def _pool(self, workers: int) -> Pool:
        return ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context('spawn'))


def _reach(address: str) -> None:
    """Raise OSError where nobody listens at HOST:PORT: Ray itself would try for minutes."""
    host, _, port = address.rpartition(':')
    if host and port.isdecimal() and '://' not in address:
        socket.create_connection((host, int(port)), timeout=_CONNECT_S).close()


class RayExecutor(Generic[T]):
    """A Ray cluster: ``address`` as for ``ray.init``, 'auto' or empty for the one that is there.

    Paths must mean the same on every node: a shared file system, or URLs.
    """

    def __init__(self, address: str = '') -> None:
        try:
            import ray
        except ImportError as error:
            raise MissingDependencyError('--executor ray needs Ray: pip install ray') from error
        self._ray: Any = ray
        if not ray.is_initialized():
            try:
                _reach(address)
                ray.init(address or 'auto', log_to_driver=False, logging_level=logging.ERROR)
            except (OSError, RuntimeError, ValueError) as error:
                raise FlywheelError(
                    f"Ray: expected a cluster at '{address or 'auto'}', found none ({error}); "
                    "'ray start --head' starts one"
                ) from error

    def run(self, function: Callable[[Any], R], items: Sequence[Any]) -> Iterator[R | Failure]:
        """Yield each item's result or failure, in order."""
        ray = self._ray
        remote = ray.remote(max_retries=ATTEMPTS - 1)(_guarded)
        shared = ray.put(function)
        ahead = _AHEAD * max(1, int(ray.cluster_resources().get('CPU', 1)))
        waiting = deque(remote.remote(shared, item) for item in items[:ahead])
        for at, item in enumerate(items):
            job = waiting.popleft()
            try:
                yield ray.get(job)
            except (ray.exceptions.WorkerCrashedError, ray.exceptions.NodeDiedError):
                yield Failure(_lost(item))
            except ray.exceptions.RayError as error:  # such as code that a node does not have
                yield Failure(FlywheelError(f'{item}: Ray: {error}'))
            if at + ahead < len(items):
                waiting.append(remote.remote(shared, items[at + ahead]))


def _guarded(function: Callable[[T], R], item: T) -> R | Failure:
    try:
        return function(item)
    except Exception as error:  # whatever one bag causes must not end the others
        return Failure(_portable(error))


def _portable(error: Exception) -> Exception:
    """Return an error that can leave its process: what can't would take the worker with it."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f'{type(error).__name__}: {error}')
    return error


def _lost(item: object) -> WorkerLostError:
    return WorkerLostError(f'{item}: its worker was lost {ATTEMPTS} times')
