//! Where an engine is, and its own client's way there.

use crate::command::run;
use crate::{Engine, Installation, RigError, state};
use sql::{Secret, ServerUrl};
use std::path::PathBuf;
use std::time::Duration;

/// How long a statement of [`crate::Running::client`] may take.
const CLIENT_MAX: Duration = Duration::from_secs(60);

/// Where an engine is, for its clients.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) engine: Engine,
    pub(crate) folder: PathBuf,
    pub(crate) port: u16,
    pub(crate) password: Secret,
}

impl Place {
    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub(crate) fn url(&self, database: &str) -> ServerUrl {
        state::url(self.engine, &self.folder, self.port, self.password.clone(), database)
    }

    pub(crate) fn client(
        &self,
        installation: &Installation,
        database: &str,
        statements: &str,
    ) -> Result<String, RigError> {
        let command = self.engine.technology().client(installation, &self.folder, self.port, database);
        let command =
            command.ok_or_else(|| RigError::Invalid(format!("{} knows no SQL", self.engine.title())))?;
        let ended = run(command, statements, CLIENT_MAX, |_| ())?;
        if ended.is_success() {
            return Ok(ended.out);
        }
        Err(RigError::failed(format!("{} refused a statement", self.engine.title()), ended.err))
    }
}

/// The statement that makes an empty database, of a name that needs no quotes.
pub(crate) fn creating(name: &str) -> Result<String, RigError> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let starts = name.bytes().next().is_some_and(|first| !first.is_ascii_digit());
    if !starts || name.len() > 63 || !name.bytes().all(plain) {
        return Err(RigError::Invalid(format!(
            "`{name}` is not a name for a database: lower-case letters, digits and underscores, at most 63"
        )));
    }
    Ok(format!("create database {name}"))
}
