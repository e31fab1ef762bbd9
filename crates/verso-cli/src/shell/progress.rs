//! A bar below statements that take long.
//!
//! After [`PATIENCE`] a thread of its own begins to draw: how long the statement has run, and where the database knows it
//! (it builds an index, loads, sweeps, analyses …) how far it is. The bar goes before anything is printed.

use std::sync::Arc;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use verso_env::sync::Mutex;
use verso_env::{Env, JoinHandle};

use super::peer::Peer;
use super::remote::Remote;

/// Shorter statements have no bar.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often the bar is drawn.
const LOOK: Duration = Duration::from_millis(100);
/// How often a server is asked, in looks.
const LOOKS_OF_SERVER: u64 = 10;

/// How far a statement is.
struct Step {
    what: String,
    done: u64,
    total: u64,
}

/// Says how far the session's statement is, if that is known.
type Ask = Box<dyn FnMut() -> Option<Step> + Send>;

#[derive(Default)]
struct State {
    bar: Option<ProgressBar>,
    is_over: bool,
}

/// Ends the bar from where something is printed.
#[derive(Clone, Default)]
pub struct Handle(Arc<Mutex<State>>);

impl Handle {
    /// The bar goes, and does not come back.
    pub fn clear(&self) {
        let mut state = self.0.lock();
        state.is_over = true;
        if let Some(bar) = state.bar.take() {
            bar.finish_and_clear();
        }
    }
}

/// A statement under way.
pub struct Watched {
    handle: Handle,
    thread: Option<JoinHandle>,
}

impl Watched {
    /// Begins to wait; without `wanted` nothing is drawn.
    pub fn begin(peer: &Peer, env: &Env, wanted: bool) -> Watched {
        let handle = Handle::default();
        if !wanted {
            return Watched { handle, thread: None };
        }
        let ask = asks(peer);
        let (of_thread, clock) = (handle.clone(), Arc::clone(&env.clock));
        let thread = env.spawn("verso-bar", move || {
            let begin = clock.monotonic_nanos();
            let mut ask = ask;
            let mut looks = 0;
            loop {
                clock.sleep(LOOK);
                if of_thread.0.lock().is_over {
                    return;
                }
                let elapsed = Duration::from_nanos(clock.monotonic_nanos() - begin);
                if elapsed < PATIENCE {
                    continue;
                }
                let step = ask();
                looks += 1;
                draw(&of_thread, elapsed, step, looks);
            }
        });
        Watched { handle, thread: Some(thread) }
    }

    /// For those who print.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// The statement is over.
    pub fn end(self) {
        self.handle.clear();
        // It looks every tenth of a second, and need not be waited for.
        drop(self.thread);
    }
}

fn draw(handle: &Handle, elapsed: Duration, step: Option<Step>, looks: u64) {
    let mut state = handle.0.lock();
    if state.is_over {
        return;
    }
    let bar = state.bar.get_or_insert_with(|| {
        let bar = ProgressBar::new(0);
        bar.set_style(ProgressStyle::with_template("{msg}").expect("a template of ours"));
        bar
    });
    bar.set_message(line(elapsed, step.as_ref(), looks));
    bar.tick();
}

/// `00:05 CREATE INDEX, sort [######----------------] 27 %`.
fn line(elapsed: Duration, step: Option<&Step>, looks: u64) -> String {
    const CELLS: u64 = 24;
    let seconds = elapsed.as_secs();
    let time = format!("{:02}:{:02}", seconds / 60, seconds % 60);
    let bar = |filled: &dyn Fn(u64) -> bool| -> String {
        (0..CELLS).map(|cell| if filled(cell) { '#' } else { '-' }).collect()
    };
    match step {
        Some(Step { what, done, total }) if *total > 0 => {
            let part = (*done).min(*total) as f64 / *total as f64;
            let filled = (part * CELLS as f64) as u64;
            format!("{time} {what} [{}] {:.0} %", bar(&|cell| cell < filled), part * 100.0)
        }
        Some(Step { what, done, .. }) => format!("{time} {what}, {done} done"),
        // How far it is, nobody knows: something moves.
        None => {
            let at = looks % CELLS;
            format!("{time} [{}] Ctrl-C cancels", bar(&|cell| cell == at))
        }
    }
}

/// Who is asked.
fn asks(peer: &Peer) -> Ask {
    match peer {
        Peer::Opened(open) => {
            // Held only while it is asked: a database that is closed must not wait for this thread.
            let instance = Arc::downgrade(open.database.instance());
            Box::new(move || {
                let instance = instance.upgrade()?;
                // The shell has the only session of its file.
                let job = instance.engine.jobs().into_iter().find(|job| job.session != 0)?;
                let what = format!("{}, {}", job.what, job.phase);
                Some(Step { what, done: job.done, total: job.total })
            })
        }
        Peer::Server(remote) => {
            let (address, process) = (remote.address.clone(), remote.process());
            let mut second: Option<Option<Remote>> = None;
            let mut looks = 0_u64;
            let mut last: Option<(String, u64, u64)> = None;
            Box::new(move || {
                looks += 1;
                if looks % LOOKS_OF_SERVER == 1 {
                    let sql = format!(
                        "SELECT what || ', ' || phase, done, coalesce(total, 0) FROM verso_progress WHERE session = {process} LIMIT 1"
                    );
                    // Over a connection of its own; a server that is not Verso's does not know.
                    let second = second.get_or_insert_with(|| Remote::connect(&address).ok());
                    let rows = second.as_mut().and_then(|remote| remote.ask(&sql).ok())?.rows;
                    let row: Vec<String> = rows.into_iter().next()?.into_iter().flatten().collect();
                    let number = |at: usize| row.get(at).and_then(|text| text.parse().ok()).unwrap_or(0);
                    last = row.first().map(|what| (what.clone(), number(1), number(2)));
                }
                let (what, done, total) = last.clone()?;
                Some(Step { what, done, total })
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_says_how_far_it_is() {
        let step = Step { what: "CREATE INDEX, sort".to_owned(), done: 1, total: 4 };
        let time = Duration::from_secs(65);
        assert_eq!(line(time, Some(&step), 0), "01:05 CREATE INDEX, sort [######------------------] 25 %");
        assert_eq!(line(time, Some(&Step { total: 0, ..step }), 0), "01:05 CREATE INDEX, sort, 1 done");
        assert!(line(time, None, 25).starts_with("01:05 [-#--"));
    }

    #[test]
    fn nothing_is_drawn_once_it_is_cleared() {
        let handle = Handle::default();
        handle.clear();
        draw(&handle, PATIENCE, None, 1);
        assert!(handle.0.lock().bar.is_none());
    }
}
