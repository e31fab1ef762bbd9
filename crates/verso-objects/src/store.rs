//! A file system that knows object stores, too.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use object_store::aws::AmazonS3Builder;
use object_store::path::Path as Key;
use object_store::{ClientOptions, ObjectStore, PutPayload, RetryConfig};
use parking_lot::Mutex;
use tokio::runtime::{Builder, Runtime};
use verso_env::{Env, OpenMode, Vfs, VfsFile};

use crate::file::{ObjectFile, StagedFile};
use crate::place::{Place, SCHEME};

/// An object of more bytes is sent in parts of so many.
const PART_BYTES: usize = 16 << 20;
/// Tries behind the first, and how long they may take together.
const RETRIES_MAX: usize = 3;
const RETRIES_TIME: Duration = Duration::from_secs(20);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// Gives the store of a bucket.
type Opens = dyn Fn(&str) -> Result<Arc<dyn ObjectStore>, object_store::Error> + Send + Sync;

/// The world with paths `s3://bucket/…`. Endpoint, region and credentials come from the environment, as other clients of
/// S3 take them: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`, `AWS_REGION`, `AWS_ENDPOINT_URL`,
/// `AWS_ALLOW_HTTP`, or what the machine in the cloud says.
pub fn with_object_stores(env: Env) -> Env {
    let vfs = ObjectVfs::over(Arc::clone(&env.vfs), Box::new(from_environment));
    Env { vfs: Arc::new(vfs), ..env }
}

fn from_environment(bucket: &str) -> Result<Arc<dyn ObjectStore>, object_store::Error> {
    let retries =
        RetryConfig { max_retries: RETRIES_MAX, retry_timeout: RETRIES_TIME, ..RetryConfig::default() };
    let client = ClientOptions::new().with_connect_timeout(CONNECT_TIMEOUT).with_timeout(REQUEST_TIMEOUT);
    let mut builder =
        AmazonS3Builder::from_env().with_bucket_name(bucket).with_retry(retries).with_client_options(client);
    if std::env::var("AWS_ALLOW_HTTP").is_ok_and(|allow| matches!(&*allow, "true" | "1")) {
        builder = builder.with_allow_http(true);
    }
    Ok(Arc::new(builder.build()?))
}

/// A file system of which some folders are those of object stores.
pub struct ObjectVfs {
    remote: Arc<Remote>,
    /// Files that are being written, by the path that they have here.
    staged: Mutex<BTreeMap<PathBuf, Arc<StagedFile>>>,
}

impl ObjectVfs {
    /// Over a file system, and what gives the store of a bucket.
    pub fn over(local: Arc<dyn Vfs>, opens: Box<Opens>) -> ObjectVfs {
        let remote = Remote { local, opens, known: Mutex::default(), runtime: OnceLock::new() };
        ObjectVfs { remote: Arc::new(remote), staged: Mutex::default() }
    }

    fn stage(&self, path: &Path, place: Place) -> io::Result<Arc<dyn VfsFile>> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("verso-object-{}-{number}", std::process::id());
        let at = std::env::temp_dir().join(name);
        let local = self.remote.local.open(&at, OpenMode { truncate: true, ..OpenMode::CREATE })?;
        let remote = Arc::clone(&self.remote);
        let file = Arc::new(StagedFile { remote, place, local, path: at });
        if file.place.key.ends_with(".part") {
            self.staged.lock().insert(path.to_owned(), Arc::clone(&file));
        }
        Ok(file)
    }
}

impl Vfs for ObjectVfs {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn VfsFile>> {
        let Some(place) = Place::of(path) else { return self.remote.local.open(path, mode) };
        if mode.read_only {
            let length = self.remote.length(&place)?;
            let (remote, piece) = (Arc::clone(&self.remote), Mutex::default());
            return Ok(Arc::new(ObjectFile { remote, place, length, piece }));
        }
        if mode.create_new && self.exists(path)? {
            return Err(io::Error::from(io::ErrorKind::AlreadyExists));
        }
        if !(mode.create_new || mode.create && mode.truncate) {
            let text = "an object of an object store is not changed";
            return Err(io::Error::new(io::ErrorKind::Unsupported, text));
        }
        self.stage(path, place)
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        if Place::of(path).is_some() { Ok(path.to_path_buf()) } else { self.remote.local.resolve(path) }
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        let Some(place) = Place::of(path) else { return self.remote.local.exists(path) };
        match self.remote.length(&place) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Ok(!self.remote.list(&place)?.is_empty())
            }
            Err(error) => Err(error),
        }
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        let Some(place) = Place::of(path) else { return self.remote.local.remove_file(path) };
        self.remote.remove(&place)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        match (Place::of(from), Place::of(to)) {
            (None, None) => self.remote.local.rename(from, to),
            (Some(_), Some(place)) => {
                let Some(file) = self.staged.lock().remove(from) else {
                    return Err(io::Error::from(io::ErrorKind::NotFound));
                };
                let done = file.put(&place);
                if done.is_err() {
                    self.staged.lock().insert(from.to_owned(), file);
                }
                done
            }
            _ => Err(io::Error::from(io::ErrorKind::CrossesDevices)),
        }
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        if Place::of(path).is_some() { Ok(()) } else { self.remote.local.create_dir_all(path) }
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        if Place::of(path).is_some() { Ok(()) } else { self.remote.local.sync_dir(path) }
    }

    fn list_dir(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        let Some(place) = Place::of(path) else { return self.remote.local.list_dir(path) };
        let keys = self.remote.list(&place)?;
        let mut paths: Vec<PathBuf> =
            keys.iter().map(|key| PathBuf::from(format!("{SCHEME}://{}/{key}", place.bucket))).collect();
        paths.sort();
        Ok(paths)
    }

    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        let Some(place) = Place::of(path) else { return self.remote.local.remove_dir_all(path) };
        for key in self.remote.list(&place)? {
            let inner = PathBuf::from(format!("{SCHEME}://{}/{key}", place.bucket));
            self.remote.remove(&Place { key, ..place.clone() })?;
            if !self.remote.list(&Place::of(&inner).unwrap_or_else(|| place.clone()))?.is_empty() {
                self.remove_dir_all(&inner)?;
            }
        }
        Ok(())
    }

    fn knows(&self, scheme: &str) -> bool {
        scheme == SCHEME || self.remote.local.knows(scheme)
    }
}

