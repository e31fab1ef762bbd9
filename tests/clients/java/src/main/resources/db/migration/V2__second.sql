ALTER TABLE parents ADD feeling mood DEFAULT 'sad';
CREATE INDEX parents_name ON parents (name);
