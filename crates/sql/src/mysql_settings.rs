//! What a server that speaks MySQL's protocol reports, read alike by every adapter.

use crate::mysql::{GALERA, SPIDER, WRITERS};
use crate::{MySqlFlushing, ServerUrl, is_mariadb, mysql_durability};
use model::{Durability, Stack};
use std::collections::BTreeMap;

/// Settings of a server that may change a figure, in the order of the report. Those that it does not know are left out.
pub const MYSQL_SETTINGS: [&str; 17] = [
    "innodb_buffer_pool_size",
    "innodb_log_file_size",
    "innodb_log_buffer_size",
    "innodb_flush_log_at_trx_commit",
    "innodb_flush_method",
    "innodb_doublewrite",
    "innodb_io_capacity",
    "innodb_lock_wait_timeout",
    "innodb_snapshot_isolation",
    "innodb_page_size",
    "max_connections",
    "thread_handling",
    "log_bin",
    "sync_binlog",
    "max_statement_time",
    "performance_schema",
    "sql_mode",
];

/// What a server and a session of ours report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MySqlSettings {
    /// `select version()`: names MariaDB.
    pub version: String,
    /// Isolation of the session.
    pub isolation: String,
    /// What these settings promise.
    pub durability: Durability,
    /// Whether the server takes no writes.
    pub read_only: bool,
    /// Everything worth comparing, in the order of the report.
    pub listed: Vec<(String, String)>,
}

impl MySqlSettings {
    /// The question whose rows [`MySqlSettings::of`] reads: names and values.
    pub fn question() -> String {
        let wanted = MYSQL_SETTINGS.map(|name| format!("'{name}'")).join(", ");
        let others = "'innodb_flush_log_at_timeout', 'tx_isolation', 'transaction_isolation', 'version', 'read_only', 'innodb_read_only', \
             'max_execution_time', 'wsrep_sync_wait', 'wsrep_slave_threads', 'spider_internal_xa'";
        format!("show session variables where variable_name in ({wanted}, {others})")
    }

    /// The question for the isolation of a session: MySQL ignores what is in the first comment, and MariaDB what is in the second.
    pub const ISOLATION: &str = "/*M! select @@tx_isolation *//*!50720 select @@transaction_isolation */";

    /// The question for the session's cipher, which is empty without encryption, and for the size of the cluster: names and values.
    pub const STATUS: &str =
        "show session status where variable_name in ('Ssl_cipher', 'wsrep_cluster_size')";

    /// The question for the data nodes of Spider that tables of the database are spread over: a name and a value.
    pub const SPREAD: &str = "select 'stackmark.spider' as name, cast(count(distinct partition_comment) as char) as value from information_schema.partitions \
         where table_schema = database() and partition_comment like 'srv \"stackmark\\_%'";

    /// From what a server answers over a connection to a node of `url`: to [`MySqlSettings::question`], and to [`MySqlSettings::STATUS`]
    /// and [`MySqlSettings::SPREAD`].
    pub fn of(
        variables: Vec<(String, String)>,
        status: Vec<(String, String)>,
        url: &ServerUrl,
    ) -> MySqlSettings {
        let found: BTreeMap<String, String> = variables
            .into_iter()
            .chain(status)
            .map(|(name, value)| (name.to_ascii_lowercase(), value))
            .collect();
        let text = |name: &str| found.get(name).cloned().unwrap_or_default();
        let number = |name: &str| text(name).parse().unwrap_or(0);
        let on = |name: &str| matches!(text(name).to_ascii_uppercase().as_str(), "ON" | "1");
        let flushing = MySqlFlushing {
            // A value that is not there is one that we do not know, and no tier is claimed for it.
            flush_log_at_trx_commit: text("innodb_flush_log_at_trx_commit").parse().unwrap_or(u32::MAX),
            flush_log_at_timeout: number("innodb_flush_log_at_timeout"),
            log_bin: on("log_bin"),
            sync_binlog: number("sync_binlog"),
            doublewrite: text("innodb_doublewrite"),
            flush_method: text("innodb_flush_method"),
            nodes: number("wsrep_cluster_size"),
            data_nodes: number(SPIDER),
            internal_xa: on("spider_internal_xa"),
        };
        let transport = match (&url.socket, text("ssl_cipher").as_str()) {
            (Some(_), _) => "unix socket".to_owned(),
            (None, "") => "TCP".to_owned(),
            (None, cipher) => format!("TCP, {cipher}"),
        };
        let known = |name: &&str| Some(((*name).to_owned(), found.get(*name)?.clone()));
        let cluster = [(GALERA, flushing.nodes), (WRITERS, url.writers().len() as u32)];
        let cluster = cluster.into_iter().filter(|_| flushing.nodes > 0);
        // MySQL's alone, so that no server of ours for MariaDB has to report it; and those of a cluster.
        let others = ["max_execution_time", "wsrep_sync_wait", "wsrep_slave_threads"];
        let others = if flushing.nodes > 0 { &others[..] } else { &others[..1] };
        let listed = MYSQL_SETTINGS.iter().chain(others).filter_map(known);
        let spread =
            ["spider_internal_xa", SPIDER].iter().filter(|_| flushing.data_nodes > 0).filter_map(known);
        let listed = listed.chain(cluster.map(|(name, value)| (name.to_owned(), value.to_string())));
        let listed = listed.chain(spread).chain([
            ("transport".to_owned(), transport),
            ("protocol".to_owned(), "prepared, binary".to_owned()),
        ]);
        MySqlSettings {
            version: text("version"),
            // MySQL 8 has the second name alone, MariaDB before 11.1 the first.
            isolation: found
                .get("tx_isolation")
                .or_else(|| found.get("transaction_isolation"))
                .map_or_else(String::new, |level| level.to_ascii_lowercase()),
            durability: mysql_durability(&flushing),
            read_only: on("read_only") || on("innodb_read_only"),
            listed: listed.collect(),
        }
    }

