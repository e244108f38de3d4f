# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Node: tells the operator how an episode was, right after its end."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
import sys

from rclpy.node import Node
from teleop_flywheel.msg import EpisodeScore, EpisodeStatus

from curation.scores.feedback import Feedback, SessionScorer
from recorder.episode import DISCARDED
from teleop_bridge.exceptions import FlywheelError
from teleop_bridge.nodes.parameters import declare_rig
from teleop_bridge.nodes.qos import LATCHED
from teleop_bridge.nodes.run import run
from teleop_bridge.rig.loader import load_rig
from teleop_bridge.vocabulary import SessionState


class EpisodeScorerNode(Node):
    """Scores each bag that the recorder closed, in a thread, one after another."""

    def __init__(self) -> None:
        super().__init__('episode_scorer')
        path = declare_rig(self)
        self._scorer = SessionScorer(load_rig(path) if path else None)
        self._worker = ThreadPoolExecutor(max_workers=1)
        self._last_bag = ''
        self._publisher = self.create_publisher(EpisodeScore, 'episode_score', LATCHED)
        self.create_subscription(EpisodeStatus, 'recorder/status', self._on_status, LATCHED)

    def destroy_node(self) -> None:
        """Drop what was not scored yet: it is in its bag."""
        self._worker.shutdown(cancel_futures=True)
        super().destroy_node()

    def _on_status(self, status: EpisodeStatus) -> None:
        if status.state == SessionState.RECORDING or status.bag in ('', self._last_bag):
            return
        self._last_bag = status.bag
        bag = Path(status.bag)
        if bag.parent.name == DISCARDED:
            return
        future = self._worker.submit(self._scorer.score, bag)
        future.add_done_callback(lambda future: self._tell(bag, future))

    def _tell(self, bag: Path, future: Future[Feedback | None]) -> None:
        if future.cancelled():
            return
        try:
            feedback = future.result()
        except FlywheelError as error:
            self.get_logger().error(f'{bag.name} can not be scored: {error}')
            return
        if feedback is not None:
            self._publisher.publish(self._message(feedback))
            self.get_logger().info(f'{bag.name}: {" ".join(feedback.judgement.sentences)}')

    def _message(self, feedback: Feedback) -> EpisodeScore:
        score, judgement = feedback.score, feedback.judgement
        message = EpisodeScore(
            episode_id=score.episode_id,
            bag=score.path,
            task=score.task,
            grade=score.grade,
            duration_s=score.duration_s,
            duration_ratio=score.duration_ratio,
            smoothness=score.smoothness.ranking,
            coverage_gain=score.coverage_gain,
            worst_staleness_s=score.worst_staleness_s,
            worst_staleness_stream=score.worst_staleness_stream,
            interventions=score.interventions,
            verdict=judgement.verdict.value,
            sentences=list(judgement.sentences),
        )
        message.header.stamp = self.get_clock().now().to_msg()
        return message


def main() -> None:
    """Run the node."""
    sys.exit(run(EpisodeScorerNode))


if __name__ == '__main__':
    main()
