//! `\d NAME`: a relation with its columns, and below them all that belongs to it.

use super::super::format::{Cell, Column, Expanded, Layout, Table};
use super::super::pager::print_table;
use super::super::{Flow, Shell};
use super::pattern::Pattern;
use super::{Call, layout_of};

/// A relation as `pg_class` knows it.
struct Relation {
    oid: String,
    schema: String,
    name: String,
    kind: char,
    is_partition: bool,
    persistence: char,
}

fn text(cell: &Cell) -> &str {
    cell.as_deref().unwrap_or_default()
}

fn is_true(cell: &Cell) -> bool {
    cell.as_deref() == Some("t")
}

/// Describes each relation that fits.
pub fn describe(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>, word: &str) -> Result<Flow, String> {
    let pattern = Pattern::of(Some(word))?;
    let fits = pattern.conditions("c.relname", "n.nspname", "pg_catalog.pg_table_is_visible(c.oid)");
    let found = shell.asked(&format!(
        "SELECT c.oid, n.nspname, c.relname, c.relkind, c.relispartition, c.relpersistence\nFROM pg_catalog.pg_class c \
         LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace\nWHERE true{fits}\nORDER BY 2, 3"
    ))?;
    if found.rows.is_empty() {
        return Err(format!("Did not find any relation named \"{word}\"."));
    }
    let plus = call.has('+');
    // Blocks of lines would confuse here.
    let layout = Layout { expanded: Expanded::Off, ..layout_of(&shell.layout, call) };
    for row in &found.rows {
        let relation = Relation {
            oid: text(&row[0]).to_owned(),
            schema: text(&row[1]).to_owned(),
            name: text(&row[2]).to_owned(),
            kind: text(&row[3]).chars().next().unwrap_or('r'),
            is_partition: is_true(&row[4]),
            persistence: text(&row[5]).chars().next().unwrap_or('p'),
        };
        let mut table = match relation.kind {
            'S' => sequence(shell, &relation)?,
            _ => columns(shell, &relation, plus)?,
        };
        table.title = Some(title(&relation));
        print_table(&mut shell.output, &layout, &table);
    }
    Ok(Flow::On)
}

fn title(relation: &Relation) -> String {
    let unlogged = relation.persistence == 'u';
    let kind = match (relation.kind, unlogged) {
        ('r', false) => "Table",
        ('r', true) => "Unlogged table",
        ('p', false) => "Partitioned table",
        ('p', true) => "Unlogged partitioned table",
        ('v', _) => "View",
        ('m', _) => "Materialized view",
        ('i', false) => "Index",
        ('i', true) => "Unlogged index",
        ('I', _) => "Partitioned index",
        ('S', false) => "Sequence",
        ('S', true) => "Unlogged sequence",
        ('t', _) => "TOAST table",
        ('c', _) => "Composite type",
        ('f', _) => "Foreign table",
        _ => "Relation",
    };
    format!("{kind} \"{}.{}\"", relation.schema, relation.name)
}

fn sequence(shell: &mut Shell<'_>, relation: &Relation) -> Result<Table, String> {
    let oid = &relation.oid;
    let mut table = shell.asked(&format!(
        "SELECT pg_catalog.format_type(seqtypid, NULL) AS \"Type\", seqstart AS \"Start\", seqmin AS \"Minimum\", seqmax AS \"Maximum\", \
         seqincrement AS \"Increment\", CASE WHEN seqcycle THEN 'yes' ELSE 'no' END AS \"Cycles?\", seqcache AS \"Cache\"\n\
         FROM pg_catalog.pg_sequence\nWHERE seqrelid = {oid}"
    ))?;
    let owner = shell.asked(&format!(
        "SELECT pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(c.relname) || '.' || pg_catalog.quote_ident(a.attname), d.deptype\n\
         FROM pg_catalog.pg_class c JOIN pg_catalog.pg_depend d ON c.oid = d.refobjid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace\n  \
         JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = d.refobjsubid\n\
         WHERE d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass\n  \
         AND d.objid = {oid} AND d.deptype IN ('a', 'i')"
    ))?;
    let line = |row: &Vec<Cell>| match text(&row[1]) {
        "i" => format!("Sequence for identity column: {}", text(&row[0])),
        _ => format!("Owned by: {}", text(&row[0])),
    };
    table.footers = Some(owner.rows.iter().map(line).collect());
    Ok(table)
}

