//! What a hit in the buffer pool costs: `cargo run --release -p verso-storage --example page_hit`.
//!
//! Prints nanoseconds per latched and released page: one page again and again, pages in order, and two threads on
//! pages of their own; and what a page costs that has to be created or read.

use std::path::Path;
use std::sync::Arc;

use verso_env::{Env, OpenMode};
use verso_storage::buffer::{BufferPool, LogGate, PoolOptions};
use verso_storage::{Lsn, ObjectId, PageId, PageKind, StorageError};

const PAGES: u32 = 16 * 1024;
const ROUNDS: u32 = 200;

struct NoLog;

impl LogGate for NoLog {
    fn flush_to(&self, _: Lsn) -> Result<(), StorageError> {
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let env = Env::real();
    let folder = tempfile::tempdir()?;
    let open = |name: &str| env.vfs.open(&folder.path().join(Path::new(name)), OpenMode::CREATE);
    let (file, area) = (open("file")?, open("area")?);
    let options = PoolOptions { lru_min_dirty: 100, lru_max_dirty: 101, ..PoolOptions::default() };
    let pool = BufferPool::new(options.clone(), &env, file.clone(), area.clone(), Arc::new(NoLog))?;
    let timed = |what: &str, count: u64, work: &dyn Fn() -> Result<(), StorageError>| {
        let start = env.clock.monotonic_nanos();
        work()?;
        let nanos = env.clock.monotonic_nanos() - start;
        println!("{what:<44} {:>9.1} ns/page", nanos as f64 / count as f64);
        Ok::<_, StorageError>(())
    };
    timed("create", PAGES.into(), &|| {
        for page in 1..=PAGES {
            let mut page = pool.create(PageId(page))?;
            page.init(PageKind::Data, ObjectId(1), 0);
            page.set_lsn(Lsn(1), Lsn(2));
        }
        Ok(())
    })?;
    timed("flush", PAGES.into(), &|| pool.flush_all().map(drop))?;
    let hits = u64::from(PAGES) * u64::from(ROUNDS);
    timed("read one page again and again", hits, &|| {
        (0..hits).try_for_each(|_| pool.read(PageId(7)).map(drop))
    })?;
    timed("write one page again and again", hits, &|| {
        (0..hits).try_for_each(|_| pool.write(PageId(7)).map(drop))
    })?;
    timed("read 64 pages in order", hits, &|| {
        (0..hits).try_for_each(|hit| pool.read(PageId(1 + (hit % 64) as u32)).map(drop))
    })?;
    timed("read all pages in order", hits, &|| {
        for _ in 0..ROUNDS {
            (1..=PAGES).try_for_each(|page| pool.read(PageId(page)).map(drop))?;
        }
        Ok(())
    })?;
    timed("two threads, pages of their own", 2 * hits, &|| {
        let threads: Vec<_> = [7, 7007]
            .map(|page| {
                let pool = Arc::clone(&pool);
                env.spawn("reader", move || {
                    (0..hits).try_for_each(|_| pool.read(PageId(page)).map(drop)).expect("the page is there");
                })
            })
            .into();
        for thread in threads {
            thread.join().expect("readers do not panic");
        }
        Ok(())
    })?;
    drop(pool);
    let pool = BufferPool::new(options.clone(), &env, file.clone(), area.clone(), Arc::new(NoLog))?;
    timed("read in, one by one", PAGES.into(), &|| {
        (1..=PAGES).try_for_each(|page| pool.read(PageId(page)).map(drop))
    })?;
    drop(pool);
    let pool = BufferPool::new(options.clone(), &env, file.clone(), area.clone(), Arc::new(NoLog))?;
    timed("read in, by extents of 8", PAGES.into(), &|| {
        for first in (1..=PAGES).step_by(8) {
            pool.prefetch(PageId(first), 8);
            (first..first + 8).try_for_each(|page| pool.read(PageId(page)).map(drop))?;
        }
        Ok(())
    })?;
    drop(pool);
    let small = PoolOptions { capacity_bytes: 8 << 20, ..options };
    let pool = BufferPool::new(small, &env, file, area, Arc::new(NoLog))?;
    timed("read in by extents, evicting", PAGES.into(), &|| {
        for first in (1..=PAGES).step_by(8) {
            pool.prefetch(PageId(first), 8);
            (first..first + 8).try_for_each(|page| pool.read_for_scan(PageId(page)).map(drop))?;
        }
        Ok(())
    })?;
    println!("{:?}", pool.stats());
    Ok(())
}
