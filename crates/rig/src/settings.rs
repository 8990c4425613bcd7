//! The list of settings that is written into an engine's configuration file: all of it, and nothing else is set.

use crate::{Engine, RigError};

/// Settings in the order written. A key is there once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Settings(pub(crate) Vec<(String, String)>);

impl Settings {
    pub(crate) fn set(&mut self, key: &str, value: impl ToString) {
        let value = value.to_string();
        match self.0.iter_mut().find(|(known, _)| known == key) {
            Some((_, old)) => *old = value,
            None => self.0.push((key.to_owned(), value)),
        }
    }

    /// Lays a caller's settings over ours.
    pub(crate) fn overlay(&mut self, engine: Engine, given: &[(String, String)]) -> Result<(), RigError> {
        for (key, value) in given {
            let key = key.trim().to_ascii_lowercase();
            let key = if engine.about().dashes { key.replace('-', "_") } else { key };
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.".contains(&byte);
            if key.is_empty() || !key.bytes().all(plain) {
                return Err(RigError::Invalid(format!(
                    "`{key}` is not a name of a {} setting",
                    engine.title()
                )));
            }
            if value.contains(|letter: char| letter.is_control()) {
                return Err(RigError::Invalid(format!("the value of setting {key} has a control character")));
            }
            if let Some(sql) = &engine.about().sql {
                sql::check_setting(sql.dialect, &key, value).map_err(RigError::Invalid)?;
            }
            if engine.technology().places().contains(&key.as_str()) {
                return Err(RigError::Invalid(format!(
                    "setting {key} sets the address or the access of a private engine and cannot be an option"
                )));
            }
            self.set(&key, value);
        }
        Ok(())
    }
}

/// What an engine takes beyond its cache, with some dozens of sessions.
const BEYOND_CACHE_MIB: u64 = 512;

/// Bytes for an engine's own cache: 1 GiB, or a quarter of `memory` if that is less, in whole MiB.
pub(crate) fn cache_mib(memory: Option<u64>) -> u64 {
    memory.map_or(1024, |bytes| (bytes / 4 / (1 << 20)).clamp(16, 1024))
}

/// Whether so many engines of the size that they have here by default can be up at once next to what else runs: half of the
/// main memory is theirs. More than one cannot where that is not known.
pub fn fit_in_memory(engines: usize) -> bool {
    let each = (cache_mib(memory()) + BEYOND_CACHE_MIB) << 20;
    engines <= 1 || memory().is_some_and(|bytes| engines as u64 * each <= bytes / 2)
}

/// Main memory of the machine.
pub(crate) fn memory() -> Option<u64> {
    #[cfg(target_os = "linux")]
    {
        let info = rustix::system::sysinfo();
        #[allow(clippy::useless_conversion, reason = "the width of the field differs by target")]
        Some(u64::from(info.totalram) * u64::from(info.mem_unit))
    }
    #[cfg(not(target_os = "linux"))]
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overlaid(engine: Engine, key: &str, value: &str) -> Result<Settings, RigError> {
        let mut settings = Settings::default();
        settings.set("max_connections", 200);
        settings.overlay(engine, &[(key.into(), value.into())])?;
        Ok(settings)
    }

    #[test]
    fn a_given_setting_stands_in_the_place_of_ours() {
        let settings = overlaid(Engine::MariaDb, "Max-Connections", "7").unwrap();
        assert_eq!(settings.0, [("max_connections".to_owned(), "7".to_owned())]);
    }

    #[test]
    fn a_value_cannot_become_another_line() {
        assert!(overlaid(Engine::Postgres, "log_line_prefix", "a\nfsync = off").is_err());
        assert!(overlaid(Engine::Postgres, "fsync = off #", "a").is_err());
        assert!(overlaid(Engine::Postgres, "stackmark.fillfactor", "70").is_ok());
        for (engine, key, value) in [
            (Engine::Postgres, "stackmark.fillfactor", "101"),
            (Engine::Postgres, "stackmark.fillfactor", "9"),
            (Engine::Postgres, "stackmark.fill_factor", "70"),
            (Engine::MariaDb, "stackmark.fillfactor", "70"),
        ] {
            let error = overlaid(engine, key, value).unwrap_err().to_string();
            assert!(error.contains("stackmark.fillfactor"), "{error}");
        }
        assert!(overlaid(Engine::Postgres, "port", "5432").unwrap_err().to_string().contains("port"));
        let quoted = overlaid(Engine::Postgres, "log_line_prefix", "it's \\").unwrap();
        assert!(Engine::Postgres.technology().file(&quoted).ends_with("log_line_prefix = 'it''s \\\\'\n"));
    }

    #[test]
    fn the_cache_is_a_gibibyte_or_a_quarter_of_the_memory() {
        let gib = 1 << 30;
        assert_eq!([cache_mib(None), cache_mib(Some(64 * gib)), cache_mib(Some(2 * gib))], [1024, 1024, 512]);
    }
}
