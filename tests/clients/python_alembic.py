"""Alembic: revisions up and down, and what it finds to be different between models and the database."""

import os, pathlib, shutil
from alembic import command
from alembic.autogenerate import compare_metadata, produce_migrations, render_python_code
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import (
    ARRAY, Boolean, CheckConstraint, Column, Computed, DateTime, Enum, ForeignKey, Identity, Index, Integer, MetaData,
    Numeric, String, Table, Text, UniqueConstraint, create_engine, func, inspect, text,
)
from sqlalchemy.dialects.postgresql import JSONB, UUID

host, port = os.environ["PGHOST"], os.environ["PGPORT"]
url = f"postgresql+psycopg://{os.environ['PGUSER']}:@{host}:{port}/{os.environ['PGDATABASE']}"
engine = create_engine(url)

folder = pathlib.Path(os.environ["WORK"]) / "alembic"
shutil.rmtree(folder, ignore_errors=True)
(folder / "versions").mkdir(parents=True)
(folder / "env.py").write_text("""
from alembic import context
from sqlalchemy import create_engine
with create_engine(context.config.get_main_option("sqlalchemy.url")).connect() as connection:
    context.configure(connection=connection, target_metadata=None, version_table="alembic_marks")
    with context.begin_transaction():
        context.run_migrations()
""")
(folder / "versions" / "first.py").write_text("""
from alembic import op
import sqlalchemy as sa
revision, down_revision = "first", None
def upgrade():
    op.create_table("al_first", sa.Column("id", sa.Integer, primary_key=True), sa.Column("name", sa.String(20)))
    op.create_index("al_first_name", "al_first", ["name"], unique=True, postgresql_where=sa.text("id > 0"))
def downgrade():
    op.drop_table("al_first")
""")
(folder / "versions" / "second.py").write_text("""
from alembic import op
import sqlalchemy as sa
revision, down_revision = "second", "first"
def upgrade():
    op.add_column("al_first", sa.Column("size", sa.Integer, nullable=False, server_default="0"))
    op.alter_column("al_first", "name", type_=sa.Text(), nullable=False, new_column_name="title")
    op.create_check_constraint("al_first_size", "al_first", "size >= 0")
    op.create_table_comment("al_first", "moved")
def downgrade():
    op.drop_table_comment("al_first")
    op.drop_constraint("al_first_size", "al_first")
    op.alter_column("al_first", "title", type_=sa.String(20), nullable=True, new_column_name="name")
    op.drop_column("al_first", "size")
""")
config = Config()
config.set_main_option("script_location", str(folder))
config.set_main_option("path_separator", "os")
config.set_main_option("sqlalchemy.url", url)
with engine.begin() as connection:
    connection.execute(text("DROP TABLE IF EXISTS al_first, alembic_marks"))
command.upgrade(config, "head")
found = inspect(engine)
assert [column["name"] for column in found.get_columns("al_first")] == ["id", "title", "size"]
assert found.get_table_comment("al_first") == {"text": "moved"}
command.downgrade(config, "first")
assert [column["name"] for column in inspect(engine).get_columns("al_first")] == ["id", "name"]
command.downgrade(config, "base")
assert not inspect(engine).has_table("al_first")

metadata = MetaData()
parents = Table(
    "al_parents", metadata,
    Column("id", Integer, Identity(), primary_key=True),
    Column("code", UUID, server_default=func.gen_random_uuid(), unique=True),
    Column("name", String(40), nullable=False, comment="called so"),
    Column("kind", Enum("a", "b", name="al_kind"), server_default="a"),
    Column("tags", ARRAY(Text)),
    Column("facts", JSONB, server_default="{}"),
    Column("made", DateTime(timezone=True), server_default=func.now()),
    Column("price", Numeric(10, 2)),
    Column("weight", Numeric(10, 2)),
    Column("gross", Numeric(12, 2), Computed("price * 1.2", persisted=True)),
    Column("on", Boolean, server_default=text("true")),
    CheckConstraint("price >= 0", name="al_price"),
    comment="parents",
)
Table(
    "al_children", metadata,
    Column("id", Integer, primary_key=True),
    Column("parent", ForeignKey("al_parents.id", ondelete="CASCADE", deferrable=True, initially="DEFERRED")),
    Column("place", Integer, nullable=False),
    UniqueConstraint("parent", "place", name="al_place"),
    Index("al_lower", text("lower(parent::text)")),
    Index("al_part", "place", postgresql_where=text("place > 10")),
)
only = {"include_object": lambda thing, name, kind, reflected, other: kind != "table" or name.startswith("al_"),
        "compare_type": True, "compare_server_default": True}


def differences():
    with engine.connect() as connection:
        return compare_metadata(MigrationContext.configure(connection, opts=only), metadata)


metadata.drop_all(engine)
assert {difference[0] for difference in differences()} == {"add_table", "add_index"}
metadata.create_all(engine)
assert differences() == [], differences()
with engine.begin() as connection:
    connection.execute(text("ALTER TABLE al_parents ALTER weight TYPE numeric(12, 2), ADD extra integer, ALTER name DROP NOT NULL"))
    connection.execute(text("DROP INDEX al_part"))
kinds = sorted(step[0] if isinstance(step, tuple) else step[0][0] for step in differences())
assert kinds == ["add_index", "modify_nullable", "modify_type", "remove_column"], kinds
with engine.connect() as connection:
    steps = produce_migrations(MigrationContext.configure(connection, opts=only), metadata)
    assert "op.drop_column('al_parents', 'extra')" in render_python_code(steps.upgrade_ops)
metadata.drop_all(engine)
