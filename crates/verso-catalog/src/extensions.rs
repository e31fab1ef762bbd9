//! Extensions that a database uses without having asked for them: what they bring is a part of the program, and PostgreSQL has it of them
//! only.

use std::sync::Arc;

use verso_types::{Exclusion, SqlType, SystemType};

use crate::definition::{ExtensionDef, IndexDef, IndexPart, Oid, TableDef, TypeDef};
use crate::key_class::KeyClass;
use crate::snapshot::CatalogSnapshot;

/// What brings `gin_trgm_ops`.
pub const PG_TRGM: &str = "pg_trgm";
/// What brings the view of what statements have cost.
pub const PG_STAT_STATEMENTS: &str = "pg_stat_statements";
/// What brings the operator classes of `gist` for numbers, texts and their like.
pub const BTREE_GIST: &str = "btree_gist";

/// What brings the type of that name.
pub const CITEXT: &str = "citext";
/// The same.
pub const HSTORE: &str = "hstore";
/// What brings `levenshtein`, `soundex` and their like.
pub const FUZZYSTRMATCH: &str = "fuzzystrmatch";
/// What brings the function of that name.
pub const UNACCENT: &str = "unaccent";
/// What brings `crypt`, `encrypt` and their like.
pub const PGCRYPTO: &str = "pgcrypto";

/// The types that the extension of a name brings; they are in its schema.
pub(crate) fn types_of(extension: &str, schema: &Arc<str>) -> Vec<TypeDef> {
    let own = match extension {
        CITEXT => SystemType::Citext,
        HSTORE => SystemType::Hstore,
        _ => return Vec::new(),
    };
    vec![TypeDef {
        oid: Oid(own.pg_oid()),
        array: Oid(own.array_oid()),
        schema: Arc::clone(schema),
        name: own.name().into(),
        ty: SqlType::System(own),
        fields: Vec::new(),
    }]
}

impl ExtensionDef {
    /// The types that it brings.
    pub fn types(&self) -> Vec<TypeDef> {
        types_of(&self.name, &self.schema)
    }
}

/// The extension that brings a type, or what it is an array of.
pub fn extension_of_type(ty: &SqlType) -> Option<&'static str> {
    match ty {
        SqlType::System(SystemType::Citext) => Some(CITEXT),
        SqlType::System(SystemType::Hstore) => Some(HSTORE),
        SqlType::Array(element) => extension_of_type(element),
        SqlType::Domain(domain) => extension_of_type(&domain.base),
        SqlType::Row(row) => row.fields.iter().find_map(|(_, ty)| extension_of_type(ty)),
        _ => None,
    }
}

/// The extension that has functions of that name; none for those that PostgreSQL itself has, or nobody.
pub fn extension_with(function: &str) -> Option<&'static str> {
    Some(match function {
        "uuid_generate_v1" | "uuid_generate_v1mc" | "uuid_generate_v3" | "uuid_generate_v4"
        | "uuid_generate_v5" | "uuid_nil" | "uuid_ns_dns" | "uuid_ns_oid" | "uuid_ns_url"
        | "uuid_ns_x500" => "uuid-ossp",
        "digest" | "hmac" | "gen_random_bytes" | "gen_random_uuid" | "crypt" | "gen_salt" | "encrypt"
        | "decrypt" | "encrypt_iv" | "decrypt_iv" | "fips_mode" => PGCRYPTO,
        "set_limit" | "show_limit" | "show_trgm" | "similarity" | "similarity_dist" | "similarity_op" => {
            PG_TRGM
        }
        "pg_stat_statements" | "pg_stat_statements_info" | "pg_stat_statements_reset" => PG_STAT_STATEMENTS,
        "akeys" | "avals" | "skeys" | "svals" | "each" | "fetchval" | "slice" | "slice_array" | "exist"
        | "isexists" | "exists_any" | "exists_all" | "defined" | "isdefined" | "delete" | "tconvert"
        | "hs_concat" | "hs_contains" | "hs_contained" | "populate_record" => HSTORE,
        "regexp_match"
        | "regexp_matches"
        | "regexp_replace"
        | "regexp_split_to_array"
        | "regexp_split_to_table"
        | "strpos"
        | "replace"
        | "split_part"
        | "translate" => CITEXT,
        "levenshtein"
        | "levenshtein_less_equal"
        | "soundex"
        | "text_soundex"
        | "difference"
        | "metaphone" => FUZZYSTRMATCH,
        "unaccent" => UNACCENT,
        _ if function.starts_with("hstore") => HSTORE,
        _ if function.starts_with("citext_") => CITEXT,
        _ if function.starts_with("word_similarity") || function.starts_with("strict_word_similarity") => {
            PG_TRGM
        }
        _ => return None,
    })
}

