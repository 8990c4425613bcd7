//! Spider: a MariaDB, the head, whose tables have their rows on other servers, its data nodes.

use crate::command::run;
use crate::settings::Settings;
use crate::{RigError, Running};
use measure::Monotonic;
use model::{Clock, Nanos};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// The engine, in the folder of plugins of a server.
const PLUGIN: &str = "ha_spider.so";
/// How long a server may take to print its options.
const HELP_MAX: Duration = Duration::from_secs(60);
/// What MariaDB says when another session has the transaction.
const OF_A_SESSION: &str = "XAER_NOTA";
/// How long prepared transactions may be left that someone decides.
const RESOLVED_MAX: Duration = Duration::from_secs(30);
/// How long a transaction has to be prepared before it counts as one that was left: longer than a commit takes.
const LEFT: Duration = Duration::from_secs(1);

/// # Errors
/// The engine is not there, or data nodes cannot have addresses of their own.
pub(crate) fn ensure_installed(server: &Path) -> Result<(), RigError> {
    if !cfg!(target_os = "linux") {
        return Err(RigError::Invalid(
            "Spider needs an address of the loopback for each data node, 127.0.0.2 and so on, which only Linux has"
                .into(),
        ));
    }
    let mut command = Command::new(server);
    command.args(["--no-defaults", "--verbose", "--help"]);
    let help = run(command, "", HELP_MAX, |_| ())?.out;
    let folder = help.lines().find_map(|line| line.strip_prefix("plugin-dir")).unwrap_or_default().trim();
    let path = Path::new(folder).join(PLUGIN);
    if path.is_absolute() && path.exists() {
        return Ok(());
    }
    Err(RigError::Invalid(format!(
        "the engine Spider is not installed: {} is not there\nhint: Debian and Ubuntu: apt-get install \
         mariadb-plugin-spider; Fedora: dnf install mariadb-spider-engine",
        path.display()
    )))
}

/// A transaction on several data nodes is one to the head (`spider_internal_xa`).
pub(crate) fn set_head(settings: &mut Settings) {
    settings.set("plugin_load_add", PLUGIN);
    settings.set("spider_internal_xa", 1);
    settings.set("spider_internal_xa_id_type", 1);
}

/// Tells the head where its data nodes are. Their ports stay as they are.
pub(crate) fn name_data_nodes(head: &Running) -> Result<(), RigError> {
    for (number, node) in (1..).zip(head.peers()) {
        let place = node.place();
        let statement = format!(
            "create or replace server {} foreign data wrapper mysql options (host '{}', port {}, user '{}', password '{}')",
            server(number),
            node.ip(),
            place.port,
            crate::USER,
            place.password.reveal()
        );
        head.client("mysql", &statement)?;
    }
    Ok(())
}

/// Has the head reach a data node by another port.
pub(crate) fn lead_to(head: &Running, number: usize, port: u16) -> Result<(), RigError> {
    // Tables that are open know the old one.
    let statement = format!("alter server {} options (port {port}); flush tables", server(number));
    head.client("mysql", &statement).map(drop)
}

fn server(number: usize) -> String {
    format!("stackmark_{number}")
}

/// A part of a transaction that is prepared on a data node.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Prepared {
    /// Its identifier as SQL takes it.
    xid: String,
    /// What the head knows the transaction by, also as SQL takes it.
    global: String,
    /// The session of the head that it is of, which is what the identifier begins with in Spider (`"%lx%016llx"`).
    session: Option<u64>,
}

/// Digits of the number of a statement, behind that of the session.
const STATEMENT_DIGITS: usize = 16;

impl Prepared {
    /// From a row of `xa recover format = 'SQL'`: format, lengths of the two parts, and the identifier as `'ab','1',1`, or as
    /// `X'6162',X'63',1` where it cannot be printed.
    fn read(row: &str) -> Option<Prepared> {
        let xid = row.split('\t').nth(3)?;
        let global = xid.split_once(',')?.0;
        let digits = global.trim_matches('\'');
        let session = digits.len().checked_sub(STATEMENT_DIGITS).and_then(|end| digits.get(..end));
        let session = session.and_then(|session| u64::from_str_radix(session, 16).ok());
        Some(Prepared { xid: xid.to_owned(), global: global.to_owned(), session })
    }
}

/// Asks a server through its own client.
pub(crate) type Asked<'a> = dyn Fn(&str) -> Result<String, RigError> + 'a;

