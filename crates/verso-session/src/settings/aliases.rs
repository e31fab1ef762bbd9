//! Settings that are names of one thing: what one of them says another one says otherwise.
//!
//! Of the configuration's file and of what ALTER SYSTEM keeps the latter counts, as it is read last, also where the two use
//! different names.

/// Each line is one thing.
const FAMILIES: [&[&str]; 5] = [
    &["synchronous_commit", "commit_wait", "commit_logging"],
    &["checkpoint_interval", "checkpoint_timeout"],
    &["buffer_pool", "shared_buffers"],
    &["maintenance_memory", "maintenance_work_mem"],
    &["pdq_priority", "pdqpriority"],
];

/// Whether two different names are about one thing.
pub(crate) fn are_aliases(one: &str, other: &str) -> bool {
    one != other && FAMILIES.iter().any(|family| family.contains(&one) && family.contains(&other))
}

/// The other names of what a setting is; of those about commits, which are more than one thing, there are none.
pub(crate) fn aliases(name: &str) -> impl Iterator<Item = &'static str> + '_ {
    let families = FAMILIES.iter().filter(move |family| !is_of_commits(name) && family.contains(&name));
    families.flat_map(|family| family.iter().copied()).filter(move |other| *other != name)
}

/// Whether it says how commits are written.
pub(crate) fn is_of_commits(name: &str) -> bool {
    FAMILIES[0].contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_thing_are_aliases_of_each_other() {
        assert!(are_aliases("synchronous_commit", "commit_wait"));
        assert!(are_aliases("shared_buffers", "buffer_pool"));
        assert!(!are_aliases("commit_wait", "commit_wait"));
        assert!(!are_aliases("commit_wait", "buffer_pool") && !are_aliases("work_mem", "temp_file_limit"));
        assert_eq!(aliases("shared_buffers").collect::<Vec<_>>(), ["buffer_pool"]);
        assert_eq!(aliases("work_mem").chain(aliases("commit_wait")).count(), 0);
        assert!(is_of_commits("commit_logging") && !is_of_commits("buffer_pool"));
        for name in FAMILIES.iter().flat_map(|family| family.iter()) {
            let mut settings = crate::settings::Settings::default();
            let known = super::super::OF_DATABASE.contains(name) || settings.set(name, None).is_ok();
            assert!(known || is_of_commits(name), "{name}");
        }
    }
}