impl CatalogSnapshot {
    /// Whether functions of that name are there: users may have their own `levenshtein` or `encrypt` where the extension is not.
    pub fn has_function_of_extension(&self, function: &str) -> bool {
        match extension_with(function) {
            Some(PGCRYPTO)
                if ["digest", "hmac", "gen_random_bytes", "gen_random_uuid"].contains(&function) =>
            {
                true
            }
            Some(name @ (FUZZYSTRMATCH | UNACCENT | PGCRYPTO)) => self.extension(name).is_some(),
            _ => true,
        }
    }

    /// Whether a schema has functions of that name which came with an extension: they are built in, and the schema where the
    /// extension was made has them, too.
    pub fn has_from_extension(&self, schema: &str, function: &str) -> bool {
        let extension = extension_with(function).and_then(|name| self.extension(name));
        extension.is_some_and(|extension| *extension.schema == *schema)
    }

    /// The same of operators of that symbol.
    pub fn has_operator_from_extension(&self, schema: &str, symbol: &str) -> bool {
        let mut extensions = extensions_with_operator(symbol).iter().filter_map(|name| self.extension(name));
        extensions.any(|extension| *extension.schema == *schema)
    }
}

/// The extensions that have operators of that symbol.
pub fn extensions_with_operator(symbol: &str) -> &'static [&'static str] {
    match symbol {
        "<->" => &[PG_TRGM, BTREE_GIST],
        "=" | "<>" => &[CITEXT, HSTORE],
        "<" | "<=" | ">" | ">=" | "~" | "~*" | "!~" | "!~*" | "~~" | "~~*" | "!~~" | "!~~*" | "~<~"
        | "~<=~" | "~>~" | "~>=~" => &[CITEXT],
        "->" | "?" | "?|" | "?&" | "-" | "||" | "@>" | "<@" | "%%" | "%#" | "#=" | "#<#" | "#<=#" | "#>#"
        | "#>=#" => &[HSTORE],
        "%" | "<%" | "%>" | "<<%" | "%>>" | "<<->" | "<->>" | "<<<->" | "<->>>" => &[PG_TRGM],
        _ => &[],
    }
}

/// Whether operators of that symbol are an extension's only between values of its own type.
pub fn is_operator_of_own_type(symbol: &str) -> bool {
    extensions_with_operator(symbol).iter().all(|name| [CITEXT, HSTORE].contains(name))
}

/// The extensions whose operator classes the indexes of these tables have, by name.
pub fn extensions_used<'t>(tables: impl IntoIterator<Item = &'t Arc<TableDef>>) -> Vec<&'static str> {
    let (mut trigrams, mut scalars) = (false, false);
    for table in tables {
        for index in table.all_indexes() {
            trigrams |= index.parts.iter().any(|part| part.class == KeyClass::Trigrams);
            scalars |= has_scalars(table, index);
        }
    }
    let all = [(scalars, BTREE_GIST), (trigrams, PG_TRGM)];
    all.into_iter().filter(|(used, _)| *used).map(|(_, name)| name).collect()
}

/// Does an index of `gist` have parts for which PostgreSQL itself has no operator class there?
fn has_scalars(table: &TableDef, index: &IndexDef) -> bool {
    let is_own = |part: &IndexPart| {
        let ty = table.column_with_id(part.column).map(|at| table.columns[at].ty.erased());
        match ty {
            Some(SqlType::Range(_) | SqlType::Multirange(_)) => true,
            Some(SqlType::System(SystemType::Inet | SystemType::Cidr)) => {
                part.excludes == Some(Exclusion::Overlaps)
            }
            _ => false,
        }
    };
    index.method() == "gist" && !index.parts.iter().all(is_own)
}
