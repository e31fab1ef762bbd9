CREATE OR REPLACE VIEW feelings AS SELECT name, feeling FROM parents;