/// The stores, and the thread that talks with them.
pub(crate) struct Remote {
    pub(crate) local: Arc<dyn Vfs>,
    opens: Box<Opens>,
    known: Mutex<BTreeMap<String, Arc<dyn ObjectStore>>>,
    runtime: OnceLock<Runtime>,
}

impl Remote {
    fn runtime(&self) -> io::Result<&Runtime> {
        if let Some(runtime) = self.runtime.get() {
            return Ok(runtime);
        }
        let mut builder = Builder::new_multi_thread();
        let made = builder.worker_threads(1).enable_all().thread_name("verso-objects").build()?;
        Ok(self.runtime.get_or_init(|| made))
    }

    fn store(&self, bucket: &str) -> io::Result<Arc<dyn ObjectStore>> {
        let mut known = self.known.lock();
        if let Some(store) = known.get(bucket) {
            return Ok(Arc::clone(store));
        }
        let store = (self.opens)(bucket).map_err(failed)?;
        known.insert(bucket.to_owned(), Arc::clone(&store));
        Ok(store)
    }

    fn length(&self, place: &Place) -> io::Result<u64> {
        let store = self.store(&place.bucket)?;
        let key = key(&place.key)?;
        Ok(self.runtime()?.block_on(store.head(&key)).map_err(failed)?.size)
    }

    pub(crate) fn read(&self, place: &Place, range: Range<u64>) -> io::Result<Bytes> {
        let store = self.store(&place.bucket)?;
        let key = key(&place.key)?;
        self.runtime()?.block_on(store.get_range(&key, range)).map_err(failed)
    }

    /// Puts an object whose bytes are those of a file.
    pub(crate) fn put(&self, place: &Place, file: &dyn VfsFile) -> io::Result<()> {
        let store = self.store(&place.bucket)?;
        let key = key(&place.key)?;
        let length = file.len()?;
        let runtime = self.runtime()?;
        let part = |at: u64| -> io::Result<PutPayload> {
            let mut bytes = vec![0; PART_BYTES.min((length - at) as usize)];
            file.read_exact_at(&mut bytes, at)?;
            Ok(PutPayload::from(bytes))
        };
        if length <= PART_BYTES as u64 {
            runtime.block_on(store.put(&key, part(0)?)).map_err(failed)?;
            return Ok(());
        }
        let mut upload = runtime.block_on(store.put_multipart(&key)).map_err(failed)?;
        let mut send = || -> io::Result<()> {
            for at in (0..length).step_by(PART_BYTES) {
                let part = part(at)?;
                runtime.block_on(upload.put_part(part)).map_err(failed)?;
            }
            runtime.block_on(upload.complete()).map_err(failed)?;
            Ok(())
        };
        let sent = send();
        if sent.is_err() {
            // Its parts cost until the store drops them; the error that counts is the first.
            let _ = runtime.block_on(upload.abort());
        }
        sent
    }

    fn remove(&self, place: &Place) -> io::Result<()> {
        let store = self.store(&place.bucket)?;
        let key = key(&place.key)?;
        match self.runtime()?.block_on(store.delete(&key)) {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(failed(error)),
        }
    }

    /// The keys in a folder: of objects, and of folders within it.
    fn list(&self, place: &Place) -> io::Result<Vec<String>> {
        let store = self.store(&place.bucket)?;
        let prefix = if place.key.is_empty() { None } else { Some(key(&place.key)?) };
        let found = self.runtime()?.block_on(store.list_with_delimiter(prefix.as_ref())).map_err(failed)?;
        let objects = found.objects.into_iter().map(|object| object.location.to_string());
        Ok(objects.chain(found.common_prefixes.into_iter().map(|folder| folder.to_string())).collect())
    }
}

fn key(text: &str) -> io::Result<Key> {
    Key::parse(text).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))
}

fn failed(error: object_store::Error) -> io::Error {
    use object_store::Error as E;
    let kind = match &error {
        E::NotFound { .. } => io::ErrorKind::NotFound,
        E::AlreadyExists { .. } => io::ErrorKind::AlreadyExists,
        E::PermissionDenied { .. } | E::Unauthenticated { .. } => io::ErrorKind::PermissionDenied,
        E::NotSupported { .. } | E::NotImplemented => io::ErrorKind::Unsupported,
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, error)
}
