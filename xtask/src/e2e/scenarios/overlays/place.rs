//! A program where a container would run it: the files of volumes at their places, a root that is read only, and no
//! environment but its own.
//!
//! Invariant: what is mounted is seen by that process alone and goes with it; the machine's own folders stay as they are.

use std::path::{Path, PathBuf};
use std::process::Command;

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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::process::Scratch;

    /// What a shell in that place prints.
    fn said(mounts: Vec<Mount>, root: Root, script: &str) -> String {
        let environment = [("SAID".to_owned(), "yes".to_owned())];
        let output = command(Path::new("sh"), mounts, &environment, root).args(["-c", script]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    #[test]
    fn files_are_where_they_should_be_and_nowhere_else() {
        let scratch = Scratch::new("xtask-test-place", false).unwrap();
        let mut mounts = Vec::new();
        for (name, to) in
            [("a", "/etc/xtask-test-place/a"), ("b", "/etc/xtask-test-place/b"), ("c", "/var/run/xtask-c")]
        {
            let from = scratch.folder(name).unwrap();
            fs::write(from.join("file"), name).unwrap();
            mounts.push(Mount { from, to: to.to_owned() });
        }
        let script =
            "cat /etc/xtask-test-place/a/file /etc/xtask-test-place/b/file /var/run/xtask-c/file; echo $SAID$HOME";
        assert_eq!(said(mounts, Root::ReadOnly, script), "abcyes\n");
        assert!(!Path::new("/etc/xtask-test-place").exists() && !Path::new("/var/run/xtask-c").exists());
    }

    #[test]
    fn the_root_can_be_read_only() {
        let scratch = Scratch::new("xtask-test-root", false).unwrap();
        let script = format!("touch {}/x 2>/dev/null && echo written || echo not", scratch.path().display());
        assert_eq!(said(Vec::new(), Root::ReadOnly, &script), "not\n");
        assert_eq!(said(Vec::new(), Root::Writable, &script), "written\n");
    }
}
