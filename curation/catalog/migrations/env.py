# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Where Alembic enters: changes the schema within the transaction that open_catalog began."""

from alembic import context

from curation.catalog.tables import METADATA

context.configure(
    connection=context.config.attributes['connection'],
    target_metadata=METADATA,
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
