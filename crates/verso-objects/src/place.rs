//! Where a path leads.

use std::path::Path;

/// The scheme of the paths that are objects.
pub(crate) const SCHEME: &str = "s3";

/// An object, or a folder of objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) bucket: String,
    /// Without slashes at its ends; empty for the bucket itself.
    pub(crate) key: String,
}

impl Place {
    /// The place of a path that is one of an object store.
    pub(crate) fn of(path: &Path) -> Option<Place> {
        let rest = path.to_str()?.strip_prefix(SCHEME)?.strip_prefix("://")?;
        let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
        Some(Place { bucket: bucket.to_owned(), key: key.trim_matches('/').to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_a_bucket_and_a_key_or_one_of_the_disk() {
        let place = |path: &str| Place::of(Path::new(path)).map(|place| (place.bucket, place.key));
        let found = |bucket: &str, key: &str| Some((bucket.to_owned(), key.to_owned()));
        assert_eq!(place("s3://b/p/q.vlog"), found("b", "p/q.vlog"));
        assert_eq!(place("s3://b/p/"), found("b", "p"));
        assert_eq!(place("s3://b"), found("b", ""));
        assert_eq!(
            Place::of(&Path::new("s3://b/p").join("x")).map(|place| place.key),
            Some("p/x".to_owned())
        );
        assert_eq!(place("/s3/b"), None);
        assert_eq!(place("s3:/b/p"), None);
    }
}
