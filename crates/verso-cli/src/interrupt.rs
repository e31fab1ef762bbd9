//! Ctrl-C: cancels the running statement and ends the running scripts; with nothing to cancel it ends the process.
//! SIGTERM ends commands that are one job (backup, restore, sweep, check) as Ctrl-C does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use verso_env::sync::Mutex;

/// What a command ended by Ctrl-C says: 128 + SIGINT.
const EXIT_INTERRUPTED: u8 = 130;

/// The signals that ask a command to end: Ctrl-C, and what `kill`, service managers and `timeout` send.
const ENDING: [i32; 2] = [SIGINT, SIGTERM];

/// The last of them that came.
static CAME: AtomicU8 = AtomicU8::new(0);

/// What a command that a signal has ended says: 128 and the signal's number.
pub fn exit_code() -> u8 {
    match CAME.load(Ordering::Relaxed) {
        0 => EXIT_INTERRUPTED,
        signal => 128 + signal,
    }
}

/// True once Ctrl-C was pressed or SIGTERM came, which do not end the process any more.
pub fn interrupted() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    when_interrupted(move || flag.store(true, Ordering::Relaxed));
    stop
}

/// Calls `cancel` when Ctrl-C is pressed or SIGTERM comes, which do not end the process any more.
pub fn when_interrupted(cancel: impl Fn() + Send + 'static) {
    match signal_hook::iterator::Signals::new(ENDING) {
        Ok(mut signals) => {
            verso_env::Env::real().spawn("verso-signals", move || {
                for signal in signals.forever() {
                    CAME.store(signal as u8, Ordering::Relaxed);
                    cancel();
                }
            });
        }
        Err(error) => eprintln!("verso: warning: Ctrl-C ends the command without cleaning up: {error}"),
    }
}

/// A file that reaches the limit of the process (`ulimit -f`) is an error of the write, not the end of the process.
///
/// # Errors
/// The operating system refused the handler.
pub fn outlive_file_limit() -> std::io::Result<()> {
    let met = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGXFSZ, met).map(|_| ())
}

#[derive(Default)]
struct State {
    running: Option<Box<dyn Fn() + Send>>,
    interrupted: bool,
}

/// Shared by the shell and the signal's handler.
#[derive(Clone, Default)]
pub struct Interrupts {
    state: Arc<Mutex<State>>,
}

impl Interrupts {
    /// Takes over Ctrl-C. While a line is edited the terminal keeps it to itself.
    ///
    /// # Errors
    /// A message: the operating system refused the handler.
    pub fn install(&self) -> Result<(), String> {
        let shared = self.clone();
        ctrlc::set_handler(move || shared.hit()).map_err(|error| error.to_string())
    }

    fn hit(&self) {
        let mut state = self.state.lock();
        match &state.running {
            Some(statement) => {
                statement();
                state.interrupted = true;
            }
            None => std::process::exit(EXIT_INTERRUPTED.into()),
        }
    }

    /// Runs `work` such that Ctrl-C calls `cancel`.
    pub fn during<T>(&self, cancel: impl Fn() + Send + 'static, work: impl FnOnce() -> T) -> T {
        self.state.lock().running = Some(Box::new(cancel));
        let result = work();
        self.state.lock().running = None;
        result
    }

    /// Whether Ctrl-C was hit since the last call.
    pub fn take(&self) -> bool {
        std::mem::take(&mut self.state.lock().interrupted)
    }

    /// Whether Ctrl-C was hit and nobody has taken it yet.
    pub fn pending(&self) -> bool {
        self.state.lock().interrupted
    }
}
