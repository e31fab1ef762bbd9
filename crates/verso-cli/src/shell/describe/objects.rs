//! Lists that one query makes: schemas, types, roles, databases, and the rest of what there is.

use super::pattern::Pattern;
use super::{Call, Listing, privileges, without_system};

/// The list of a command, by its name without flags.
///
/// # Errors
/// A pattern that is none.
pub fn listing(
    base: &str,
    word: Option<&str>,
    pattern: &Pattern,
    second: &Pattern,
    call: &Call<'_, '_, '_>,
) -> Result<Listing, String> {
    let asks = Asks {
        pattern,
        second,
        plus: call.has('+'),
        has_pattern: *pattern != Pattern::default(),
        with_system: call.has('S'),
        with_arrays: word.is_some_and(|word| word.contains("[]")),
    };
    let (title, sql) = match base {
        "da" => ("List of aggregate functions", asks.aggregates()),
        "dA" => ("List of access methods", asks.access_methods()),
        "db" => ("List of tablespaces", asks.tablespaces()),
        "dc" => ("List of conversions", asks.conversions()),
        "dC" => ("List of casts", asks.casts()),
        "dconfig" => {
            let title = match asks.has_pattern {
                true => "List of configuration parameters",
                false => "List of non-default configuration parameters",
            };
            (title, asks.settings())
        }
        "dd" => ("Object descriptions", asks.comments()),
        "dD" => ("List of domains", asks.domains()),
        "ddp" => ("Default access privileges", asks.default_privileges()),
        "dF" => ("List of text search configurations", asks.text_search("pg_ts_config", "cfg", "")),
        "dFd" => ("List of text search dictionaries", asks.text_search("pg_ts_dict", "dict", DICTIONARY)),
        "dFp" => ("List of text search parsers", asks.text_search("pg_ts_parser", "prs", "")),
        "dFt" => ("List of text search templates", asks.text_search("pg_ts_template", "tmpl", TEMPLATE)),
        "dL" => ("List of languages", asks.languages()),
        "dn" => ("List of schemas", asks.schemas()),
        "do" => ("List of operators", asks.operators()),
        "dO" => ("List of collations", asks.collations()),
        "dp" | "z" => ("Access privileges", asks.privileges()),
        "dP" => ("List of partitioned relations", asks.partitioned()),
        "drds" => ("List of settings", asks.role_settings()),
        "drg" => ("List of role grants", asks.memberships()),
        "dRp" => ("List of publications", asks.publications()),
        "dRs" => ("List of subscriptions", asks.subscriptions()),
        "dT" => ("List of data types", asks.types()),
        "du" | "dg" => ("List of roles", asks.roles()),
        "dx" => ("List of installed extensions", asks.extensions()),
        "dX" => ("List of extended statistics", asks.statistics()),
        "dy" => ("List of event triggers", asks.event_triggers()),
        "l" | "list" => ("List of databases", asks.databases()),
        other => return Err(format!("\\{other} lists nothing")),
    };
    Ok(Listing { counted: !matches!(base, "du" | "dg"), ..Listing::new(title, sql) })
}

const DICTIONARY: &str = ", (SELECT coalesce(n2.nspname, '(null)') || '.' || t.tmplname FROM pg_catalog.pg_ts_template t \
    LEFT JOIN pg_catalog.pg_namespace n2 ON n2.oid = t.tmplnamespace WHERE o.dicttemplate = t.oid) AS \"Template\", \
    o.dictinitoption AS \"Init options\"";
const TEMPLATE: &str =
    ", o.tmplinit::pg_catalog.regproc AS \"Init\", o.tmpllexize::pg_catalog.regproc AS \"Lexize\"";

struct Asks<'a> {
    pattern: &'a Pattern,
    second: &'a Pattern,
    plus: bool,
    has_pattern: bool,
    with_system: bool,
    with_arrays: bool,
}

