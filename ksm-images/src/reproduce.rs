//! A second build, from a copy of the sources in another folder and with nothing built before, has to give the same
//! binaries; then the images are the same too, of which they are the only part that compilers make.
//!
//! Invariant: the folder of the second build is gone once it is done, and kept if a binary differs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::platform::Platform;
use crate::sources::{Sources, Stamp};

/// The folder in the target folder.
const FOLDER: &str = "reproduced";

/// Builds again and compares with what was built before, by name.
///
/// # Errors
/// It cannot be built, or a binary differs; the message says where from, and where the second one is.
pub fn check(platform: Platform, stamp: &Stamp, built: &BTreeMap<String, PathBuf>) -> Result<()> {
    let folder = Sources::own().target_folder()?.join(FOLDER);
    remove(&folder)?;
    let sources = Sources::copied(&folder.join("sources"), &folder.join("target"))?;
    eprintln!("building a second time, in {}", folder.display());
    let names: Vec<&str> = built.keys().map(String::as_str).collect();
    for (name, second) in sources.build(&names, platform, stamp)? {
        let read = |path: &Path| fs::read(path).with_context(|| format!("cannot read {}", path.display()));
        let first = &built[&name];
        compare(&read(first)?, &read(&second)?)
            .with_context(|| format!("two builds of {name} differ, {} and {}", first.display(), second.display()))?;
    }
    remove(&folder)
}

fn remove(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    Ok(())
}

/// Fails if there is any difference.
fn compare(first: &[u8], second: &[u8]) -> Result<()> {
    let differs = first.iter().zip(second).position(|(one, other)| one != other);
    let place = differs.unwrap_or_else(|| first.len().min(second.len()));
    ensure!(first == second, "from byte {place} on, with {} and {} bytes", first.len(), second.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_named() {
        compare(b"", b"").unwrap();
        compare(b"same", b"same").unwrap();
        let message = |first: &[u8], second: &[u8]| compare(first, second).unwrap_err().to_string();
        assert_eq!(message(b"same", b"sane"), "from byte 2 on, with 4 and 4 bytes");
        assert_eq!(message(b"same", b"same and more"), "from byte 4 on, with 4 and 13 bytes");
    }
}
