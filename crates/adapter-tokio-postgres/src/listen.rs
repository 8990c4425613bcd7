//! Notifications, as `listen` asks for them.

use crate::{Connected, connect, open_error};
use model::OpenError;
use sql::ServerUrl;

/// A connection of its own that waits for notifications.
#[derive(Debug)]
pub struct Listener(Connected);

impl Listener {
    /// Connects and listens on a channel, whose name is a plain identifier.
    ///
    /// # Errors
    /// Those of [`connect`], and of the server that refuses to listen.
    pub async fn reach(url: &ServerUrl, channel: &'static str) -> Result<Listener, OpenError> {
        let mut connected = connect(url).await?;
        let text = format!("listen {channel}");
        let listening = connected.client.batch_execute(&text);
        connected.link.until(listening).await.map_err(|error| open_error(url, &error))?;
        Ok(Listener(connected))
    }

    /// Waits for a notification since the last one; false once the connection has ended.
    pub async fn notified(&mut self) -> bool {
        self.0.link.notified().await
    }
}
