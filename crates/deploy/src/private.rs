//! What belongs to one run alone: a folder, and if need be an engine of its own. Both go when the run ends.

use anyhow::{Context, Result};
use std::fs::{self, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// A folder of ours alone that goes when this value goes.
#[derive(Debug)]
pub struct Private {
    path: PathBuf,
    /// Locked as long as we live, so that others can tell what a killed run has left behind.
    _owner: File,
}

/// The file in a private folder that its owner holds locked.
const OWNER: &str = "owner";

/// Removes the private folder of a run that is dead, and unmounts what is mounted in it.
fn remove(path: &Path) -> std::io::Result<()> {
    let stores = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    stores.chain([path.to_owned()]).for_each(|folder| rig::FileDisk::remove_left(&folder));
    fs::remove_dir_all(path)
}

impl Private {
    /// The name of the private folder in the folder of a run.
    pub const NAME: &'static str = "private";

    /// Makes the folder in that of a run.
    pub fn create(run: &Path) -> Result<Private> {
        let (path, new) = (run.join(Private::NAME), run.join("private.new"));
        let create = || -> std::io::Result<File> {
            fs::DirBuilder::new().mode(0o700).create(&new)?;
            let owner = File::create(new.join(OWNER))?;
            owner.try_lock()?;
            // It gets the name by which others sweep only when it is locked.
            fs::rename(&new, &path)?;
            Ok(owner)
        };
        let owner = create().with_context(|| format!("could not create {}", path.display()))?;
        Ok(Private { path, _owner: owner })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes what a run that is dead has left in its folder, however far it had come. Only for who owns that folder.
    pub fn discard(run: &Path) -> Result<()> {
        for left in [run.join("private.new"), run.join(Private::NAME)] {
            match remove(&left) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(error).with_context(|| format!("could not remove {}", left.display()));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Removes what killed runs under `out` have left behind.
    pub fn sweep(out: &Path) {
        for path in Private::abandoned(out) {
            // What cannot be removed harms no one but the disk.
            let _ = remove(&path);
        }
    }

    /// The private folders under `out` whose runs were killed.
    pub(crate) fn abandoned(out: &Path) -> impl Iterator<Item = PathBuf> {
        let runs = fs::read_dir(out).into_iter().flatten().flatten();
        runs.map(|run| run.path().join(Private::NAME))
            .filter(|path| File::open(path.join(OWNER)).is_ok_and(|owner| owner.try_lock().is_ok()))
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        // What cannot be removed is still ours alone; there is no one left to tell.
        let _ = fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_dead_run_left_is_swept() {
        let out = std::env::temp_dir().join(format!("stackmark-private-{}", std::process::id()));
        let (alive, dead) = (out.join("alive"), out.join("dead"));
        fs::create_dir_all(&alive).unwrap();
        fs::create_dir_all(dead.join(Private::NAME)).unwrap();
        fs::write(dead.join(Private::NAME).join(OWNER), "").unwrap();
        let private = Private::create(&alive).unwrap();
        Private::sweep(&out);
        assert!(private.path().exists() && !dead.join(Private::NAME).exists());
        drop(private);
        assert!(!alive.join(Private::NAME).exists());
        fs::remove_dir_all(out).unwrap();
    }
}
