//! A program where a container would run it: the files of volumes at their places, a root that is read only, and no
//! environment but its own.
//!
//! Invariant: what is mounted is seen by that process alone and goes with it; the machine's own folders stay as they are.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::process::Scratch;

/// Mounts pairs of folder and place, then becomes the program behind `--`. A place that does not exist is made on a new
/// file system, which for this process hides the closest folder above that does.
const ENTER: &str = r#"
set -eu
root=$1
shift
hidden=-
while [ "$1" != -- ]; do
    from=$1
    to=$2
    shift 2
    above=$to
    while [ ! -d "$above" ]; do above=$(dirname "$above"); done
    case "$above/" in
    / | //) echo "$to: no folder above it that could be hidden" >&2; exit 1 ;;
    "$to/" | "$hidden"/*) ;;
    *) mount -t tmpfs none "$above"; hidden=$above ;;
    esac
    mkdir -p "$to"
    mount --bind "$from" "$to"
done
shift
[ "$root" = writable ] || mount -o remount,bind,ro /
exec "$@"
"#;

/// Files that a process is to find at a place.
#[derive(Clone)]
pub struct Mount {
    /// The folder that has them.
    pub from: PathBuf,
    /// Where it is to see them.
    pub to: String,
}

/// Whether the process may write to what is not a mount.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Root {
    /// As `readOnlyRootFilesystem` has it.
    ReadOnly,
    /// Its data lies in a folder of the run.
    Writable,
}

/// A command that runs `program` so, and takes its arguments.
pub fn command(program: &Path, mut mounts: Vec<Mount>, environment: &[(String, String)], root: Root) -> Command {
    // So that one place below another comes after it.
    mounts.sort_by(|a, b| a.to.cmp(&b.to));
    let mut command = Command::new("unshare");
    if !rustix::process::geteuid().is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    command.args(["--mount", "sh", "-c", ENTER, "sh"]);
    command.arg(if root == Root::Writable { "writable" } else { "read-only" });
    for mount in mounts {
        command.arg(mount.from).arg(mount.to);
    }
    command.arg("--").arg(program);
    command.env_clear().envs(environment.iter().map(|(name, value)| (name, value)));
    command
}

/// Fails where this does not work, or does not keep what it promises.
pub fn check(scratch: &Scratch) -> Result<()> {
    let mut mounts = Vec::new();
    for (name, to) in [("a", "/etc/of-a-pod/a"), ("b", "/etc/of-a-pod/b"), ("c", "/var/run/of-a-pod/c")] {
        let from = scratch.folder(&format!("place/{name}"))?;
        fs::write(from.join("file"), name).with_context(|| format!("cannot write {}", from.display()))?;
        mounts.push(Mount { from, to: to.to_owned() });
    }
    let root = scratch.path().join("written");
    let script = format!(
        "cat /etc/of-a-pod/a/file /etc/of-a-pod/b/file /var/run/of-a-pod/c/file; echo $OF_A_POD$HOME; : >{}",
        root.display()
    );
    let environment = [("OF_A_POD".to_owned(), "yes".to_owned())];
    for (kind, written) in [(Root::ReadOnly, false), (Root::Writable, true)] {
        let output = command(Path::new("sh"), mounts.clone(), &environment, kind).args(["-c", &script]).output();
        let output = output.context("cannot run unshare: install util-linux")?;
        let (said, complaint) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        ensure!(
            said == "abcyes\n" && output.status.success() == written && root.exists() == written,
            "processes cannot be given mounts of their own: run this as root, or let users make user namespaces \
             (the shell said {said:?}, {complaint:?})"
        );
    }
    ensure!(!Path::new("/etc/of-a-pod").exists(), "the machine's own /etc was written to");
    Ok(())
}