fn columns(shell: &mut Shell<'_>, relation: &Relation, plus: bool) -> Result<Table, String> {
    let oid = &relation.oid;
    let is_index = matches!(relation.kind, 'i' | 'I');
    let has_rules = matches!(relation.kind, 'r' | 'v' | 'm' | 'f' | 'c' | 'p');
    let stored = plus && !matches!(relation.kind, 'c');
    let is_table = matches!(relation.kind, 'r' | 'm' | 'p');
    let has_statistics = matches!(relation.kind, 'r' | 'i' | 'I' | 'm' | 'f' | 'p');
    let mut select =
        String::from("a.attname AS \"Column\", pg_catalog.format_type(a.atttypid, a.atttypmod) AS \"Type\"");
    if has_rules {
        select.push_str(
            ", (SELECT c.collname FROM pg_catalog.pg_collation c, pg_catalog.pg_type t WHERE c.oid = a.attcollation AND t.oid = a.atttypid \
             AND a.attcollation <> t.typcollation) AS \"Collation\", CASE WHEN a.attnotnull THEN 'not null' ELSE '' END AS \"Nullable\", \
             CASE WHEN a.attidentity = 'a' THEN 'generated always as identity' WHEN a.attidentity = 'd' THEN 'generated by default as identity' \
             WHEN a.attgenerated = 's' THEN 'generated always as (' || pg_catalog.pg_get_expr(d.adbin, d.adrelid, true) || ') stored' \
             WHEN a.attgenerated = 'v' THEN 'generated always as (' || pg_catalog.pg_get_expr(d.adbin, d.adrelid, true) || ')' \
             ELSE coalesce(pg_catalog.pg_get_expr(d.adbin, d.adrelid, true), '') END AS \"Default\"",
        );
    }
    if is_index {
        select.push_str(&format!(
            ", CASE WHEN a.attnum <= (SELECT i.indnkeyatts FROM pg_catalog.pg_index i WHERE i.indexrelid = {oid}) THEN 'yes' ELSE 'no' END AS \"Key?\", \
             pg_catalog.pg_get_indexdef(a.attrelid, a.attnum, true) AS \"Definition\""
        ));
    }
    if stored {
        select.push_str(
            ", CASE a.attstorage WHEN 'p' THEN 'plain' WHEN 'm' THEN 'main' WHEN 'x' THEN 'extended' WHEN 'e' THEN 'external' ELSE '???' END AS \"Storage\"",
        );
        if is_table {
            select.push_str(
                ", CASE a.attcompression WHEN 'p' THEN 'pglz' WHEN 'l' THEN 'lz4' ELSE '' END AS \"Compression\"",
            );
        }
        if has_statistics {
            select.push_str(
                ", CASE WHEN a.attstattarget = -1 THEN NULL ELSE a.attstattarget END AS \"Stats target\"",
            );
        }
        if !is_index {
            select.push_str(", pg_catalog.col_description(a.attrelid, a.attnum) AS \"Description\"");
        }
    }
    let join = match has_rules {
        true => {
            "\n  LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.atthasdef"
        }
        false => "",
    };
    let mut table = shell.asked(&format!(
        "SELECT {select}\nFROM pg_catalog.pg_attribute a{join}\nWHERE a.attrelid = {oid} AND a.attnum > 0 AND NOT a.attisdropped\nORDER BY a.attnum"
    ))?;
    // Figures are texts here.
    for column in &mut table.columns {
        *column = Column::text(&column.title);
    }
    let mut below = Vec::new();
    match relation.kind {
        'i' | 'I' => index(shell, relation, plus, &mut below)?,
        'v' | 'm' => view(shell, relation, plus, &mut below)?,
        'c' => {}
        _ => parts(shell, relation, plus, &mut below)?,
    }
    if plus && matches!(relation.kind, 'r' | 'm') {
        let method = shell.asked(&format!(
            "SELECT am.amname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_am am ON am.oid = c.relam WHERE c.oid = {oid}"
        ))?;
        below.extend(method.rows.iter().map(|row| format!("Access method: {}", text(&row[0]))));
    }
    if plus {
        let options = shell.asked(&format!(
            "SELECT pg_catalog.array_to_string(reloptions, ', ') FROM pg_catalog.pg_class WHERE oid = {oid} AND reloptions IS NOT NULL"
        ))?;
        below.extend(options.rows.iter().map(|row| format!("Options: {}", text(&row[0]))));
    }
    table.footers = Some(below);
    Ok(table)
}

