//! `cargo xtask build-images`: container images of the binaries, without a container engine.
//!
//! A package apart from xtask, which has to build quickly: clients of registries bring an async runtime along.
//!
//! Invariant: whatever can be wrong is looked for before the first compiler starts, and every image is whole before the
//! first is written. The same binaries, roots and date give the same bytes.

mod arguments;
mod elf;
mod engine;
mod image;
mod layer;
mod layout;
mod platform;
mod pushed;
mod registry;
mod reproduce;
mod sbom;
mod sources;

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;

use crate::arguments::Arguments;
use crate::engine::Engine;
use crate::image::{About, Image};
use crate::layout::Layout;
use crate::platform::Platform;
use crate::registry::Registry;
use crate::sources::Sources;

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    let platforms = arguments.platforms()?;
    let names = arguments.names();
    let roots = std::fs::read(&arguments.ca_roots)
        .with_context(|| format!("cannot read certificate authorities from {}", arguments.ca_roots.display()))?;
    let engine = if arguments.load { Some(Engine::find(&platforms)?) } else { None };
    let stamp = sources::stamp(arguments.revision.as_deref())?;
    let tag = arguments.tag.clone().unwrap_or_else(|| stamp.tag());
    let registry = match &arguments.push {
        Some(to) => Some(Registry::open(to, &names, &tag, arguments.insecure)?),
        None => None,
    };
    if arguments.binaries.is_none() {
        platforms.iter().try_for_each(|platform| platform.check_installed())?;
    }

    let mut layouts = Vec::new();
    let mut binaries = Vec::new();
    for platform in &platforms {
        binaries.push(match &arguments.binaries {
            Some(folder) => sources::present(&names, folder, *platform)?,
            None => Sources::own().build(&names, *platform, &stamp)?,
        });
    }
    if arguments.reproduce {
        for (platform, paths) in platforms.iter().zip(&binaries) {
            reproduce::check(*platform, &stamp, paths)?;
        }
    }
    for name in names {
        let images = platforms.iter().zip(&binaries).map(|(platform, paths)| {
            let path = &paths[name];
            let binary = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
            platform.check_binary(&binary).with_context(|| path.display().to_string())?;
            if arguments.binaries.is_none() {
                Sources::own().check_paths(&binary).with_context(|| path.display().to_string())?;
            }
            let about = About { name, stamp: &stamp, platform: *platform };
            let image = Image::new(&about, &layer::layer(name, &binary, &roots)?)?;
            Ok((image, sbom::describe(name, *platform, &stamp, arguments.binaries.is_none())?))
        });
        layouts.push(Layout::new(name, &tag, images.collect::<Result<Vec<_>>>()?)?);
    }

    let out = arguments.out.clone().unwrap_or_else(|| sources::workspace_root().join("target/images"));
    for layout in &layouts {
        print!("{}", layout.write(&out)?);
    }
    if arguments.reproduce {
        println!("reproduced: a second build, of a copy of the sources, gave the same binaries");
    }
    if let Some(engine) = engine {
        for layout in &layouts {
            println!(
                "loaded {} into {}",
                engine.load(&layout.archive(&out, Platform::of_this_machine()?))?,
                engine.name
            );
        }
    }
    if let (Some(registry), Some(to)) = (registry, &arguments.push) {
        for pushed in registry.push(&layouts)? {
            println!("pushed {pushed}");
        }
        pushed::note(&out, to, &layouts)?;
    }
    Ok(())
}
