//! The little of Go's `go.mod`, versions and link flags that the tools need.
//!
//! Invariant: pure functions over text.

use anyhow::{Context, Result};

/// The version that a `go.mod` requires of `module`.
pub fn required_version(gomod: &str, module: &str) -> Option<String> {
    gomod.lines().find_map(|line| {
        let line = line.trim().strip_prefix("require ").unwrap_or(line.trim());
        let mut words = line.split_whitespace();
        (words.next() == Some(module)).then(|| words.next()).flatten().map(str::to_owned)
    })
}

/// The first version in what a program printed for `--version`, with a `v` in front.
pub fn printed_version(output: &str) -> Option<String> {
    output.split_whitespace().find_map(|word| {
        let digits = word.strip_prefix('v').unwrap_or(word);
        (digits.starts_with(|first: char| first.is_ascii_digit()) && digits.contains('.')).then(|| format!("v{digits}"))
    })
}

/// Linker flags that give a Kubernetes component its version, such as `v1.37.2`.
pub fn link_flags(version: &str) -> Result<String> {
    let numbers = version.strip_prefix('v').with_context(|| format!("`{version}` is no Kubernetes version"))?;
    let mut parts = numbers.split('.');
    let (major, minor) =
        parts.next().zip(parts.next()).with_context(|| format!("`{version}` is no Kubernetes version"))?;
    let variable = "k8s.io/component-base/version.git";
    Ok(format!("-X {variable}Version={version} -X {variable}Major={major} -X {variable}Minor={minor}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_blocks_and_lines() {
        let text = "module x\n\nreplace a.test/b => a.test/b v9.0.0\n\nrequire a.test/c v1.2.3\n\nrequire (\n\ta.test/b v0.1.0 // indirect\n)\n";
        assert_eq!(required_version(text, "a.test/c").as_deref(), Some("v1.2.3"));
        assert_eq!(required_version(text, "a.test/b").as_deref(), Some("v0.1.0"));
        assert_eq!(required_version(text, "a.test/d"), None);
    }

    #[test]
    fn versions_are_found_in_what_programs_print() {
        assert_eq!(printed_version("Kubernetes v1.37.2\n").as_deref(), Some("v1.37.2"));
        assert_eq!(printed_version("etcd Version: 3.6.16\nGit SHA: 1\n").as_deref(), Some("v3.6.16"));
        assert_eq!(printed_version("no idea\n"), None);
    }

    #[test]
    fn the_version_is_stamped_in_three_parts() {
        let flags = link_flags("v1.37.2").unwrap();
        assert!(flags.ends_with("gitMajor=1 -X k8s.io/component-base/version.gitMinor=37"), "{flags}");
        assert!(link_flags("1.37").is_err());
    }
}