fn index(
    shell: &mut Shell<'_>,
    relation: &Relation,
    _plus: bool,
    below: &mut Vec<String>,
) -> Result<(), String> {
    let oid = &relation.oid;
    let found = shell.asked(&format!(
        "SELECT i.indisunique, i.indisprimary, i.indisclustered, i.indisvalid, \
         EXISTS (SELECT 1 FROM pg_catalog.pg_constraint WHERE conindid = i.indexrelid AND conrelid = i.indrelid AND contype IN ('p','u','x') AND condeferrable), \
         EXISTS (SELECT 1 FROM pg_catalog.pg_constraint WHERE conindid = i.indexrelid AND conrelid = i.indrelid AND contype IN ('p','u','x') AND condeferred), \
         i.indisreplident, i.indnullsnotdistinct, a.amname, n.nspname, c2.relname, pg_catalog.pg_get_expr(i.indpred, i.indrelid, true)\n\
         FROM pg_catalog.pg_index i, pg_catalog.pg_class c, pg_catalog.pg_class c2, pg_catalog.pg_am a, pg_catalog.pg_namespace n\n\
         WHERE i.indexrelid = c.oid AND c.oid = {oid} AND c.relam = a.oid AND i.indrelid = c2.oid AND n.oid = c2.relnamespace"
    ))?;
    let Some(row) = found.rows.first() else { return Ok(()) };
    let mut line = match (is_true(&row[1]), is_true(&row[0])) {
        (true, _) => "primary key, ".to_owned(),
        (false, true) if is_true(&row[7]) => "unique nulls not distinct, ".to_owned(),
        (false, true) => "unique, ".to_owned(),
        _ => String::new(),
    };
    line.push_str(&format!("{}, for table \"{}.{}\"", text(&row[8]), text(&row[9]), text(&row[10])));
    if let Some(predicate) = &row[11] {
        line.push_str(&format!(", predicate ({predicate})"));
    }
    for (flag, words) in [
        (is_true(&row[2]), ", clustered"),
        (!is_true(&row[3]), ", invalid"),
        (is_true(&row[4]), ", deferrable"),
        (is_true(&row[5]), ", initially deferred"),
        (is_true(&row[6]), ", replica identity"),
    ] {
        if flag {
            line.push_str(words);
        }
    }
    below.push(line);
    Ok(())
}

fn view(
    shell: &mut Shell<'_>,
    relation: &Relation,
    plus: bool,
    below: &mut Vec<String>,
) -> Result<(), String> {
    if plus {
        let text_of = shell
            .asked(&format!("SELECT pg_catalog.pg_get_viewdef({}::pg_catalog.oid, true)", relation.oid))?;
        let definition = text_of.rows.into_iter().flatten().next().flatten().unwrap_or_default();
        below.push(format!("View definition:\n{definition}"));
    }
    if relation.kind == 'm' {
        indexes(shell, relation, below)?;
    }
    triggers(shell, relation, below)
}

