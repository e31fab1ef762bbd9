//! Damaged archives are refused, never restored wrongly.

use std::io::Cursor;
use std::sync::Arc;

use verso_backup::{
    BackupError, BackupOptions, BackupReport, Compression, Part, RestoreOptions, RestoreReport,
};
use verso_env::Env;

use crate::world::{archive, database, restore};

const SMALL: &str = "CREATE TABLE a (x integer PRIMARY KEY, t text);
    INSERT INTO a VALUES (1, 'one'), (2, NULL), (300, 'three hundred');
    CREATE TABLE b (f double precision); INSERT INTO b VALUES (1.5), (2.5)";

fn verify(archive: &[u8]) -> Result<RestoreReport, BackupError> {
    verso_backup::verify(&Env::real(), Box::new(Cursor::new(archive.to_vec())), 1, &Arc::default())
}

fn small() -> (tempfile::TempDir, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let saved = database(&folder.path().join("a.verso"), SMALL);
    let bytes =
        archive(&saved, &BackupOptions { compression: Compression::Zstd(3), ..BackupOptions::default() });
    saved.close().unwrap();
    (folder, bytes)
}

#[test]
fn a_sound_archive_is_verified() {
    let (_folder, bytes) = small();
    let report = verify(&bytes).unwrap();
    assert_eq!((report.tables, report.rows, report.bytes), (2, 5, bytes.len() as u64));
    let _: BackupReport = BackupReport::default();
}

#[test]
fn each_byte_that_is_flipped_is_noticed() {
    let (_folder, bytes) = small();
    let mut parts = std::collections::BTreeSet::new();
    for at in 0..bytes.len() {
        for bits in [0x01, 0x80, 0xFF] {
            let mut wrong = bytes.clone();
            wrong[at] ^= bits;
            match verify(&wrong) {
                Err(BackupError::Damaged { part, .. }) => {
                    parts.insert(part.to_string());
                }
                other => panic!("byte {at}: {other:?}"),
            }
        }
    }
    let named: Vec<_> = parts.iter().map(String::as_str).collect();
    assert_eq!(
        named,
        [
            "chunk 1",
            "chunk 2",
            "chunk 3",
            "its definitions",
            "its end",
            "its header",
            "its table of contents"
        ]
    );
}

#[test]
fn an_archive_that_is_cut_anywhere_is_noticed() {
    let (_folder, bytes) = small();
    for length in 0..bytes.len() {
        match verify(&bytes[..length]) {
            Err(BackupError::Damaged { .. }) => {}
            other => panic!("{length} bytes: {other:?}"),
        }
    }
    let mut longer = bytes.clone();
    longer.push(0);
    assert!(matches!(verify(&longer), Err(BackupError::Damaged { part: Part::End, .. })));
    let doubled = [bytes.clone(), bytes].concat();
    assert!(matches!(verify(&doubled), Err(BackupError::Damaged { part: Part::End, .. })));
}

#[test]
fn a_chunk_of_another_archive_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    // Unpacked: the numbers of archives are as long as each other, but do not pack alike.
    let plain = BackupOptions { compression: Compression::None, ..BackupOptions::default() };
    let bytes = archive(&database(&folder.path().join("a.verso"), SMALL), &plain);
    let other = SMALL.replace("three hundred", "four hundred!");
    let other = database(&folder.path().join("b.verso"), &other);
    let other = archive(&other, &plain);
    assert_eq!(bytes.len(), other.len(), "the frames stand at the same places");
    let definitions = 32 + 24 + u32::from_le_bytes(bytes[40..44].try_into().unwrap()) as usize;
    let differs = bytes.iter().zip(&other).skip(definitions).position(|(a, b)| a != b);
    let first = definitions + differs.unwrap();
    // From the head of the chunk that differs up to the contents, which are the last frame.
    let contents = u64::from_le_bytes(bytes[bytes.len() - 24..bytes.len() - 16].try_into().unwrap()) as usize;
    let mixed = [&bytes[..first], &other[first..contents], &bytes[contents..]].concat();
    match verify(&mixed) {
        Err(BackupError::Damaged { part: Part::Chunk(_), .. }) => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn nothing_is_left_of_a_restore_of_a_damaged_archive() {
    let (folder, bytes) = small();
    let path = folder.path().join("copy.verso");
    for at in [bytes.len() / 2, bytes.len() - 40, bytes.len() - 1] {
        let mut wrong = bytes.clone();
        wrong[at] ^= 1;
        let error = restore(&wrong, &path, &RestoreOptions::default()).unwrap_err();
        assert!(matches!(error, BackupError::Damaged { .. }), "{error}");
        let left: Vec<_> =
            std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
        assert!(left.iter().all(|name| !name.to_string_lossy().starts_with("copy")), "{left:?}");
    }
    restore(&bytes, &path, &RestoreOptions::default()).unwrap();
    let message = restore(&bytes, &path, &RestoreOptions::default()).unwrap_err().to_string();
    assert!(message.contains("exists"), "{message}");
}
