//! The rights on what the system has itself, as far as they are not what an object of its kind has anyway: PostgreSQL's.
//!
//! A list that GRANT or REVOKE has made stands for these from then on.

use crate::authority::READ_ALL_STATS;
use crate::definition::Oid;
use crate::relations::SystemRelation;
use crate::rights::{Acl, PUBLIC_ROLE, Rights, RightsOf};
use crate::system::OWNER_OID;

/// `pg_monitor`.
const MONITOR: Oid = Oid(3373);
/// No role but superusers.
const NOBODY: Oid = Oid(0);

/// Functions that not everybody may call, by their numbers in `pg_proc`, and who may.
const FUNCTIONS: [(u32, Oid); 66] = [
    (764, NOBODY),          // lo_import(text)
    (765, NOBODY),          // lo_export(oid, text)
    (767, NOBODY),          // lo_import(text, oid)
    (2172, NOBODY),         // pg_backup_start
    (2274, NOBODY),         // pg_stat_reset
    (2282, READ_ALL_STATS), // pg_get_backend_memory_contexts
    (2307, NOBODY),         // pg_stat_reset_slru
    (2621, NOBODY),         // pg_reload_conf
    (2622, NOBODY),         // pg_rotate_logfile
    (2623, NOBODY),         // pg_stat_file(text)
    (2624, NOBODY),         // pg_read_file(text, bigint, bigint)
    (2625, NOBODY),         // pg_ls_dir(text)
    (2739, NOBODY),         // pg_backup_stop
    (2848, NOBODY),         // pg_switch_wal
    (3071, NOBODY),         // pg_wal_replay_pause
    (3072, NOBODY),         // pg_wal_replay_resume
    (3098, NOBODY),         // pg_create_restore_point
    (3293, NOBODY),         // pg_read_file(text, bigint, bigint, boolean)
    (3295, NOBODY),         // pg_read_binary_file(text, bigint, bigint, boolean)
    (3297, NOBODY),         // pg_ls_dir(text, boolean, boolean)
    (3307, NOBODY),         // pg_stat_file(text, boolean)
    (3329, NOBODY),         // pg_show_all_file_settings
    (3353, MONITOR),        // pg_ls_logdir
    (3354, MONITOR),        // pg_ls_waldir
    (3400, NOBODY),         // pg_config
    (3401, NOBODY),         // pg_hba_file_rules
    (3436, NOBODY),         // pg_promote
    (3775, NOBODY),         // pg_stat_reset_shared
    (3776, NOBODY),         // pg_stat_reset_single_table_counters
    (3777, NOBODY),         // pg_stat_reset_single_function_counters
    (3800, MONITOR),        // pg_current_logfile()
    (3801, MONITOR),        // pg_current_logfile(text)
    (3826, NOBODY),         // pg_read_file(text)
    (3827, NOBODY),         // pg_read_binary_file(text, bigint, bigint)
    (3828, NOBODY),         // pg_read_binary_file(text)
    (4100, READ_ALL_STATS), // pg_get_shmem_allocations_numa
    (4543, NOBODY),         // pg_log_backend_memory_contexts
    (5029, MONITOR),        // pg_ls_tmpdir()
    (5030, MONITOR),        // pg_ls_tmpdir(oid)
    (5031, MONITOR),        // pg_ls_archive_statusdir
    (5052, READ_ALL_STATS), // pg_get_shmem_allocations
    (6003, NOBODY),         // pg_replication_origin_create
    (6004, NOBODY),         // pg_replication_origin_drop
    (6005, NOBODY),         // pg_replication_origin_oid
    (6006, NOBODY),         // pg_replication_origin_session_setup
    (6007, NOBODY),         // pg_replication_origin_session_reset
    (6008, NOBODY),         // pg_replication_origin_session_is_setup
    (6009, NOBODY),         // pg_replication_origin_session_progress
    (6010, NOBODY),         // pg_replication_origin_xact_setup
    (6011, NOBODY),         // pg_replication_origin_xact_reset
    (6012, NOBODY),         // pg_replication_origin_advance
    (6013, NOBODY),         // pg_replication_origin_progress
    (6014, NOBODY),         // pg_show_replication_origin_status
    (6170, NOBODY),         // pg_stat_reset_replication_slot
    (6208, NOBODY),         // pg_read_file(text, boolean)
    (6209, NOBODY),         // pg_read_binary_file(text, boolean)
    (6230, NOBODY),         // pg_stat_have_stats
    (6232, NOBODY),         // pg_stat_reset_subscription_stats
    (6250, NOBODY),         // pg_ident_file_mappings
    (6270, MONITOR),        // pg_ls_logicalsnapdir
    (6271, MONITOR),        // pg_ls_logicalmapdir
    (6272, MONITOR),        // pg_ls_replslotdir
    (6305, NOBODY),         // pg_log_standby_snapshot
    (6387, NOBODY),         // pg_stat_reset_backend_stats
    (6399, READ_ALL_STATS), // pg_get_aios
    (6400, MONITOR),        // pg_ls_summariesdir
];