fn prepared(nodes: &[Box<Asked<'_>>]) -> Result<Vec<Vec<Prepared>>, RigError> {
    let one = |node: &Asked<'_>| {
        let rows = node("xa recover format = 'SQL'")?;
        Ok(rows.lines().filter_map(Prepared::read).collect())
    };
    nodes.iter().map(|node| one(node.as_ref())).collect()
}

/// Sessions of the head that may be in the middle of a commit which was under way so many milliseconds ago.
fn committing(head: &Asked<'_>, ago_ms: u64) -> Result<Vec<u64>, RigError> {
    let asked = format!(
        "select id from information_schema.processlist where command <> 'Sleep' and time_ms >= {ago_ms} and id <> connection_id()"
    );
    Ok(head(&asked)?.lines().filter_map(|id| id.trim().parse().ok()).collect())
}

/// Decides what is left prepared on data nodes, as the head has noted that it was decided: Spider itself leaves that to an operator. What a
/// session of the head may still decide is left to it. Gives how many transactions there were.
pub(crate) fn resolve_prepared(head: &Asked<'_>, nodes: &[Box<Asked<'_>>]) -> Result<u64, RigError> {
    let clock = Monotonic::start();
    let mut decided = BTreeSet::new();
    let mut before = prepared(nodes)?;
    let mut since = clock.now();
    while before.iter().any(|node| !node.is_empty()) {
        if clock.now() > Nanos::from(RESOLVED_MAX) {
            return Err(RigError::failed(
                format!("transactions were still prepared on data nodes of Spider after {RESOLVED_MAX:?}"),
                format!("{before:?}"),
            ));
        }
        std::thread::sleep(LEFT);
        let now = prepared(nodes)?;
        let is_left = |node: usize, one: &Prepared| before[node].contains(one);
        if !now.iter().enumerate().any(|(node, all)| all.iter().any(|one| is_left(node, one))) {
            break;
        }
        // A statement that began later is not the one that prepared them.
        let committing = committing(head, (clock.now() - since).0 / 1_000_000)?;
        for (number, node) in nodes.iter().enumerate() {
            let left = now[number].iter().filter(|one| is_left(number, one));
            for one in left.filter(|one| one.session.is_none_or(|session| !committing.contains(&session))) {
                if decide(head, node, one)? {
                    decided.insert(one.global.clone());
                }
            }
        }
        before = prepared(nodes)?;
        since = clock.now();
    }
    // Sessions and statements are counted anew when the head is started again, so these would be taken for those of others.
    head(FORGET)?;
    Ok(decided.len() as u64)
}

/// Drops the head's notes of transactions whose sessions are gone.
const FORGET: &str = "delete from mysql.spider_xa_member where coalesce(conv(left(data, gtrid_length - 16), 16, 10), 0) not in \
    (select id from information_schema.processlist); \
    delete from mysql.spider_xa where coalesce(conv(left(data, gtrid_length - 16), 16, 10), 0) not in (select id from information_schema.processlist)";

/// Whether it was left: one that a session still has is for that session to decide.
fn decide(head: &Asked<'_>, node: &Asked<'_>, left: &Prepared) -> Result<bool, RigError> {
    let status = head(&format!(
        "select status from mysql.spider_xa where left(data, gtrid_length) = {}",
        left.global
    ))?;
    let how = if status.trim() == "COMMIT" { "commit" } else { "rollback" };
    match node(&format!("xa {how} {}", left.xid)) {
        Err(RigError::Failed { log, .. }) if log.contains(OF_A_SESSION) => Ok(false),
        decided => decided.map(|_| true),
    }
}

/// As [`resolve_prepared`], for a private engine.
pub(crate) fn resolve_all_prepared(head: &Running) -> Result<u64, RigError> {
    let ask = |server| move |statement: &str| Running::client(server, "mysql", statement);
    let nodes: Vec<Box<Asked<'_>>> =
        head.peers().iter().map(|node| Box::new(ask(node)) as Box<Asked<'_>>).collect();
    resolve_prepared(&ask(head), &nodes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prepared_transaction_is_known_by_its_first_part_which_begins_with_its_session() {
        for (xid, global, session) in [
            ("'4db0000000000007119','1',1", "'4db0000000000007119'", Some(0x4db)),
            ("X'61C3',X'63',1", "X'61C3'", None),
            ("'aa','1',1", "'aa'", None),
        ] {
            let read = Prepared::read(&format!("1\t19\t1\t{xid}")).unwrap();
            assert_eq!((read.global.as_str(), read.xid.as_str(), read.session), (global, xid, session));
        }
        assert!(Prepared::read("").is_none());
    }
}
