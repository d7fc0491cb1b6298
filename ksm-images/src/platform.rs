//! Platforms: what each is called in images and by Rust, and what has to be installed to build for it.
//!
//! Invariant: a platform whose compiler or linker is missing is refused with what to install, before anything is built.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;
use oci_spec::image::Arch;

use crate::elf;

/// A platform of images.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Platform {
    /// 64-bit x86
    #[value(name = "linux/amd64")]
    Amd64,
    /// 64-bit Arm
    #[value(name = "linux/arm64")]
    Arm64,
}

impl Platform {
    /// The one that this program runs on.
    pub fn of_this_machine() -> Result<Self> {
        match std::env::consts::ARCH {
            "x86_64" => Ok(Self::Amd64),
            "aarch64" => Ok(Self::Arm64),
            other => bail!("there are no images for {other}: name a platform with --platform linux/amd64"),
        }
    }

    /// As in image indexes.
    pub fn architecture(self) -> &'static str {
        match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
        }
    }

    /// The same as a type.
    pub fn arch(self) -> Arch {
        match self {
            Self::Amd64 => Arch::Amd64,
            Self::Arm64 => Arch::ARM64,
        }
    }

    /// For people and file names: `linux-amd64`.
    pub fn slug(self) -> String {
        format!("linux-{}", self.architecture())
    }

    /// The target of the compiler.
    pub fn target(self) -> &'static str {
        match self {
            Self::Amd64 => "x86_64-unknown-linux-gnu",
            Self::Arm64 => "aarch64-unknown-linux-gnu",
        }
    }

    /// Where Debian and most others put the C compiler that links for it on another machine, and its package.
    fn cross_compiler(self) -> (&'static str, &'static str) {
        match self {
            Self::Amd64 => ("x86_64-linux-gnu-gcc", "gcc-x86-64-linux-gnu"),
            Self::Arm64 => ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
        }
    }

    /// The variable by which cargo is told a linker.
    fn linker_variable(self) -> String {
        format!("CARGO_TARGET_{}_LINKER", self.target().replace('-', "_").to_uppercase())
    }

    /// The C compiler that links for it.
    pub fn linker(self) -> PathBuf {
        let default = self.default_linker(std::env::consts::OS, std::env::consts::ARCH);
        std::env::var_os(self.linker_variable()).map_or_else(|| default.into(), PathBuf::from)
    }

    /// The one on a machine of that system and architecture, in Rust's words: only on Linux `cc` links for Linux.
    fn default_linker(self, os: &str, architecture: &str) -> &'static str {
        let native = os == "linux" && self.target().split('-').next() == Some(architecture);
        if native { "cc" } else { self.cross_compiler().0 }
    }

    /// Tells cargo which linker to take.
    pub fn prepare(self, command: &mut Command) {
        command.env(self.linker_variable(), self.linker());
    }

    /// Whether the standard library of the target and a linker are there.
    ///
    /// # Errors
    /// Either is missing; the message says how to install it.
    pub fn check_installed(self) -> Result<()> {
        let target = self.target();
        let output = Command::new("rustc").args(["--print", "target-libdir", "--target", target]).output();
        let output = output.context("cannot run rustc: install Rust with rustup")?;
        let folder = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
        ensure!(
            output.status.success() && has_standard_library(&folder),
            "linux/{}: the Rust target {target} is not installed: run `rustup target add {target}`",
            self.architecture()
        );
        let linker = self.linker();
        ensure!(
            is_program(&linker, std::env::var_os("PATH").unwrap_or_default().as_ref()),
            "linux/{}: there is no linker `{}` for the Rust target {target}: install it, as with `apt-get install {}`, or name \
             another in {}",
            self.architecture(),
            linker.display(),
            self.cross_compiler().1,
            self.linker_variable()
        );
        let asked = Command::new(&linker).arg("-print-file-name=libc.a").output();
        let answer = asked.ok().filter(|answer| answer.status.success());
        ensure!(
            answer.is_none_or(|answer| names_a_file(&String::from_utf8_lossy(&answer.stdout))),
            "linux/{}: `{}` has no static C library (libc.a): install it, as with `apt-get install libc6-dev` or `dnf install \
             glibc-static`",
            self.architecture(),
            linker.display()
        );
        Ok(())
    }

    /// Whether a binary is static and for this platform.
    pub fn check_binary(self, binary: &[u8]) -> Result<()> {
        let found = elf::static_architecture(binary)?;
        ensure!(found == self.architecture(), "is for linux/{found} and not for linux/{}", self.architecture());
        Ok(())
    }
}

fn has_standard_library(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name()).any(|name| {
        let name = name.to_string_lossy();
        name.starts_with("libstd-") && name.ends_with(".rlib")
    })
}

/// Whether a C compiler that was asked for a file found it: else it says the name again.
fn names_a_file(answer: &str) -> bool {
    answer.trim().contains('/')
}

/// Whether a path, or a name in one of the folders of `path`, is a file.
pub fn is_program(name: &Path, path: &std::ffi::OsStr) -> bool {
    if name.components().count() > 1 {
        return name.is_file();
    }
    std::env::split_paths(path).any(|folder| folder.join(name).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_platform_has_its_words() {
        assert_eq!(Platform::Arm64.linker_variable(), "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER");
        for platform in [Platform::Amd64, Platform::Arm64] {
            assert_eq!(platform.arch().to_string(), platform.architecture());
            let value = platform.to_possible_value().unwrap();
            assert_eq!(value.get_name().replace('/', "-"), platform.slug());
        }
    }

    #[test]
    fn only_the_same_system_and_architecture_link_without_a_cross_compiler() {
        assert_eq!(Platform::Amd64.default_linker("linux", "x86_64"), "cc");
        assert_eq!(Platform::Arm64.default_linker("linux", "aarch64"), "cc");
        assert_eq!(Platform::Arm64.default_linker("linux", "x86_64"), "aarch64-linux-gnu-gcc");
        assert_eq!(Platform::Arm64.default_linker("macos", "aarch64"), "aarch64-linux-gnu-gcc");
        assert_eq!(Platform::Amd64.default_linker("macos", "x86_64"), "x86_64-linux-gnu-gcc");
    }

    #[test]
    fn a_compiler_that_does_not_find_a_library_says_its_name_again() {
        assert!(names_a_file("/usr/lib/gcc/x86_64-linux-gnu/14/../../../x86_64-linux-gnu/libc.a\n"));
        assert!(!names_a_file("libc.a\n"));
    }

    #[test]
    fn a_program_is_a_path_or_a_name_on_the_path() {
        assert!(is_program("sh".as_ref(), "/nowhere:/bin".as_ref()));
        assert!(is_program("/bin/sh".as_ref(), "".as_ref()));
        assert!(!is_program("sh".as_ref(), "/nowhere".as_ref()));
    }

    #[test]
    fn a_folder_without_a_standard_library_is_no_target() {
        assert!(!has_standard_library("/nowhere".as_ref()));
        let own = Command::new("rustc").args(["--print", "target-libdir"]).output().unwrap();
        assert!(has_standard_library(String::from_utf8_lossy(&own.stdout).trim().as_ref()));
    }
}
