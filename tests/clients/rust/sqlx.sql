DROP TABLE IF EXISTS sqlx_t, sqlx_moved, _sqlx_migrations;
DROP TYPE IF EXISTS sqlx_mood;
CREATE TYPE sqlx_mood AS ENUM ('sad', 'ok');
CREATE TABLE sqlx_t (id serial PRIMARY KEY, name text NOT NULL, mood sqlx_mood, tags text[], doc jsonb, at timestamptz NOT NULL DEFAULT now());