/// All that belongs to a table, in psql's order.
fn parts(
    shell: &mut Shell<'_>,
    relation: &Relation,
    plus: bool,
    below: &mut Vec<String>,
) -> Result<(), String> {
    partition_of(shell, relation, plus, below)?;
    if relation.kind == 'p' {
        let key =
            shell.asked(&format!("SELECT pg_catalog.pg_get_partkeydef({}::pg_catalog.oid)", relation.oid))?;
        below.extend(key.rows.iter().map(|row| format!("Partition key: {}", text(&row[0]))));
    }
    indexes(shell, relation, below)?;
    checks(shell, relation, below)?;
    foreign_keys(shell, relation, below)?;
    policies(shell, relation, below)?;
    statistics(shell, relation, below)?;
    publications(shell, relation, below)?;
    if plus {
        not_nulls(shell, relation, below)?;
    }
    triggers(shell, relation, below)?;
    partitions(shell, relation, plus, below)
}

fn partition_of(
    shell: &mut Shell<'_>,
    relation: &Relation,
    plus: bool,
    below: &mut Vec<String>,
) -> Result<(), String> {
    let oid = &relation.oid;
    if !relation.is_partition {
        let typed = shell.asked(&format!(
            "SELECT reloftype::pg_catalog.regtype FROM pg_catalog.pg_class WHERE oid = {oid} AND reloftype <> 0"
        ))?;
        below.extend(typed.rows.iter().map(|row| format!("Typed table of type: {}", text(&row[0]))));
        return Ok(());
    }
    let constraint = if plus { ", pg_catalog.pg_get_partition_constraintdef(c.oid)" } else { "" };
    let found = shell.asked(&format!(
        "SELECT inhparent::pg_catalog.regclass, pg_catalog.pg_get_expr(c.relpartbound, c.oid){constraint}\n\
         FROM pg_catalog.pg_class c JOIN pg_catalog.pg_inherits i ON c.oid = i.inhrelid\nWHERE c.oid = {oid}"
    ))?;
    for row in &found.rows {
        below.push(format!("Partition of: {} {}", text(&row[0]), text(&row[1])));
        if plus {
            below.push(match &row[2] {
                Some(constraint) => format!("Partition constraint: {constraint}"),
                None => "No partition constraint".to_owned(),
            });
        }
    }
    Ok(())
}

/// A heading and the lines below it, if there are any.
fn section(heading: &str, lines: Vec<String>, below: &mut Vec<String>) {
    if !lines.is_empty() {
        below.push(heading.to_owned());
        below.extend(lines);
    }
}

fn indexes(shell: &mut Shell<'_>, relation: &Relation, below: &mut Vec<String>) -> Result<(), String> {
    let oid = &relation.oid;
    let found = shell.asked(&format!(
        "SELECT c2.relname, i.indisprimary, i.indisunique, i.indisclustered, i.indisvalid, pg_catalog.pg_get_indexdef(i.indexrelid, 0, true), \
         pg_catalog.pg_get_constraintdef(con.oid, true), con.contype, con.condeferrable, con.condeferred, i.indisreplident, con.conperiod\n\
         FROM pg_catalog.pg_class c, pg_catalog.pg_class c2, pg_catalog.pg_index i\n  \
         LEFT JOIN pg_catalog.pg_constraint con ON con.conrelid = i.indrelid AND con.conindid = i.indexrelid AND con.contype IN ('p','u','x')\n\
         WHERE c.oid = {oid} AND c.oid = i.indrelid AND i.indexrelid = c2.oid\nORDER BY i.indisprimary DESC, c2.relname"
    ))?;
    let line = |row: &Vec<Cell>| {
        let mut line = format!("    \"{}\"", text(&row[0]));
        let kind = text(&row[7]);
        let period = is_true(&row[11]);
        if kind == "x" || (period && (kind == "u" || kind == "p")) {
            line.push_str(&format!(" {}", text(&row[6])));
        } else {
            if is_true(&row[1]) {
                line.push_str(" PRIMARY KEY,");
            } else if is_true(&row[2]) {
                line.push_str(if kind == "u" { " UNIQUE CONSTRAINT," } else { " UNIQUE," });
            }
            let definition = text(&row[5]);
            let using = definition.find(" USING ").map_or(definition, |at| &definition[at + 7..]);
            line.push_str(&format!(" {using}"));
            if is_true(&row[8]) {
                line.push_str(" DEFERRABLE");
            }
            if is_true(&row[9]) {
                line.push_str(" INITIALLY DEFERRED");
            }
        }
        for (flag, words) in [
            (is_true(&row[3]), " CLUSTER"),
            (!is_true(&row[4]), " INVALID"),
            (is_true(&row[10]), " REPLICA IDENTITY"),
        ] {
            if flag {
                line.push_str(words);
            }
        }
        line
    };
    section("Indexes:", found.rows.iter().map(line).collect(), below);
    Ok(())
}

