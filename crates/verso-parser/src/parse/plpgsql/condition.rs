//! Names of exception conditions.

use verso_types::sqlstate;

use crate::error::SyntaxError;

/// The SQLSTATE behind a condition's name, as PostgreSQL's appendix A has them.
pub fn condition_code(name: &str) -> Option<&'static str> {
    CONDITIONS.iter().find(|(known, _)| *known == name).map(|(_, code)| *code)
}

const CONDITIONS: &[(&str, &str)] = &[
    ("no_data", "02000"),
    ("connection_exception", "08000"),
    ("feature_not_supported", "0A000"),
    ("case_not_found", "20000"),
    ("cardinality_violation", "21000"),
    ("data_exception", "22000"),
    ("string_data_right_truncation", "22001"),
    ("null_value_not_allowed", "22004"),
    ("numeric_value_out_of_range", "22003"),
    ("invalid_datetime_format", "22007"),
    ("datetime_field_overflow", "22008"),
    ("division_by_zero", "22012"),
    ("invalid_parameter_value", "22023"),
    ("invalid_text_representation", "22P02"),
    ("integrity_constraint_violation", "23000"),
    ("restrict_violation", "23001"),
    ("not_null_violation", "23502"),
    ("foreign_key_violation", "23503"),
    ("unique_violation", "23505"),
    ("check_violation", "23514"),
    ("invalid_transaction_state", "25000"),
    ("read_only_sql_transaction", "25006"),
    ("in_failed_sql_transaction", "25P02"),
    ("must_rollback", "25V01"),
    ("triggered_action_exception", "09000"),
    ("savepoint_exception", "3B000"),
    ("transaction_rollback", "40000"),
    ("serialization_failure", "40001"),
    ("deadlock_detected", "40P01"),
    ("syntax_error_or_access_rule_violation", "42000"),
    ("syntax_error", "42601"),
    ("insufficient_privilege", "42501"),
    ("undefined_column", "42703"),
    ("undefined_function", "42883"),
    ("undefined_table", "42P01"),
    ("duplicate_table", "42P07"),
    ("datatype_mismatch", "42804"),
    ("insufficient_resources", "53000"),
    ("disk_full", "53100"),
    ("out_of_memory", "53200"),
    ("program_limit_exceeded", "54000"),
    ("statement_too_complex", "54001"),
    ("object_not_in_prerequisite_state", "55000"),
    ("lock_not_available", "55P03"),
    ("query_canceled", "57014"),
    ("plpgsql_error", "P0000"),
    ("raise_exception", "P0001"),
    ("no_data_found", "P0002"),
    ("too_many_rows", "P0003"),
    ("assert_failure", "P0004"),
    ("internal_error", "XX000"),
    ("data_corrupted", "XX001"),
];

pub(super) fn unknown_condition(name: &str) -> SyntaxError {
    SyntaxError::new(sqlstate::UNDEFINED_OBJECT, format!("unrecognized exception condition \"{name}\""))
}
