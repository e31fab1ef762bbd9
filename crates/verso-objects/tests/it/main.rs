//! Archives in object stores: one in memory, and one that speaks S3 over HTTP.

mod server;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use object_store::ObjectStore;
use object_store::aws::AmazonS3Builder;
use object_store::memory::InMemory;
use verso_env::{Env, OpenMode, Vfs};
use verso_objects::ObjectVfs;
use verso_storage::EngineOptions;
use verso_storage::archive::{RestoreTarget, prune_archive, restore_chain, verify_archive_with};
use versodb::{Connection, Database, Options};

/// A world with object stores in memory.
fn in_memory() -> Env {
    let buckets: Mutex<BTreeMap<String, Arc<InMemory>>> = Mutex::default();
    let opens = move |bucket: &str| {
        let mut buckets = buckets.lock().expect("nobody panics");
        Ok(Arc::clone(buckets.entry(bucket.to_owned()).or_default()) as Arc<dyn ObjectStore>)
    };
    let env = Env::real();
    Env { vfs: Arc::new(ObjectVfs::over(Arc::clone(&env.vfs), Box::new(opens))), ..env }
}

/// A world with a store that answers at this address.
fn at_address(address: &str) -> Env {
    let endpoint = format!("http://{address}");
    let opens = move |bucket: &str| {
        let builder = AmazonS3Builder::new()
            .with_bucket_name(bucket)
            .with_endpoint(&endpoint)
            .with_region("here")
            .with_access_key_id("me")
            .with_secret_access_key("secret")
            .with_allow_http(true);
        Ok(Arc::new(builder.build()?) as Arc<dyn ObjectStore>)
    };
    let env = Env::real();
    Env { vfs: Arc::new(ObjectVfs::over(Arc::clone(&env.vfs), Box::new(opens))), ..env }
}

fn write(vfs: &dyn Vfs, path: &str, bytes: &[u8]) -> io::Result<()> {
    let file = vfs.open(Path::new(path), OpenMode { truncate: true, ..OpenMode::CREATE })?;
    file.write_at(bytes, 0)?;
    file.sync_data()
}

fn read(vfs: &dyn Vfs, path: &str) -> io::Result<Vec<u8>> {
    let file = vfs.open(Path::new(path), OpenMode::READ_ONLY)?;
    let mut bytes = vec![0; file.len()? as usize];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(bytes)
}

fn files_come_and_go(env: &Env) {
    let vfs = &*env.vfs;
    let exists = |path: &str| vfs.exists(Path::new(path)).expect("answered");
    let list = |path: &str| vfs.list_dir(Path::new(path)).expect("answered");
    assert!(list("s3://b/folder").is_empty() && !exists("s3://b/folder"));
    // A part is no object before it has its name.
    let (part, name) = ("s3://b/folder/x.vlog.part", "s3://b/folder/x.vlog");
    write(vfs, part, b"the first").expect("written");
    assert!(!exists(part) && !exists(name));
    vfs.rename(Path::new(part), Path::new(name)).expect("renamed");
    assert_eq!(read(vfs, name).expect("read"), b"the first");
    assert!(exists("s3://b/folder") && !exists(part));
    let missing = vfs.rename(Path::new(part), Path::new(name)).expect_err("it is renamed");
    assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    // Any other one when it is synced; larger than a part, and than what is read at once.
    let long: Vec<u8> = (0..40 << 20).map(|at: u32| (at % 251) as u8).collect();
    write(vfs, "s3://b/folder/deep/long", &long).expect("written");
    assert_eq!(read(vfs, "s3://b/folder/deep/long").expect("read"), long);
    let file = vfs.open(Path::new("s3://b/folder/deep/long"), OpenMode::READ_ONLY).expect("opened");
    let mut bytes = [0; 100];
    for at in [0usize, 5 << 20, 17, (40 << 20) - 50, 40 << 20] {
        let count = file.read_at(&mut bytes, at as u64).expect("read");
        assert_eq!(&bytes[..count], &long[at..(at + 100).min(long.len())]);
    }
    let folder = [PathBuf::from("s3://b/folder/deep"), PathBuf::from(name)];
    assert_eq!(list("s3://b/folder"), folder);
    assert_eq!(read(vfs, "s3://b/folder/none").expect_err("it is not there").kind(), io::ErrorKind::NotFound);
    vfs.remove_file(Path::new(name)).expect("removed");
    assert_eq!(list("s3://b/folder"), folder[..1]);
    vfs.remove_dir_all(Path::new("s3://b/folder")).expect("removed");
    assert!(list("s3://b/folder").is_empty() && !exists("s3://b/folder/deep/long"));
    // The disk is the disk.
    let disk = tempfile::tempdir().expect("a folder");
    let at = disk.path().join("file");
    write(vfs, &at.to_string_lossy(), b"here").expect("written");
    assert!(vfs.exists(&at).expect("answered"));
    assert!(vfs.knows("s3") && !vfs.knows("ftp") && !Env::real().vfs.knows("s3"));
}

