# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""What people said of episodes afterwards, and the outlines by which near-copies are found."""

from alembic import op
import sqlalchemy as sa

revision = '0002'
down_revision = '0001'
branch_labels = None
depends_on = None

_ADDED = {
    'episodes': ('recorded_grade', 'verdict'),
    'interventions': ('recorded_kind', 'recorded_reason'),
}


def upgrade() -> None:
    """Change the schema; bags are read again, since the new columns come from them."""
    op.create_table(
        'annotations',
        sa.Column('id', sa.Text(), nullable=False),
        sa.Column('file', sa.Text(), nullable=False),
        sa.Column('position', sa.BigInteger(), nullable=False),
        sa.Column('episode_id', sa.Text(), nullable=False),
        sa.Column('at', sa.Text(), nullable=False),
        sa.Column('by', sa.Text(), nullable=False),
        sa.Column('what', sa.Text(), nullable=False),
        sa.Column('value', sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_annotations')),
    )
    op.create_index(op.f('ix_annotations_episode_id'), 'annotations', ['episode_id'])
    for table, columns in _ADDED.items():
        for column in columns:
            op.add_column(
                table, sa.Column(column, sa.Text(), server_default='', nullable=False)
            )
    outline = sa.Column('outline', sa.LargeBinary(), server_default='', nullable=False)
    op.add_column('scores', outline)
    op.execute("UPDATE files SET changed_ns = -1 WHERE error = ''")


def downgrade() -> None:
    """Change it back."""
    op.drop_column('scores', 'outline')
    for table, columns in _ADDED.items():
        for column in columns:
            op.drop_column(table, column)
    op.drop_index(op.f('ix_annotations_episode_id'), table_name='annotations')
    op.drop_table('annotations')
