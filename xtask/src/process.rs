//! Child processes: output captured in files, waits with deadlines, and no child left behind.
//!
//! Invariant: a [`Process`] that goes out of scope is stopped, politely first, on every path including panics and
//! Ctrl-C. Each child leads its own process group, so that a terminal's Ctrl-C reaches it through us only.

use std::fs::{self, File, OpenOptions};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal};

use crate::wait;

/// How long a child may take to stop by itself before that is a fault: exporters finish what they are sending first.
const GRACE: Duration = Duration::from_secs(60);

/// The same where nobody asks how it ended.
const SHORT_GRACE: Duration = Duration::from_secs(10);

/// Lines of a log that an error shows.
const TAIL: usize = 15;

/// A running child.
pub struct Process {
    name: String,
    child: Child,
    stdout: PathBuf,
    stderr: PathBuf,
    /// Whether it was asked to stop.
    asked: bool,
}

impl Process {
    /// Starts `command`; its output goes to `<logs>/<name>.out` and `<logs>/<name>.log` (standard error), emptied first.
    pub fn start(name: &str, mut command: Command, logs: &Path) -> Result<Self> {
        let (stdout, stderr) = (logs.join(format!("{name}.out")), logs.join(format!("{name}.log")));
        let open = |path: &Path| -> Result<File> {
            let mut options = OpenOptions::new();
            let file = options.create(true).write(true).truncate(true).open(path);
            file.with_context(|| format!("cannot write {}", path.display()))
        };
        command.stdin(Stdio::null()).stdout(open(&stdout)?).stderr(open(&stderr)?).process_group(0);
        let child = command
            .spawn()
            .with_context(|| format!("cannot start {name} ({})", Path::new(command.get_program()).display()))?;
        Ok(Self { name: name.to_owned(), child, stdout, stderr, asked: false })
    }

    /// The name it was started under.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The exit status, or nothing while it runs.
    pub fn exit_status(&mut self) -> Result<Option<ExitStatus>> {
        self.child.try_wait().with_context(|| format!("cannot ask for the state of {}", self.name))
    }

    /// An error with the last lines of the log once the child has ended.
    pub fn ensure_running(&mut self) -> Result<()> {
        match self.exit_status()? {
            None => Ok(()),
            Some(status) => bail!("{} ended ({status}); its last lines:\n{}", self.name, self.log_tail()),
        }
    }

    /// Polls `probe` until it gives a value; fails early when the child ends, and shows its log on failure.
    pub fn wait_for<T>(
        &mut self,
        what: &str,
        limit: Duration,
        mut probe: impl FnMut() -> Result<Option<T>>,
    ) -> Result<T> {
        let name = self.name.clone();
        let outcome = wait::until(&format!("{name} {what}"), limit, || {
            self.ensure_running()?;
            probe()
        });
        match outcome {
            Err(error) if self.exit_status()?.is_none() => {
                Err(error.context(format!("last lines of {name}:\n{}", self.log_tail())))
            }
            outcome => outcome,
        }
    }

    /// The rest of the first line on standard output that starts with `prefix`.
    pub fn wait_for_line(&mut self, prefix: &str, limit: Duration) -> Result<String> {
        let path = self.stdout.clone();
        self.wait_for(&format!("prints `{prefix}…`"), limit, || {
            let text = fs::read_to_string(&path).unwrap_or_default();
            // A line that is still being written has no end yet.
            let complete = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
            Ok(complete.filter_map(|line| line.strip_prefix(prefix)).next().map(str::to_owned))
        })
    }

    /// Waits for the child to end by itself.
    pub fn wait_for_exit(&mut self, limit: Duration) -> Result<ExitStatus> {
        wait::until(&format!("{} ends", self.name), limit, || {
            self.child.try_wait().with_context(|| format!("cannot wait for {}", self.name))
        })
    }

    /// Everything it wrote to standard error so far.
    pub fn log(&self) -> String {
        fs::read(&self.stderr).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }

    /// The last lines of its log, indented.
    pub fn log_tail(&self) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        let tail = &lines[lines.len().saturating_sub(TAIL)..];
        let shown: Vec<String> = tail.iter().map(|line| format!("    {line}")).collect();
        if shown.is_empty() { "    (it logged nothing)".to_owned() } else { shown.join("\n") }
    }

    /// Kills it without warning, as a crash would, and waits for its end.
    pub fn kill(mut self) -> Result<()> {
        self.signal(Signal::KILL);
        self.child.wait().with_context(|| format!("cannot wait for {}", self.name))?;
        Ok(())
    }

    /// Asks it to stop, and does not wait.
    pub fn ask_to_stop(&mut self) {
        self.asked = true;
        self.signal(Signal::TERM);
    }

    /// Asks it to read its configuration anew.
    pub fn ask_to_reload(&self) {
        self.signal(Signal::HUP);
    }

    /// The first line of its log with `words` in it.
    pub fn wait_for_log(&mut self, words: &str, limit: Duration) -> Result<String> {
        let path = self.stderr.clone();
        self.wait_for(&format!("logs `{words}`"), limit, || {
            let text = fs::read_to_string(&path).unwrap_or_default();
            Ok(text.lines().find(|line| line.contains(words)).map(str::to_owned))
        })
    }

    /// Asks it to stop, unless it was asked before, and waits; returns the exit status, or an error if it had to be killed.
    pub fn stop(mut self) -> Result<ExitStatus> {
        // A second signal would have it stop at once.
        let (status, killed) = self.end(!self.asked, GRACE)?;
        if killed {
            bail!("{} did not stop within {} s of SIGTERM and was killed", self.name, GRACE.as_secs());
        }
        Ok(status)
    }

    fn end(&mut self, ask: bool, grace: Duration) -> Result<(ExitStatus, bool)> {
        if let Some(status) = self.exit_status()? {
            return Ok((status, false));
        }
        if ask {
            self.signal(Signal::TERM);
        }
        let deadline = Instant::now() + grace;
        // Not `wait::until`: after Ctrl-C the children still get their time to stop.
        while Instant::now() < deadline {
            if let Some(status) = self.exit_status()? {
                return Ok((status, false));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        self.signal(Signal::KILL);
        Ok((self.child.wait().with_context(|| format!("cannot wait for {}", self.name))?, true))
    }

    fn signal(&self, signal: Signal) {
        // Not reaped yet, so the id cannot belong to anyone else; a group that just ended is no error.
        let _ = rustix::process::kill_process_group(Pid::from_child(&self.child), signal);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.end(true, SHORT_GRACE);
    }
}

/// A folder under the system's temporary folder, removed with everything in it unless kept.
pub struct Scratch {
    path: PathBuf,
    keep: bool,
}

impl Scratch {
    /// Creates `<tmp>/<prefix>-<process id>`, readable by this user only.
    pub fn new(prefix: &str, keep: bool) -> Result<Self> {
        use std::os::unix::fs::DirBuilderExt;
        let path = std::env::temp_dir().join(format!("{prefix}-{}", std::process::id()));
        let made = fs::DirBuilder::new().mode(0o700).create(&path);
        made.with_context(|| format!("cannot create {}: remove it if it is left from an earlier run", path.display()))?;
        Ok(Self { path, keep })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A folder in it, created.
    pub fn folder(&self, name: &str) -> Result<PathBuf> {
        let path = self.path.join(name);
        fs::create_dir_all(&path).with_context(|| format!("cannot create {}", path.display()))?;
        Ok(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.keep {
            eprintln!("kept: {}", self.path.display());
        } else if let Err(error) = fs::remove_dir_all(&self.path) {
            eprintln!("cannot remove {}: {error}", self.path.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_secs(60);

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    fn scratch(name: &str) -> Scratch {
        Scratch::new(&format!("xtask-test-{name}"), false).unwrap()
    }

    #[test]
    fn a_line_is_found_and_the_child_stops_on_request() {
        let scratch = scratch("line");
        let mut process = Process::start("waiter", shell("echo 'listening on 1'; sleep 600"), scratch.path()).unwrap();
        assert_eq!(process.wait_for_line("listening on ", SOON).unwrap(), "1");
        assert!(!process.stop().unwrap().success());
    }

    #[test]
    fn who_was_asked_to_stop_is_not_asked_again() {
        let scratch = scratch("asked");
        // The first signal is taken, and takes a while; a second one would end it otherwise.
        let script = "trap 'trap \"exit 9\" TERM; echo asked 1; sleep 0.3; exit 0' TERM; echo 'listening on 1'; \
             while :; do sleep 0.01; done";
        let mut process = Process::start("slow-stopper", shell(script), scratch.path()).unwrap();
        process.wait_for_line("listening on ", SOON).unwrap();
        process.ask_to_stop();
        process.wait_for_line("asked ", SOON).unwrap();
        let status = process.stop().unwrap();
        assert!(status.success(), "{status}");
    }

    #[test]
    fn a_child_that_dies_while_awaited_shows_its_log() {
        let scratch = scratch("death");
        let mut process = Process::start("dier", shell("echo oh no >&2; exit 3"), scratch.path()).unwrap();
        let error = process.wait_for_line("never", SOON).unwrap_err().to_string();
        assert!(error.contains("dier ended") && error.contains("oh no"), "{error}");
    }

    #[test]
    fn a_dropped_child_takes_its_own_children_along() {
        let scratch = scratch("group");
        let mut process =
            Process::start("parent", shell("sleep 600 & echo \"child $!\"; wait"), scratch.path()).unwrap();
        let id: i32 = process.wait_for_line("child ", SOON).unwrap().parse().unwrap();
        drop(process);
        let grandchild = Pid::from_raw(id).unwrap();
        wait::until("the grandchild ends", SOON, || {
            // An orphan that nobody has reaped yet still answers, as a zombie.
            let gone = rustix::process::test_kill_process(grandchild).is_err();
            let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
            Ok((gone || stat.contains(") Z ")).then_some(()))
        })
        .unwrap();
    }

    #[test]
    fn scratch_folders_disappear() {
        let scratch = scratch("gone");
        let path = scratch.folder("inner").unwrap();
        drop(scratch);
        assert!(!path.exists());
    }
}