fn number(connection: &mut Connection, sql: &str) -> i64 {
    connection.query(sql).expect(sql).into_rows()[0].get(0).expect("a number")
}

/// An archive in an object store is verified, restored from and pruned like a folder.
fn archives_and_restores(env: &Env) {
    let disk = tempfile::tempdir().expect("a folder");
    let at = |name: &str| disk.path().join(name);
    let engine = EngineOptions { buffer_pool_bytes: 4 << 20, ..EngineOptions::default() };
    let options = Options::new().engine(engine.clone()).env(env.clone());
    let database = Database::create(at("a.verso"), options.clone()).expect("made");
    let mut connection = database.connect().expect("connected");
    connection.execute("ALTER SYSTEM SET archive_target = 's3://backups/shop/'").expect("set");
    connection.execute("CREATE TABLE t (a int PRIMARY KEY, b text)").expect("made");
    let base = format!("BACKUP DATABASE TO '{}'", at("monday").display());
    connection.execute(&base).expect("a base");
    connection
        .execute("INSERT INTO t SELECT i, repeat('x', 500) FROM generate_series(1, 5000) i")
        .expect("rows");
    let shown: String =
        connection.query("SHOW archive_target").expect("shown").into_rows()[0].get(0).expect("text");
    assert_eq!(shown, "s3://backups/shop");
    let later = base.replace("monday", "tuesday");
    connection.execute(&later).expect("a base");
    connection.execute("DELETE FROM t WHERE a > 4000").expect("fewer rows");
    drop(connection);
    // A clean stop archives what is not there yet.
    database.close().expect("closed");
    let archive = Path::new("s3://backups/shop");
    let (reports, found) =
        verify_archive_with(&*env.vfs, archive, &[at("monday")], &mut |_| Ok(())).expect("whole");
    assert_eq!((reports.len(), found.is_some()), (1, true));
    let restored = |base: &str, name: &str| {
        let made = at(name);
        restore_chain(env, &[at(base)], Some(archive), RestoreTarget::End, &made, &engine).expect("restored");
        let database = Database::open(made, options.clone()).expect("opened");
        let mut connection = database.connect().expect("connected");
        let count = number(&mut connection, "SELECT count(*) FROM t");
        drop(connection);
        database.close().expect("closed");
        count
    };
    assert_eq!(restored("monday", "b.verso"), 4000);
    let folder = env.vfs.list_dir(archive).expect("listed");
    let segments = |env: &Env| {
        let folders = folder.iter().flat_map(|folder| env.vfs.list_dir(folder).expect("listed"));
        folders.filter(|path| path.to_string_lossy().ends_with(".vlog")).collect::<Vec<_>>()
    };
    let before = segments(env);
    let pruned = prune_archive(&*env.vfs, archive, &[at("tuesday")], true).expect("pruned");
    assert_eq!(segments(env).len(), before.len() - pruned.files.len());
    assert!(!pruned.files.is_empty(), "{before:?}");
    assert_eq!(restored("tuesday", "c.verso"), 4000);
    // A segment that is not whole is found.
    let last = segments(env).pop().expect("there is one");
    let mut bytes = read(&*env.vfs, &last.to_string_lossy()).expect("read");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    write(&*env.vfs, &last.to_string_lossy(), &bytes).expect("written");
    verify_archive_with(&*env.vfs, archive, &[], &mut |_| Ok(())).expect_err("a damaged segment");
}