/// Relations that not everybody may read, and who may.
const RELATIONS: [(&str, Oid); 16] = [
    ("pg_aios", READ_ALL_STATS),
    ("pg_authid", NOBODY),
    ("pg_backend_memory_contexts", READ_ALL_STATS),
    ("pg_config", NOBODY),
    ("pg_file_settings", NOBODY),
    ("pg_hba_file_rules", NOBODY),
    ("pg_ident_file_mappings", NOBODY),
    ("pg_largeobject", NOBODY),
    ("pg_replication_origin_status", NOBODY),
    ("pg_shadow", NOBODY),
    ("pg_shmem_allocations", READ_ALL_STATS),
    ("pg_shmem_allocations_numa", READ_ALL_STATS),
    ("pg_statistic", NOBODY),
    ("pg_statistic_ext_data", NOBODY),
    ("pg_subscription", NOBODY),
    ("pg_user_mapping", NOBODY),
];

/// The list of a function of the system; none where everybody may call it.
pub(crate) fn of_function(function: Oid) -> Option<Acl> {
    let at = FUNCTIONS.binary_search_by_key(&function.0, |(oid, _)| *oid).ok()?;
    let mut acl = Acl::default();
    for role in [OWNER_OID, FUNCTIONS[at].1].into_iter().filter(|role| *role != NOBODY) {
        acl.grant(role, OWNER_OID, Rights::EXECUTE, false);
    }
    Some(acl)
}

/// The list of a relation of the system: most are for everybody to read.
pub(crate) fn of_relation(relation: Oid) -> Option<Acl> {
    if !relation.is_system() {
        return None;
    }
    let mut acl = Acl::default_of(RightsOf::Table, OWNER_OID);
    match readers(relation) {
        None => acl.grant(PUBLIC_ROLE, OWNER_OID, Rights::SELECT, false),
        Some(NOBODY) => {}
        Some(role) => acl.grant(role, OWNER_OID, Rights::SELECT, false),
    }
    Some(acl)
}

/// Whether a relation of the system is not for everybody to read.
pub(crate) fn is_secret(relation: Oid) -> bool {
    relation.is_system() && readers(relation).is_some()
}

/// Who may read a relation of the system beside superusers; none where everybody may.
fn readers(relation: Oid) -> Option<Oid> {
    let name = SystemRelation::by_oid(relation)?.name;
    let at = RELATIONS.binary_search_by_key(&name, |(name, _)| *name).ok()?;
    Some(RELATIONS[at].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_looked_up_is_in_order() {
        assert!(FUNCTIONS.is_sorted_by_key(|(oid, _)| *oid));
        assert!(RELATIONS.is_sorted_by_key(|(name, _)| *name));
    }

    #[test]
    fn who_may_call_and_read_what_the_system_has() {
        assert_eq!(of_function(Oid(1317)), None); // length
        let waldir = of_function(Oid(3354)).expect("a list");
        assert_eq!(waldir.rights(|role| role == MONITOR), Rights::EXECUTE);
        assert!(waldir.rights(|role| role == READ_ALL_STATS).is_empty());
        assert!(is_secret(Oid(1260)) && !is_secret(Oid(1259)));
        let class = of_relation(Oid(1259)).expect("a list");
        assert_eq!(class.rights(|_| false), Rights::SELECT);
    }
}
