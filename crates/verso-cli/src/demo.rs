//! The sample database of `verso shell --demo`.

/// Makes and fills two small tables.
pub const SCRIPT: &str = "
CREATE TABLE book (
    id      INTEGER PRIMARY KEY,
    title   VARCHAR(60) NOT NULL,
    author  VARCHAR(40) NOT NULL,
    year    INTEGER,
    price   NUMERIC(8,2)
);
INSERT INTO book VALUES
    (1, 'Transaction Processing', 'Gray, Reuter', 1992, 84.00),
    (2, 'Concurrency Control and Recovery', 'Bernstein, Hadzilacos, Goodman', 1987, 35.50),
    (3, 'Transactional Information Systems', 'Weikum, Vossen', 2001, 79.90),
    (4, 'Database Management Systems', 'Ramakrishnan, Gehrke', 2002, 95.00),
    (5, 'Readings in Database Systems', 'Stonebraker, Hellerstein', 1998, NULL),
    (6, 'The Art of Computer Programming 3', 'Knuth', 1998, 62.30);
CREATE TABLE reading (
    book     INTEGER NOT NULL REFERENCES book,
    day      DATE NOT NULL,
    pages    INTEGER NOT NULL CHECK (pages > 0),
    PRIMARY KEY (book, day)
);
INSERT INTO reading VALUES
    (1, '2026-01-05', 24), (1, '2026-01-06', 31), (1, '2026-01-09', 12),
    (3, '2026-01-07', 40), (3, '2026-01-08', 18), (6, '2026-01-10', 5);
";

/// What a person at a terminal is told about it.
pub const WELCOME: &str = "Sample tables: book, reading. For example:
  SELECT author, year, price FROM book WHERE price < 80 ORDER BY year;
  SELECT book, count(*) AS days, sum(pages) AS pages FROM reading GROUP BY book ORDER BY pages DESC;
";
