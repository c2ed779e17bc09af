// SPDX-License-Identifier: Apache-2.0
//! Finds the installed library: in TILEWRIGHT_PREFIX if that is set, else with pkg-config.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder with tilewright.pc below an install prefix: lib, lib64 or lib/<multiarch>.
fn pkgconfig_folder(prefix: &Path) -> Option<PathBuf> {
    let mut folders = vec![prefix.join("lib"), prefix.join("lib64")];
    if let Ok(entries) = prefix.join("lib").read_dir() {
        folders.extend(entries.flatten().map(|entry| entry.path()));
    }
    folders
        .into_iter()
        .map(|folder| folder.join("pkgconfig"))
        .find(|folder| folder.join("tilewright.pc").exists())
}

fn link_flags() -> Result<String, String> {
    let mut command = Command::new(env::var("PKG_CONFIG").unwrap_or_else(|_| "pkg-config".into()));
    command.args(["--static", "--libs", "tilewright"]);
    if let Ok(prefix) = env::var("TILEWRIGHT_PREFIX") {
        let folder = pkgconfig_folder(Path::new(&prefix))
            .ok_or_else(|| format!("TILEWRIGHT_PREFIX={prefix} holds no tilewright.pc"))?;
        command.env("PKG_CONFIG_PATH", folder);
    }
    let output = command
        .output()
        .map_err(|error| format!("pkg-config cannot be run: {error}"))?;
    if !output.status.success() {
        return Err(format!(
            "{}set TILEWRIGHT_PREFIX or PKG_CONFIG_PATH to where tilewright is installed",
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    String::from_utf8(output.stdout).map_err(|error| error.to_string())
}

/// Splits pkg-config's output into words; a backslash keeps a space within a word.
fn words(text: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut characters = text.trim().chars();
    while let Some(character) = characters.next() {
        if character.is_whitespace() {
            found.push(String::new());
            continue;
        }
        let kept = match character {
            '\\' => characters.next(),
            other => Some(other),
        };
        found.last_mut().unwrap().extend(kept);
    }
    found
}

fn main() {
    println!("cargo:rerun-if-env-changed=TILEWRIGHT_PREFIX");
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
    let flags = link_flags().unwrap_or_else(|message| {
        eprintln!("{message}");
        std::process::exit(1)
    });
    for flag in words(&flags) {
        if let Some(folder) = flag.strip_prefix("-L") {
            println!("cargo:rustc-link-search=native={}", folder);
            let archive = Path::new(folder).join("libtilewright.a");
            println!("cargo:rerun-if-changed={}", archive.display());
        } else if flag == "-ltilewright" {
            println!("cargo:rustc-link-lib=static=tilewright");
        } else if flag == "-pthread" {
            println!("cargo:rustc-link-lib=pthread");
        } else if let Some(library) = flag.strip_prefix("-l") {
            println!("cargo:rustc-link-lib={library}");
        }
    }
}