fn checks(shell: &mut Shell<'_>, relation: &Relation, below: &mut Vec<String>) -> Result<(), String> {
    let found = shell.asked(&format!(
        "SELECT r.conname, pg_catalog.pg_get_constraintdef(r.oid, true)\nFROM pg_catalog.pg_constraint r\n\
         WHERE r.conrelid = {} AND r.contype = 'c'\nORDER BY 1",
        relation.oid
    ))?;
    let line = |row: &Vec<Cell>| format!("    \"{}\" {}", text(&row[0]), text(&row[1]));
    section("Check constraints:", found.rows.iter().map(line).collect(), below);
    Ok(())
}

fn foreign_keys(shell: &mut Shell<'_>, relation: &Relation, below: &mut Vec<String>) -> Result<(), String> {
    let oid = &relation.oid;
    // A key of a partitioned table stands in each of its partitions; it is shown as that of the topmost.
    let ancestors = match relation.is_partition {
        true => format!("SELECT pg_catalog.pg_partition_ancestors({oid}::pg_catalog.regclass)"),
        false => format!("SELECT {oid}::pg_catalog.oid"),
    };
    let whose = format!("conrelid IN ({ancestors})");
    let found = shell.asked(&format!(
        "SELECT conrelid = {oid}::pg_catalog.oid AS sametable, conname, pg_catalog.pg_get_constraintdef(oid, true) AS condef, conrelid::pg_catalog.regclass AS ontable\n\
         FROM pg_catalog.pg_constraint\nWHERE {whose} AND contype = 'f' AND conparentid = 0\nORDER BY sametable DESC, conname"
    ))?;
    let line = |row: &Vec<Cell>| match is_true(&row[0]) {
        true => format!("    \"{}\" {}", text(&row[1]), text(&row[2])),
        false => {
            format!("    TABLE \"{}\" CONSTRAINT \"{}\" {}", text(&row[3]), text(&row[1]), text(&row[2]))
        }
    };
    section("Foreign-key constraints:", found.rows.iter().map(line).collect(), below);
    let found = shell.asked(&format!(
        "SELECT conname, conrelid::pg_catalog.regclass AS ontable, pg_catalog.pg_get_constraintdef(oid, true) AS condef\nFROM pg_catalog.pg_constraint\n\
         WHERE confrelid IN ({ancestors}) AND contype = 'f' AND conparentid = 0\nORDER BY conname"
    ))?;
    let line = |row: &Vec<Cell>| {
        format!("    TABLE \"{}\" CONSTRAINT \"{}\" {}", text(&row[1]), text(&row[0]), text(&row[2]))
    };
    section("Referenced by:", found.rows.iter().map(line).collect(), below);
    Ok(())
}