impl Asks<'_> {
    /// Objects of the system are left out, unless they are asked for.
    fn shows_system(&self) -> bool {
        self.has_pattern || self.with_system
    }

    /// Columns that only `+` shows.
    fn more(&self, columns: &str) -> String {
        if self.plus { format!(", {columns}") } else { String::new() }
    }

    fn fits(&self, name: &str, visible: &str) -> String {
        let system = without_system(self.shows_system(), "n.nspname");
        format!("{system}{}", self.pattern.conditions(name, "n.nspname", visible))
    }

    fn named(&self, name: &str) -> String {
        self.pattern.conditions(name, "", "")
    }

    fn aggregates(&self) -> String {
        let fits = self.fits("p.proname", "pg_catalog.pg_function_is_visible(p.oid)");
        format!(
            "SELECT n.nspname AS \"Schema\", p.proname AS \"Name\", pg_catalog.format_type(p.prorettype, NULL) AS \"Result data type\", \
             CASE WHEN p.pronargs = 0 THEN '*' ELSE pg_catalog.pg_get_function_arguments(p.oid) END AS \"Argument data types\", \
             pg_catalog.obj_description(p.oid, 'pg_proc') AS \"Description\"\nFROM pg_catalog.pg_proc p \
             LEFT JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace\nWHERE p.prokind = 'a'{fits}\nORDER BY 1, 2, 4"
        )
    }

    fn access_methods(&self) -> String {
        let more = self
            .more("amhandler AS \"Handler\", pg_catalog.obj_description(oid, 'pg_am') AS \"Description\"");
        let fits = self.named("amname");
        format!(
            "SELECT amname AS \"Name\", CASE amtype WHEN 'i' THEN 'Index' WHEN 't' THEN 'Table' END AS \"Type\"{more}\n\
             FROM pg_catalog.pg_am\nWHERE true{fits}\nORDER BY 1"
        )
    }

    fn tablespaces(&self) -> String {
        let more = self.more(&format!(
            "{}, spcoptions AS \"Options\", pg_catalog.pg_size_pretty(pg_catalog.pg_tablespace_size(oid)) AS \"Size\", \
             pg_catalog.shobj_description(oid, 'pg_tablespace') AS \"Description\"",
            privileges("spcacl")
        ));
        let fits = self.named("spcname");
        format!(
            "SELECT spcname AS \"Name\", pg_catalog.pg_get_userbyid(spcowner) AS \"Owner\", \
             pg_catalog.pg_tablespace_location(oid) AS \"Location\"{more}\nFROM pg_catalog.pg_tablespace\nWHERE true{fits}\nORDER BY 1"
        )
    }

    fn conversions(&self) -> String {
        let more = self.more("pg_catalog.obj_description(c.oid, 'pg_conversion') AS \"Description\"");
        let fits = self.fits("c.conname", "pg_catalog.pg_conversion_is_visible(c.oid)");
        format!(
            "SELECT n.nspname AS \"Schema\", c.conname AS \"Name\", pg_catalog.pg_encoding_to_char(c.conforencoding) AS \"Source\", \
             pg_catalog.pg_encoding_to_char(c.contoencoding) AS \"Destination\", \
             CASE WHEN c.condefault THEN 'yes' ELSE 'no' END AS \"Default?\"{more}\nFROM pg_catalog.pg_conversion c \
             JOIN pg_catalog.pg_namespace n ON n.oid = c.connamespace\nWHERE true{fits}\nORDER BY 1, 2"
        )
    }

    fn casts(&self) -> String {
        let more = self.more("pg_catalog.obj_description(c.oid, 'pg_cast') AS \"Description\"");
        let types =
            ["pg_catalog.format_type(c.castsource, NULL)", "pg_catalog.format_type(c.casttarget, NULL)"];
        let fits = self.pattern.either(types);
        format!(
            "SELECT pg_catalog.format_type(c.castsource, NULL) AS \"Source type\", pg_catalog.format_type(c.casttarget, NULL) AS \"Target type\", \
             CASE WHEN c.castmethod = 'b' THEN '(binary coercible)' WHEN c.castmethod = 'i' THEN '(with inout)' ELSE p.proname END AS \"Function\", \
             CASE c.castcontext WHEN 'e' THEN 'no' WHEN 'a' THEN 'in assignment' ELSE 'yes' END AS \"Implicit?\"{more}\n\
             FROM pg_catalog.pg_cast c LEFT JOIN pg_catalog.pg_proc p ON c.castfunc = p.oid\nWHERE true{fits}\nORDER BY 1, 2"
        )
    }

    fn settings(&self) -> String {
        let more = self.more(
            "s.vartype AS \"Type\", s.context AS \"Context\", NULL::pg_catalog.text AS \"Access privileges\"",
        );
        let which = match self.has_pattern {
            true => self.named("pg_catalog.lower(s.name)"),
            false => "\n  AND s.source <> 'default' AND s.setting IS DISTINCT FROM s.boot_val".to_owned(),
        };
        format!(
            "SELECT s.name AS \"Parameter\", pg_catalog.current_setting(s.name) AS \"Value\"{more}\nFROM pg_catalog.pg_settings s\n\
             WHERE true{which}\nORDER BY 1"
        )
    }

    fn comments(&self) -> String {
        let of = |class: &str, name: &str, namespace: &str, kind: &str, more: &str, visible: &str| {
            let fits = self.fits(&format!("o.{name}"), &format!("pg_catalog.{visible}(o.oid)"));
            format!(
                "SELECT n.nspname AS nspname, o.{name}::pg_catalog.text AS name, '{kind}'::pg_catalog.text AS object, \
                 pg_catalog.obj_description(o.oid, '{class}') AS description FROM pg_catalog.{class} o \
                 JOIN pg_catalog.pg_namespace n ON n.oid = o.{namespace} WHERE true{more}{fits}"
            )
        };
        let parts = [
            of("pg_opclass", "opcname", "opcnamespace", "operator class", "", "pg_opclass_is_visible"),
            of("pg_opfamily", "opfname", "opfnamespace", "operator family", "", "pg_opfamily_is_visible"),
            self.comments_of_parts("pg_constraint", "conname", "conrelid", "table constraint"),
            self.comments_of_parts("pg_rewrite", "rulename", "ev_class", "rule"),
            self.comments_of_parts("pg_trigger", "tgname", "tgrelid", "trigger"),
        ];
        format!(
            "SELECT nspname AS \"Schema\", name AS \"Name\", object AS \"Object\", description AS \"Description\"\n\
             FROM ({}) AS o\nWHERE description IS NOT NULL\nORDER BY 1, 2, 3",
            parts.join("\nUNION ALL\n")
        )
    }

    /// Comments of what belongs to a table.
    fn comments_of_parts(&self, class: &str, name: &str, table: &str, kind: &str) -> String {
        let fits = self.fits(&format!("o.{name}"), "pg_catalog.pg_table_is_visible(c.oid)");
        format!(
            "SELECT n.nspname, o.{name}::pg_catalog.text, '{kind}'::pg_catalog.text, pg_catalog.obj_description(o.oid, '{class}') \
             FROM pg_catalog.{class} o JOIN pg_catalog.pg_class c ON c.oid = o.{table} \
             JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE true{fits}"
        )
    }

    fn domains(&self) -> String {
        let more = self.more(&format!("{}, d.description AS \"Description\"", privileges("t.typacl")));
        let join = match self.plus {
            true => {
                "\n  LEFT JOIN pg_catalog.pg_description d ON d.classoid = 'pg_catalog.pg_type'::pg_catalog.regclass AND d.objoid = t.oid AND d.objsubid = 0"
            }
            false => "",
        };
        let fits = self.fits("t.typname", "pg_catalog.pg_type_is_visible(t.oid)");
        format!(
            "SELECT n.nspname AS \"Schema\", t.typname AS \"Name\", pg_catalog.format_type(t.typbasetype, t.typtypmod) AS \"Type\", \
             (SELECT c.collname FROM pg_catalog.pg_collation c, pg_catalog.pg_type bt WHERE c.oid = t.typcollation AND bt.oid = t.typbasetype \
             AND t.typcollation <> bt.typcollation) AS \"Collation\", CASE WHEN t.typnotnull THEN 'not null' END AS \"Nullable\", \
             t.typdefault AS \"Default\", pg_catalog.array_to_string(ARRAY(SELECT pg_catalog.pg_get_constraintdef(r.oid, true) \
             FROM pg_catalog.pg_constraint r WHERE t.oid = r.contypid AND r.contype = 'c' ORDER BY r.conname), ' ') AS \"Check\"{more}\n\
             FROM pg_catalog.pg_type t LEFT JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace{join}\nWHERE t.typtype = 'd'{fits}\nORDER BY 1, 2"
        )
    }

    fn default_privileges(&self) -> String {
        let fits = self.pattern.either(["n.nspname", "pg_catalog.pg_get_userbyid(d.defaclrole)"]);
        format!(
            "SELECT pg_catalog.pg_get_userbyid(d.defaclrole) AS \"Owner\", n.nspname AS \"Schema\", CASE d.defaclobjtype WHEN 'r' THEN 'table' \
             WHEN 'S' THEN 'sequence' WHEN 'f' THEN 'function' WHEN 'T' THEN 'type' WHEN 'n' THEN 'schema' WHEN 'L' THEN 'large object' END AS \"Type\", {}\n\
             FROM pg_catalog.pg_default_acl d LEFT JOIN pg_catalog.pg_namespace n ON n.oid = d.defaclnamespace\nWHERE true{fits}\nORDER BY 1, 2, 3",
            privileges("d.defaclacl")
        )
    }

    fn text_search(&self, class: &str, prefix: &str, more: &str) -> String {
        let more = if self.plus { more } else { "" };
        let visible = match class {
            "pg_ts_config" => "pg_ts_config_is_visible",
            "pg_ts_dict" => "pg_ts_dict_is_visible",
            "pg_ts_parser" => "pg_ts_parser_is_visible",
            _ => "pg_ts_template_is_visible",
        };
        let visible = format!("pg_catalog.{visible}(o.oid)");
        let fits = self.pattern.conditions(&format!("o.{prefix}name"), "n.nspname", &visible);
        format!(
            "SELECT n.nspname AS \"Schema\", o.{prefix}name AS \"Name\"{more}, pg_catalog.obj_description(o.oid, '{class}') AS \"Description\"\n\
             FROM pg_catalog.{class} o LEFT JOIN pg_catalog.pg_namespace n ON n.oid = o.{prefix}namespace\nWHERE true{fits}\nORDER BY 1, 2"
        )
    }

    fn languages(&self) -> String {
        let more = self.more(&format!(
            "NOT l.lanispl AS \"Internal language\", l.lanplcallfoid::pg_catalog.regprocedure AS \"Call handler\", \
             l.lanvalidator::pg_catalog.regprocedure AS \"Validator\", l.laninline::pg_catalog.regprocedure AS \"Inline handler\", {}",
            privileges("l.lanacl")
        ));
        let own = if self.shows_system() { "" } else { "\n  AND l.lanplcallfoid <> 0" };
        let fits = self.named("l.lanname");
        format!(
            "SELECT l.lanname AS \"Name\", pg_catalog.pg_get_userbyid(l.lanowner) AS \"Owner\", l.lanpltrusted AS \"Trusted\"{more}, \
             pg_catalog.obj_description(l.oid, 'pg_language') AS \"Description\"\nFROM pg_catalog.pg_language l\nWHERE true{own}{fits}\nORDER BY 1"
        )
    }

    fn schemas(&self) -> String {
        let more = self.more(&format!(
            "{}, pg_catalog.obj_description(n.oid, 'pg_namespace') AS \"Description\"",
            privileges("n.nspacl")
        ));
        let own = match self.shows_system() {
            true => "",
            false => "\n  AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'",
        };
        let fits = self.named("n.nspname");
        format!(
            "SELECT n.nspname AS \"Name\", pg_catalog.pg_get_userbyid(n.nspowner) AS \"Owner\"{more}\nFROM pg_catalog.pg_namespace n\n\
             WHERE true{own}{fits}\nORDER BY 1"
        )
    }

    fn operators(&self) -> String {
        let more = self.more(
            "o.oprcode AS \"Function\", CASE WHEN p.proleakproof THEN 'yes' ELSE 'no' END AS \"Leakproof?\"",
        );
        let join = if self.plus { "\n  LEFT JOIN pg_catalog.pg_proc p ON p.oid = o.oprcode" } else { "" };
        let fits = self.fits("o.oprname", "pg_catalog.pg_operator_is_visible(o.oid)");
        format!(
            "SELECT n.nspname AS \"Schema\", o.oprname AS \"Name\", CASE WHEN o.oprkind = 'l' THEN NULL ELSE pg_catalog.format_type(o.oprleft, NULL) END AS \"Left arg type\", \
             CASE WHEN o.oprkind = 'r' THEN NULL ELSE pg_catalog.format_type(o.oprright, NULL) END AS \"Right arg type\", \
             pg_catalog.format_type(o.oprresult, NULL) AS \"Result type\"{more}, coalesce(pg_catalog.obj_description(o.oid, 'pg_operator'), \
             pg_catalog.obj_description(o.oprcode, 'pg_proc')) AS \"Description\"\nFROM pg_catalog.pg_operator o \
             LEFT JOIN pg_catalog.pg_namespace n ON n.oid = o.oprnamespace{join}\nWHERE true{fits}\nORDER BY 1, 2, 3, 4"
        )
    }

    fn collations(&self) -> String {
        let more = self.more("pg_catalog.obj_description(c.oid, 'pg_collation') AS \"Description\"");
        let fits = self.fits("c.collname", "pg_catalog.pg_collation_is_visible(c.oid)");
        format!(
            "SELECT n.nspname AS \"Schema\", c.collname AS \"Name\", CASE c.collprovider WHEN 'd' THEN 'default' WHEN 'b' THEN 'builtin' WHEN 'c' THEN 'libc' WHEN 'i' THEN 'icu' END AS \"Provider\", \
             c.collcollate AS \"Collate\", c.collctype AS \"Ctype\", c.colllocale AS \"Locale\", c.collicurules AS \"ICU Rules\", \
             CASE WHEN c.collisdeterministic THEN 'yes' ELSE 'no' END AS \"Deterministic?\"{more}\nFROM pg_catalog.pg_collation c, pg_catalog.pg_namespace n\n\
             WHERE n.oid = c.collnamespace\n  AND c.collencoding IN (-1, pg_catalog.pg_char_to_encoding(pg_catalog.getdatabaseencoding())){fits}\nORDER BY 1, 2"
        )
    }

    fn privileges(&self) -> String {
        let fits = match self.shows_system() {
            true => self.pattern.conditions("c.relname", "n.nspname", "pg_catalog.pg_table_is_visible(c.oid)"),
            false => "\n  AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'\n  AND pg_catalog.pg_table_is_visible(c.oid)".to_owned(),
        };
        format!(
            "SELECT n.nspname AS \"Schema\", c.relname AS \"Name\", CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' \
             WHEN 'S' THEN 'sequence' WHEN 'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' END AS \"Type\", {}, \
             pg_catalog.array_to_string(ARRAY(SELECT attname || E':\\n  ' || pg_catalog.array_to_string(attacl, E'\\n  ') \
             FROM pg_catalog.pg_attribute a WHERE attrelid = c.oid AND NOT attisdropped AND attacl IS NOT NULL), E'\\n') AS \"Column privileges\", \
             pg_catalog.array_to_string(ARRAY(SELECT polname || CASE WHEN NOT polpermissive THEN E' (RESTRICTIVE)' ELSE '' END \
             || CASE WHEN polcmd <> '*' THEN E' (' || polcmd::pg_catalog.text || E'):' ELSE E':' END \
             || CASE WHEN polqual IS NOT NULL THEN E'\\n  (u): ' || pg_catalog.pg_get_expr(polqual, polrelid) ELSE E'' END \
             || CASE WHEN polwithcheck IS NOT NULL THEN E'\\n  (c): ' || pg_catalog.pg_get_expr(polwithcheck, polrelid) ELSE E'' END \
             || CASE WHEN polroles <> '{{0}}' THEN E'\\n  to: ' || pg_catalog.array_to_string(ARRAY(SELECT rolname FROM pg_catalog.pg_roles \
             WHERE oid = ANY (polroles) ORDER BY 1), E', ') ELSE E'' END FROM pg_catalog.pg_policy pol WHERE polrelid = c.oid), E'\\n') AS \"Policies\"\n\
             FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace\n\
             WHERE c.relkind IN ('r','v','m','S','f','p'){fits}\nORDER BY 1, 2",
            privileges("c.relacl")
        )
    }

    fn partitioned(&self) -> String {
        let more = self.more(
            "am.amname AS \"Access method\", (SELECT pg_catalog.pg_size_pretty(pg_catalog.sum(pg_catalog.pg_table_size(t.relid))) \
             FROM pg_catalog.pg_partition_tree(c.oid) t) AS \"Total size\", pg_catalog.obj_description(c.oid, 'pg_class') AS \"Description\"",
        )
        .replace("pg_catalog.sum(", "sum(");
        let join = if self.plus { "\n  LEFT JOIN pg_catalog.pg_am am ON c.relam = am.oid" } else { "" };
        let (parent, of_parent) = match self.has_pattern {
            true => (
                ", inh.inhparent::pg_catalog.regclass AS \"Parent name\"",
                "\n  LEFT JOIN pg_catalog.pg_inherits inh ON c.oid = inh.inhrelid",
            ),
            false => ("", ""),
        };
        let top = if self.has_pattern { "" } else { "\n  AND NOT c.relispartition" };
        let fits = self.fits("c.relname", "pg_catalog.pg_table_is_visible(c.oid)");
        format!(
            "SELECT n.nspname AS \"Schema\", c.relname AS \"Name\", pg_catalog.pg_get_userbyid(c.relowner) AS \"Owner\", \
             CASE c.relkind WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END AS \"Type\"{parent}, \
             i.indrelid::pg_catalog.regclass AS \"Table\"{more}\nFROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace\n  \
             LEFT JOIN pg_catalog.pg_index i ON i.indexrelid = c.oid{of_parent}{join}\nWHERE c.relkind IN ('p','I'){top}{fits}\nORDER BY 1, 2"
        )
    }

    fn role_settings(&self) -> String {
        let roles = self.named("r.rolname");
        let databases = self.second.conditions("d.datname", "", "");
        format!(
            "SELECT r.rolname AS \"Role\", d.datname AS \"Database\", pg_catalog.array_to_string(s.setconfig, E'\\n') AS \"Settings\"\n\
             FROM pg_catalog.pg_db_role_setting s LEFT JOIN pg_catalog.pg_database d ON d.oid = s.setdatabase \
             LEFT JOIN pg_catalog.pg_roles r ON r.oid = s.setrole\nWHERE true{roles}{databases}\nORDER BY 1, 2"
        )
    }

    fn memberships(&self) -> String {
        let own = if self.shows_system() { "" } else { "\n  AND m.rolname !~ '^pg_'" };
        let fits = self.named("m.rolname");
        format!(
            "SELECT m.rolname AS \"Role name\", r.rolname AS \"Member of\", pg_catalog.concat_ws(', ', CASE WHEN pam.admin_option THEN 'ADMIN' END, \
             CASE WHEN pam.inherit_option THEN 'INHERIT' END, CASE WHEN pam.set_option THEN 'SET' END) AS \"Options\", g.rolname AS \"Grantor\"\n\
             FROM pg_catalog.pg_roles m JOIN pg_catalog.pg_auth_members pam ON pam.member = m.oid \
             LEFT JOIN pg_catalog.pg_roles r ON pam.roleid = r.oid LEFT JOIN pg_catalog.pg_roles g ON pam.grantor = g.oid\n\
             WHERE true{own}{fits}\nORDER BY 1, 2, 4"
        )
    }

    fn publications(&self) -> String {
        let fits = self.named("p.pubname");
        format!(
            "SELECT p.pubname AS \"Name\", pg_catalog.pg_get_userbyid(p.pubowner) AS \"Owner\", p.puballtables AS \"All tables\", p.pubinsert AS \"Inserts\", \
             p.pubupdate AS \"Updates\", p.pubdelete AS \"Deletes\", p.pubtruncate AS \"Truncates\", CASE p.pubgencols WHEN 'n' THEN 'none' WHEN 's' THEN 'stored' END AS \"Generated columns\", \
             p.pubviaroot AS \"Via root\"\nFROM pg_catalog.pg_publication p\nWHERE true{fits}\nORDER BY 1"
        )
    }

    fn subscriptions(&self) -> String {
        let fits = self.named("s.subname");
        format!(
            "SELECT s.subname AS \"Name\", pg_catalog.pg_get_userbyid(s.subowner) AS \"Owner\", s.subenabled AS \"Enabled\", s.subpublications AS \"Publication\"\n\
             FROM pg_catalog.pg_subscription s\nWHERE s.subdbid = (SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database()){fits}\nORDER BY 1"
        )
    }

    fn types(&self) -> String {
        let (more, behind) = match self.plus {
            true => (
                ", t.typname AS \"Internal name\", CASE WHEN t.typrelid <> 0 THEN 'tuple' WHEN t.typlen < 0 THEN 'var' ELSE t.typlen::pg_catalog.text END AS \"Size\", \
                 pg_catalog.array_to_string(ARRAY(SELECT e.enumlabel FROM pg_catalog.pg_enum e WHERE e.enumtypid = t.oid ORDER BY e.enumsortorder), E'\\n') AS \"Elements\", \
                 pg_catalog.pg_get_userbyid(t.typowner) AS \"Owner\"",
                format!(", {}", privileges("t.typacl")),
            ),
            false => ("", String::new()),
        };
        // Row types of tables and types of arrays are not listed.
        let arrays = match self.with_arrays {
            true => "",
            false => {
                "\n  AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_type el WHERE el.oid = t.typelem AND el.typarray = t.oid)"
            }
        };
        let system = without_system(self.shows_system(), "n.nspname");
        let mut fits =
            self.pattern.conditions("t.typname", "n.nspname", "pg_catalog.pg_type_is_visible(t.oid)");
        if let Some(part) = self.pattern.name.as_ref().filter(|part| !part.is_all()) {
            // A type has two names: `int4` and `integer`.
            let either = format!(
                "({} OR {})",
                part.condition("t.typname"),
                part.condition("pg_catalog.format_type(t.oid, NULL)")
            );
            fits = fits.replacen(&part.condition("t.typname"), &either, 1);
        }
        format!(
            "SELECT n.nspname AS \"Schema\", pg_catalog.format_type(t.oid, NULL) AS \"Name\"{more}{behind}, \
             pg_catalog.obj_description(t.oid, 'pg_type') AS \"Description\"\nFROM pg_catalog.pg_type t \
             LEFT JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace\n\
             WHERE (t.typrelid = 0 OR (SELECT c.relkind = 'c' FROM pg_catalog.pg_class c WHERE c.oid = t.typrelid)){arrays}{system}{fits}\nORDER BY 1, 2"
        )
    }

    fn roles(&self) -> String {
        let more = self.more("pg_catalog.shobj_description(r.oid, 'pg_authid') AS \"Description\"");
        let own = if self.shows_system() { "" } else { "\n  AND r.rolname !~ '^pg_'" };
        let fits = self.named("r.rolname");
        format!(
            "SELECT r.rolname AS \"Role name\", pg_catalog.concat_ws(E'\\n', pg_catalog.concat_ws(', ', CASE WHEN r.rolsuper THEN 'Superuser' END, \
             CASE WHEN NOT r.rolinherit THEN 'No inheritance' END, CASE WHEN r.rolcreaterole THEN 'Create role' END, CASE WHEN r.rolcreatedb THEN 'Create DB' END, \
             CASE WHEN NOT r.rolcanlogin THEN 'Cannot login' END, CASE WHEN r.rolreplication THEN 'Replication' END, CASE WHEN r.rolbypassrls THEN 'Bypass RLS' END), \
             CASE WHEN r.rolconnlimit = 0 THEN 'No connections' WHEN r.rolconnlimit = 1 THEN '1 connection' WHEN r.rolconnlimit > 1 THEN r.rolconnlimit || ' connections' END, \
             'Password valid until ' || r.rolvaliduntil) AS \"Attributes\"{more}\nFROM pg_catalog.pg_roles r\nWHERE true{own}{fits}\nORDER BY 1"
        )
    }

    fn extensions(&self) -> String {
        let fits = self.named("e.extname");
        format!(
            "SELECT e.extname AS \"Name\", e.extversion AS \"Version\", ae.default_version AS \"Default version\", n.nspname AS \"Schema\", d.description AS \"Description\"\n\
             FROM pg_catalog.pg_extension e LEFT JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace\n  \
             LEFT JOIN pg_catalog.pg_description d ON d.objoid = e.oid AND d.classoid = 'pg_catalog.pg_extension'::pg_catalog.regclass\n  \
             LEFT JOIN pg_catalog.pg_available_extensions ae ON ae.name = e.extname\nWHERE true{fits}\nORDER BY 1"
        )
    }

    fn statistics(&self) -> String {
        let fits = self.fits("es.stxname", "pg_catalog.pg_statistics_obj_is_visible(es.oid)");
        format!(
            "SELECT n.nspname AS \"Schema\", es.stxname AS \"Name\", pg_catalog.format('%s FROM %s', pg_catalog.pg_get_statisticsobjdef_columns(es.oid), \
             es.stxrelid::pg_catalog.regclass) AS \"Definition\", CASE WHEN 'd' = ANY (es.stxkind) THEN 'defined' END AS \"Ndistinct\", \
             CASE WHEN 'f' = ANY (es.stxkind) THEN 'defined' END AS \"Dependencies\", CASE WHEN 'm' = ANY (es.stxkind) THEN 'defined' END AS \"MCV\"\n\
             FROM pg_catalog.pg_statistic_ext es JOIN pg_catalog.pg_namespace n ON n.oid = es.stxnamespace\nWHERE true{fits}\nORDER BY 1, 2"
        )
    }

    fn event_triggers(&self) -> String {
        let more = self.more("pg_catalog.obj_description(e.oid, 'pg_event_trigger') AS \"Description\"");
        let fits = self.named("e.evtname");
        format!(
            "SELECT e.evtname AS \"Name\", e.evtevent AS \"Event\", pg_catalog.pg_get_userbyid(e.evtowner) AS \"Owner\", CASE e.evtenabled WHEN 'O' THEN 'enabled' \
             WHEN 'R' THEN 'replica' WHEN 'A' THEN 'always' WHEN 'D' THEN 'disabled' END AS \"Enabled\", e.evtfoid::pg_catalog.regproc AS \"Function\", \
             pg_catalog.array_to_string(ARRAY(SELECT x FROM pg_catalog.unnest(e.evttags) AS t(x)), ', ') AS \"Tags\"{more}\nFROM pg_catalog.pg_event_trigger e\n\
             WHERE true{fits}\nORDER BY 1"
        )
    }

    fn databases(&self) -> String {
        let more = self.more(
            "CASE WHEN pg_catalog.has_database_privilege(d.datname, 'CONNECT') THEN pg_catalog.pg_size_pretty(pg_catalog.pg_database_size(d.datname)) \
             ELSE 'No Access' END AS \"Size\", t.spcname AS \"Tablespace\", pg_catalog.shobj_description(d.oid, 'pg_database') AS \"Description\"",
        );
        let join =
            if self.plus { "\n  JOIN pg_catalog.pg_tablespace t ON d.dattablespace = t.oid" } else { "" };
        let fits = self.named("d.datname");
        format!(
            "SELECT d.datname AS \"Name\", pg_catalog.pg_get_userbyid(d.datdba) AS \"Owner\", pg_catalog.pg_encoding_to_char(d.encoding) AS \"Encoding\", \
             CASE d.datlocprovider WHEN 'b' THEN 'builtin' WHEN 'c' THEN 'libc' WHEN 'i' THEN 'icu' END AS \"Locale Provider\", d.datcollate AS \"Collate\", \
             d.datctype AS \"Ctype\", d.datlocale AS \"Locale\", d.daticurules AS \"ICU Rules\", {}{more}\nFROM pg_catalog.pg_database d{join}\nWHERE true{fits}\nORDER BY 1",
            privileges("d.datacl")
        )
    }
}
