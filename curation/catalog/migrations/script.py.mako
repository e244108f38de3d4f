# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""${message}."""

from alembic import op
import sqlalchemy as sa

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Change the schema."""
    ${upgrades}


def downgrade() -> None:
    """Change it back."""
    ${downgrades}