fn policies(shell: &mut Shell<'_>, relation: &Relation, below: &mut Vec<String>) -> Result<(), String> {
    let oid = &relation.oid;
    let found = shell.asked(&format!(
        "SELECT pol.polname, pol.polpermissive, CASE WHEN pol.polroles = '{{0}}' THEN NULL ELSE pg_catalog.array_to_string(ARRAY(SELECT rolname \
         FROM pg_catalog.pg_roles WHERE oid = ANY (pol.polroles) ORDER BY 1), ',') END, pg_catalog.pg_get_expr(pol.polqual, pol.polrelid), \
         pg_catalog.pg_get_expr(pol.polwithcheck, pol.polrelid), CASE pol.polcmd WHEN 'r' THEN 'SELECT' WHEN 'a' THEN 'INSERT' WHEN 'w' THEN 'UPDATE' \
         WHEN 'd' THEN 'DELETE' END\nFROM pg_catalog.pg_policy pol\nWHERE pol.polrelid = {oid}\nORDER BY 1"
    ))?;
    let security = shell.asked(&format!(
        "SELECT relrowsecurity, relforcerowsecurity FROM pg_catalog.pg_class WHERE oid = {oid}"
    ))?;
    let (on, forced) =
        security.rows.first().map_or((false, false), |row| (is_true(&row[0]), is_true(&row[1])));
    let heading = match (on, forced, found.rows.is_empty()) {
        (true, false, false) => "Policies:",
        (true, true, false) => "Policies (forced row security enabled):",
        (true, false, true) => "Policies (row security enabled): (none)",
        (true, true, true) => "Policies (forced row security enabled): (none)",
        (false, _, false) => "Policies (row security disabled):",
        (false, _, true) => return Ok(()),
    };
    below.push(heading.to_owned());
    for row in &found.rows {
        let mut line = format!("    POLICY \"{}\"", text(&row[0]));
        if !is_true(&row[1]) {
            line.push_str(" AS RESTRICTIVE");
        }
        if let Some(command) = &row[5] {
            line.push_str(&format!(" FOR {command}"));
        }
        for (words, value) in [("TO ", &row[2]), ("USING (", &row[3]), ("WITH CHECK (", &row[4])] {
            if let Some(value) = value {
                let end = if words.ends_with('(') { ")" } else { "" };
                line.push_str(&format!("\n      {words}{value}{end}"));
            }
        }
        below.push(line);
    }
    Ok(())
}

fn statistics(shell: &mut Shell<'_>, relation: &Relation, below: &mut Vec<String>) -> Result<(), String> {
    let found = shell.asked(&format!(
        "SELECT pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(s.stxname), pg_catalog.pg_get_statisticsobjdef_columns(s.oid), \
         'd' = ANY (s.stxkind), 'f' = ANY (s.stxkind), 'm' = ANY (s.stxkind), s.stxrelid::pg_catalog.regclass, s.stxstattarget\n\
         FROM pg_catalog.pg_statistic_ext s JOIN pg_catalog.pg_namespace n ON n.oid = s.stxnamespace\nWHERE s.stxrelid = {}\nORDER BY 1",
        relation.oid
    ))?;
    let line = |row: &Vec<Cell>| {
        let kinds = [(&row[2], "ndistinct"), (&row[3], "dependencies"), (&row[4], "mcv")];
        let some: Vec<&str> = kinds.iter().filter(|(flag, _)| is_true(flag)).map(|(_, name)| *name).collect();
        let kinds = if some.is_empty() || some.len() == 3 {
            String::new()
        } else {
            format!(" ({})", some.join(", "))
        };
        let target = row[6].as_ref().map(|target| format!("; STATISTICS {target}")).unwrap_or_default();
        format!("    \"{}\"{kinds} ON {} FROM {}{target}", text(&row[0]), text(&row[1]), text(&row[5]))
    };
    section("Statistics objects:", found.rows.iter().map(line).collect(), below);
    Ok(())
}

fn publications(shell: &mut Shell<'_>, relation: &Relation, below: &mut Vec<String>) -> Result<(), String> {
    let found = shell.asked(&format!(
        "SELECT p.pubname FROM pg_catalog.pg_publication p JOIN pg_catalog.pg_publication_rel pr ON p.oid = pr.prpubid WHERE pr.prrelid = {}\n\
         UNION SELECT pubname FROM pg_catalog.pg_publication WHERE puballtables\nORDER BY 1",
        relation.oid
    ))?;
    let line = |row: &Vec<Cell>| format!("    \"{}\"", text(&row[0]));
    section("Publications:", found.rows.iter().map(line).collect(), below);
    Ok(())
}

