//! Progress of long steps: a spinner on a terminal, plain lines elsewhere.
//!
//! Invariant: progress goes to standard error; results go to standard output. Without a terminal, or with `CI` set, a
//! line is printed when a step starts, each minute it lasts, and when it ends.

use std::io::IsTerminal;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// Time between two signs of life in plain mode.
const HEARTBEAT: Duration = Duration::from_secs(60);

/// A running step. Dropped without [`Progress::done`], it is reported as not finished.
pub struct Progress {
    what: String,
    started: Instant,
    display: Option<Display>,
}

enum Display {
    Spinner(ProgressBar),
    Lines { stop: Sender<()>, heartbeat: JoinHandle<()> },
}

impl Progress {
    /// Starts a step; `what` is a short phrase such as "building etcd v3.6.16".
    pub fn start(what: impl Into<String>) -> Self {
        let (what, started) = (what.into(), Instant::now());
        let display = if std::io::stderr().is_terminal() && std::env::var_os("CI").is_none() {
            let spinner = ProgressBar::new_spinner().with_message(what.clone());
            spinner.set_style(
                ProgressStyle::with_template("{spinner} {wide_msg} {elapsed}").expect("the template is constant"),
            );
            spinner.enable_steady_tick(Duration::from_millis(120));
            Display::Spinner(spinner)
        } else {
            eprintln!("      … {what}");
            let (stop, stopped) = mpsc::channel::<()>();
            let name = what.clone();
            let heartbeat = std::thread::spawn(move || {
                while stopped.recv_timeout(HEARTBEAT) == Err(RecvTimeoutError::Timeout) {
                    eprintln!("      … {name}, {} so far", elapsed(started.elapsed()));
                }
            });
            Display::Lines { stop, heartbeat }
        };
        Self { what, started, display: Some(display) }
    }

    /// Changes what the spinner shows; no line in plain mode.
    pub fn note(&self, detail: &str) {
        if let Some(Display::Spinner(spinner)) = &self.display {
            spinner.set_message(format!("{}: {detail}", self.what));
        }
    }

    /// Ends the step well. `result` may add figures, or be empty.
    pub fn done(mut self, result: &str) -> Duration {
        let took = self.started.elapsed();
        self.close();
        let colon = if result.is_empty() { "" } else { ": " };
        eprintln!("  done  {}{colon}{result} ({})", self.what, elapsed(took));
        took
    }

    fn close(&mut self) -> bool {
        match self.display.take() {
            None => return false,
            Some(Display::Spinner(spinner)) => spinner.finish_and_clear(),
            Some(Display::Lines { stop, heartbeat }) => {
                drop(stop);
                let _ = heartbeat.join();
            }
        }
        true
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.close() {
            eprintln!("  not done  {} ({})", self.what, elapsed(self.started.elapsed()));
        }
    }
}

/// A duration for people: `0.4 s`, `12 s`, `3 min 05 s`.
pub fn elapsed(duration: Duration) -> String {
    match duration.as_secs() {
        0..10 => format!("{:.1} s", duration.as_secs_f64()),
        seconds @ 10..60 => format!("{seconds} s"),
        seconds => format!("{} min {:02} s", seconds / 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_well() {
        let shown = [420, 12_900, 185_000].map(|millis| elapsed(Duration::from_millis(millis)));
        assert_eq!(shown, ["0.4 s", "12 s", "3 min 05 s"]);
    }
}