/// Base backups and increments in an object store are restored from, with the archive and without it.
fn backups_and_restores(env: &Env) {
    let disk = tempfile::tempdir().expect("a folder");
    let at = |name: &str| disk.path().join(name);
    let engine = EngineOptions { buffer_pool_bytes: 4 << 20, ..EngineOptions::default() };
    let options = Options::new().engine(engine.clone()).env(env.clone());
    let database = Database::create(at("a.verso"), options.clone()).expect("made");
    let mut connection = database.connect().expect("connected");
    let mut run = |sql: &str| connection.execute(sql);
    run("ALTER SYSTEM SET archive_target = 's3://backups/log'").expect("set");
    run("CREATE TABLE t (a int PRIMARY KEY, b text)").expect("made");
    run("INSERT INTO t SELECT i, repeat('x', 500) FROM generate_series(1, 4000) i").expect("rows");
    run("BACKUP DATABASE TO 's3://backups/shop/monday/'").expect("a base");
    let again = run("BACKUP DATABASE TO 's3://backups/shop/monday'").expect_err("there is one");
    assert!(again.message.contains("holds a base backup already"), "{again}");
    run("BACKUP DATABASE TO 's3://whole'").expect("a bucket is a folder, too");
    run("UPDATE t SET b = 'y' WHERE a <= 50").expect("changed");
    run("INSERT INTO t VALUES (10000, 'new')").expect("a row");
    run("BACKUP DATABASE TO 's3://backups/shop/tuesday' INCREMENTAL FROM 's3://backups/shop/monday'")
        .expect("an increment");
    run("DELETE FROM t WHERE a > 1000").expect("fewer rows");
    drop(connection);
    database.close().expect("closed");
    let [monday, tuesday] =
        ["monday", "tuesday"].map(|day| PathBuf::from(format!("s3://backups/shop/{day}")));
    let whole = PathBuf::from("s3://whole");
    let archive = Path::new("s3://backups/log");
    let size = |folder: &Path| read(&*env.vfs, &folder.join("pages").to_string_lossy()).expect("read").len();
    assert!(size(&tuesday) * 2 < size(&monday), "only what has changed");
    let restored = |bases: &[PathBuf], archive: Option<&Path>, name: &str| {
        let made = at(name);
        restore_chain(env, bases, archive, RestoreTarget::End, &made, &engine).expect("restored");
        let database = Database::open(made, options.clone()).expect("opened");
        let mut connection = database.connect().expect("connected");
        let count = number(&mut connection, "SELECT count(*) FROM t");
        let changed = number(&mut connection, "SELECT count(*) FROM t WHERE b = 'y'");
        drop(connection);
        database.close().expect("closed");
        (count, changed)
    };
    let (base, chain) = (std::slice::from_ref(&monday), [monday.clone(), tuesday]);
    // Before databases that are restored archive there, too.
    let (reports, found) = verify_archive_with(&*env.vfs, archive, &chain, &mut |_| Ok(())).expect("whole");
    assert_eq!((reports.len(), found.is_some()), (1, true));
    assert_eq!(restored(base, None, "b.verso"), (4000, 0));
    assert_eq!(restored(&[whole], None, "c.verso"), (4000, 0));
    assert_eq!(restored(&chain, None, "d.verso"), (4001, 50));
    assert_eq!(restored(&chain, Some(archive), "e.verso"), (1000, 50));
    assert_eq!(restored(base, Some(archive), "f.verso"), (1000, 50));
    // Pages that are not what was written are found, before anything is made of them.
    let pages = monday.join("pages");
    let mut bytes = read(&*env.vfs, &pages.to_string_lossy()).expect("read");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    write(&*env.vfs, &pages.to_string_lossy(), &bytes).expect("written");
    restore_chain(env, base, None, RestoreTarget::End, &at("g.verso"), &engine).expect_err("damaged");
    assert!(!env.vfs.exists(&at("g.verso")).expect("answered"));
}

#[test]
fn a_base_in_memory_is_restored() {
    backups_and_restores(&in_memory());
}

#[test]
fn a_base_over_http_is_restored() {
    let server = server::Server::start();
    backups_and_restores(&at_address(&server.address));
}

#[test]
fn files_come_and_go_in_memory() {
    files_come_and_go(&in_memory());
}

#[test]
fn files_come_and_go_over_http() {
    let server = server::Server::start();
    files_come_and_go(&at_address(&server.address));
}

#[test]
fn an_archive_in_memory_is_restored() {
    archives_and_restores(&in_memory());
}

#[test]
fn an_archive_over_http_is_restored() {
    let server = server::Server::start();
    archives_and_restores(&at_address(&server.address));
    assert!(server.requests() > 10, "it was asked");
}

#[test]
fn a_store_that_refuses_does_not_stop_the_database() {
    let env = Env::real();
    let refuses = |_: &str| Err(object_store::Error::NotImplemented);
    let env = Env { vfs: Arc::new(ObjectVfs::over(Arc::clone(&env.vfs), Box::new(refuses))), ..env };
    let disk = tempfile::tempdir().expect("a folder");
    let database = Database::create(disk.path().join("a.verso"), Options::new().env(env)).expect("made");
    let mut connection = database.connect().expect("connected");
    let error =
        connection.execute("ALTER SYSTEM SET archive_target = 's3://backups/shop'").expect_err("refused");
    assert_eq!(error.sqlstate, "58P01", "{error}");
    connection.execute("CREATE TABLE t (a int)").expect("it goes on");
    let error =
        connection.execute("ALTER SYSTEM SET archive_target = 'ftp://x'").expect_err("no such scheme");
    assert_eq!(error.sqlstate, "0A000", "{error}");
}