    /// The stack without a style, of an adapter by name and version.
    pub fn stack(&self, (adapter, adapter_version): (&str, &str)) -> Stack {
        Stack {
            engine: if is_mariadb(&self.version) { "mariadb" } else { "mysql" }.into(),
            engine_version: self.version.clone(),
            adapter: adapter.into(),
            adapter_version: adapter_version.into(),
            route: "direct".into(),
            isolation: self.isolation.clone(),
            durability: self.durability.clone(),
            settings: self.listed.clone(),
            ..Stack::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Tier;

    fn variables() -> Vec<(String, String)> {
        let pairs = [
            ("INNODB_FLUSH_LOG_AT_TRX_COMMIT", "1"),
            ("innodb_doublewrite", "ON"),
            ("innodb_flush_method", "O_DIRECT"),
            ("log_bin", "OFF"),
            ("max_connections", "151"),
            ("tx_isolation", "READ-COMMITTED"),
            ("version", "10.11.6-MariaDB"),
            ("innodb_read_only", "ON"),
        ];
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
    }

    #[test]
    fn what_the_server_says_is_listed_in_the_order_of_the_report() {
        let url: ServerUrl = "mysql://stackmark@127.0.0.1:3306/bench".parse().unwrap();
        let found = MySqlSettings::of(variables(), vec![("Ssl_cipher".into(), "TLS_AES_256".into())], &url);
        assert_eq!((found.version.as_str(), found.isolation.as_str()), ("10.11.6-MariaDB", "read-committed"));
        assert!(found.read_only && found.durability.tier == Tier::Durable, "{found:?}");
        let names: Vec<&str> = found.listed.iter().map(|(name, _)| name.as_str()).collect();
        let expected = ["innodb_flush_log_at_trx_commit", "innodb_flush_method", "innodb_doublewrite"];
        assert_eq!(names[..3], expected);
        assert_eq!(names[3..], ["max_connections", "log_bin", "transport", "protocol"]);
        assert_eq!(found.listed[5].1, "TCP, TLS_AES_256");
        assert!(MySqlSettings::question().contains("'tx_isolation'"));
        let silent = MySqlSettings::of(Vec::new(), Vec::new(), &url);
        assert_eq!((silent.durability.tier, silent.read_only), (Tier::Volatile, false));
        assert_eq!(silent.stack(("mysql_async", "1")).settings[0], ("transport".into(), "TCP".into()));
    }

    #[test]
    fn a_node_of_a_cluster_says_so_and_how_many_nodes_get_calls() {
        let url: ServerUrl = "mysql://stackmark@127.0.0.1:3306,127.0.0.1:3307/bench".parse().unwrap();
        let own = vec![("wsrep_sync_wait".to_owned(), "0".to_owned())];
        let status = vec![("wsrep_cluster_size".to_owned(), "3".to_owned())];
        let found = MySqlSettings::of([variables(), own.clone()].concat(), status, &url);
        let has = |name: &str, value: &str| found.listed.contains(&(name.to_owned(), value.to_owned()));
        assert!(has(GALERA, "3") && has(WRITERS, "2") && has("wsrep_sync_wait", "0"), "{found:?}");
        assert!(found.durability.detail.contains("a Galera cluster of 3"), "{found:?}");
        let status = vec![("wsrep_cluster_size".to_owned(), "0".to_owned())];
        let alone = MySqlSettings::of([variables(), own].concat(), status, &url);
        let names: Vec<&str> = alone.listed.iter().map(|(name, _)| name.as_str()).collect();
        assert!(!names.iter().any(|name| name.contains("wsrep") || name.contains("stackmark")), "{names:?}");
    }
}