fn not_nulls(shell: &mut Shell<'_>, relation: &Relation, below: &mut Vec<String>) -> Result<(), String> {
    let found = shell.asked(&format!(
        "SELECT c.conname, a.attname, c.connoinherit, c.conislocal, c.coninhcount <> 0, c.convalidated\nFROM pg_catalog.pg_constraint c \
         JOIN pg_catalog.pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1]\n\
         WHERE c.contype = 'n' AND c.conrelid = {}\nORDER BY a.attnum",
        relation.oid
    ))?;
    let line = |row: &Vec<Cell>| {
        let (local, inherited) = (is_true(&row[3]), is_true(&row[4]));
        let mut behind = match (is_true(&row[2]), local && inherited, inherited) {
            (true, ..) => " NO INHERIT",
            (_, true, _) => " (local, inherited)",
            (_, _, true) => " (inherited)",
            _ => "",
        }
        .to_owned();
        if !is_true(&row[5]) {
            behind.push_str(" NOT VALID");
        }
        format!("    \"{}\" NOT NULL \"{}\"{behind}", text(&row[0]), text(&row[1]))
    };
    section("Not-null constraints:", found.rows.iter().map(line).collect(), below);
    Ok(())
}

fn triggers(shell: &mut Shell<'_>, relation: &Relation, below: &mut Vec<String>) -> Result<(), String> {
    let found = shell.asked(&format!(
        "SELECT t.tgname, pg_catalog.pg_get_triggerdef(t.oid, true), t.tgenabled, CASE WHEN t.tgparentid <> 0 THEN (SELECT u.tgrelid::pg_catalog.regclass \
         FROM pg_catalog.pg_trigger u WHERE u.oid = t.tgparentid) END\nFROM pg_catalog.pg_trigger t\nWHERE t.tgrelid = {} AND NOT t.tgisinternal\nORDER BY 1",
        relation.oid
    ))?;
    let line = |row: &Vec<Cell>| {
        let definition = text(&row[1]);
        let behind = definition.find(" TRIGGER ").map_or(definition, |at| &definition[at + 9..]);
        let parent = row[3].as_ref().map(|parent| format!(", ON TABLE {parent}")).unwrap_or_default();
        format!("    {behind}{parent}")
    };
    let of = |wanted: fn(&str) -> bool| {
        found.rows.iter().filter(|row| wanted(text(&row[2]))).map(line).collect::<Vec<_>>()
    };
    section("Triggers:", of(|enabled| matches!(enabled, "O" | "t")), below);
    section("Disabled user triggers:", of(|enabled| matches!(enabled, "D" | "f")), below);
    section("Triggers firing always:", of(|enabled| enabled == "A"), below);
    section("Triggers firing on replica only:", of(|enabled| enabled == "R"), below);
    Ok(())
}

fn partitions(
    shell: &mut Shell<'_>,
    relation: &Relation,
    plus: bool,
    below: &mut Vec<String>,
) -> Result<(), String> {
    if relation.kind != 'p' {
        return Ok(());
    }
    let found = shell.asked(&format!(
        "SELECT c.oid::pg_catalog.regclass, c.relkind, pg_catalog.pg_get_expr(c.relpartbound, c.oid)\nFROM pg_catalog.pg_class c, pg_catalog.pg_inherits i\n\
         WHERE c.oid = i.inhrelid AND i.inhparent = {}\nORDER BY pg_catalog.pg_get_expr(c.relpartbound, c.oid) = 'DEFAULT', c.oid::pg_catalog.regclass::pg_catalog.text",
        relation.oid
    ))?;
    let count = found.rows.len();
    if !plus {
        below.push(match count {
            0 => "Number of partitions: 0".to_owned(),
            count => format!("Number of partitions: {count} (Use \\d+ to list them.)"),
        });
        return Ok(());
    }
    if count == 0 {
        below.push("Number of partitions: 0".to_owned());
    }
    for (at, row) in found.rows.iter().enumerate() {
        let before = if at == 0 { "Partitions: " } else { "            " };
        let kind = match text(&row[1]) {
            "p" => ", PARTITIONED",
            "f" => ", FOREIGN",
            _ => "",
        };
        let comma = if at + 1 < count { "," } else { "" };
        below.push(format!("{before}{} {}{kind}{comma}", text(&row[0]), text(&row[2])));
    }
    Ok(())
}
