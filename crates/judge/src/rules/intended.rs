//! What each factor under study changes by itself.

/// What begins the factor of a setting of a private engine: `setting work_mem`.
pub const ENGINE_SETTING: &str = "setting ";

/// The fields that a factor under study changes by itself, as `key_differences` names them; nothing for a factor
/// without a name here, whose fields the caller lists. A field under `fingerprint.` is a measure of work that changes
/// with the factor.
///
/// A route does not imply another adapter: the server runs the same sessions, and where it does not, the adapter is a
/// second factor. Where several factors are meant, see [`intended_by_all`].
pub fn intended_by(factor: &str) -> &'static [&'static str] {
    match factor {
        // What else the engine does differently because of it is its effect.
        setting if setting.starts_with(ENGINE_SETTING) => &[
            "stack.settings.*",
            "stack.durability.*",
            "stack.plans.*",
            "data.bytes",
            "fingerprint.log bytes",
            "fingerprint.pages read",
        ],
        // What carries HTTP is a part of it.
        "route" => &[
            "stack.route",
            "stack.server",
            "stack.settings.transport",
            "stack.settings.connections",
            "plan.generator_threads",
        ],
        "server" => &["stack.server"],
        "transport" => &["stack.settings.transport"],
        "connections" => &["stack.settings.connections"],
        // Whatever a change makes of the program, and of its work; but for what was set for it, such as sessions, and for what
        // a commit survives.
        "revision" => &[
            "stack.server",
            "stack.adapter",
            "stack.adapter_version",
            "stack.style",
            "stack.settings.protocol",
            "stack.settings.compile_options",
            "fingerprint.*",
        ],
        "adapter" => &[
            "stack.adapter",
            "stack.adapter_version",
            // How an adapter speaks to the engine is the adapter.
            "stack.settings.protocol",
            "stack.settings.compile_options",
        ],
        // Pipelines and functions tell the planner how to plan them once, and give back fewer rows: that is what they
        // are. Where calls share commits, how many may is a setting that no other style has; whether statements are kept
        // prepared is both a style and the protocol.
        "style" => &[
            "stack.style",
            "stack.isolation",
            "stack.settings.protocol",
            "stack.settings.jit",
            "stack.settings.plan_cache_mode",
            "stack.settings.enable_*",
            "stack.settings.calls_a_commit_max",
            "fingerprint.statements",
            "fingerprint.rows",
            "fingerprint.commits",
        ],
        // Driver and style in one, with statements of its own making: in how many it asks for the same answer, and how often it
        // reads the same row on the way, is what it is.
        "orm" => &[
            "stack.adapter",
            "stack.adapter_version",
            "stack.style",
            "stack.settings.protocol",
            "stack.settings.compile_options",
            "fingerprint.statements",
            "fingerprint.rows",
        ],
        "durability" => &[
            "stack.durability.*",
            "stack.settings.journal_mode",
            "stack.settings.synchronous",
            "stack.settings.fsync",
            "stack.settings.synchronous_commit",
            "stack.settings.full_page_writes",
            "stack.settings.innodb_flush_log_at_trx_commit",
            "stack.settings.innodb_doublewrite",
            "stack.settings.log_bin",
            "stack.settings.sync_binlog",
            "fingerprint.log bytes",
        ],
        // The tier stays: a journal in memory is another durability too, and that is a second factor.
        "journal" => &[
            "stack.settings.journal_mode",
            "stack.settings.wal_autocheckpoint_pages",
            "stack.durability.detail",
            "stack.isolation",
            "data.bytes",
        ],
        "cache" => &[
            "stack.settings.cache_bytes",
            "stack.settings.mmap_bytes",
            "stack.settings.shared_buffers",
            "stack.settings.innodb_buffer_pool_size",
            "fingerprint.pages read",
        ],
        "storage" => &[
            "stack.settings.storage*",
            "stack.settings.vfs*",
            "stack.settings.delay*",
            "stack.settings.locking_mode",
            "stack.durability.detail",
            "data.file_system",
        ],
        "pool" => &["stack.settings.sessions", "stack.settings.pool*"],
        "limits" => &["limits.*", "fingerprint.pages read"],
        "settings" => &[
            "stack.settings.*",
            "stack.plans.*",
            "stack.durability.detail",
            "data.bytes",
            "fingerprint.log bytes",
            "fingerprint.pages read",
        ],
        // Another engine speaks another dialect, so that its statements and the rows they touch are its own. What must
        // stay is the tier, the plan, the data and the machine.
        "engine" => &[
            "stack.engine",
            "stack.engine_version",
            "stack.adapter",
            "stack.adapter_version",
            "stack.isolation",
            "stack.durability.detail",
            "stack.settings.*",
            "data.bytes",
            "fingerprint.statements",
            "fingerprint.rows",
            "fingerprint.log bytes",
            "fingerprint.pages read",
        ],
        // Another version of the same engine has other defaults, plans and formats.
        "version" => &[
            "stack.engine_version",
            "stack.settings.*",
            "stack.plans.*",
            "stack.durability.detail",
            "data.bytes",
            "fingerprint.log bytes",
            "fingerprint.pages read",
        ],
        // Each client of a direct subject has a session of its own.
        "clients" => &["plan.clients", "plan.generator_threads", "stack.settings.sessions"],
        "rate" => &["plan.arrivals"],
        // Other calls do other work.
        "mix" => &["plan.mix", "fingerprint.*"],
        "skew" => &["plan.skew", "fingerprint.*"],
        // A call then meets others of its store only, each store has its engine's settings, log and buffers, and perhaps a row
        // that says what it holds.
        "shards" => &[
            "data.stores",
            "stack.plans.*",
            "data.rows",
            "data.bytes",
            "data.checksum",
            "stack.settings.stores",
            "stack.settings.shard-*",
            "fingerprint.log bytes",
            "fingerprint.pages read",
        ],
        "scale" => &[
            "stack.plans.*",
            "data.scale",
            "data.rows",
            "data.bytes",
            "data.checksum",
            "fingerprint.log bytes",
            "fingerprint.pages read",
        ],
        // What calls leave to be announced is more work, and how it is published is part of it.
        "announcing" => &["stack.settings.outbox *", "fingerprint.*"],
        // What was chosen of the workload: other data, and calls that do other work.
        "parameters" => &[
            "stack.plans.*",
            "data.parameters",
            "data.rows",
            "data.bytes",
            "data.checksum",
            "rates.mostly_declined",
            "fingerprint.*",
        ],
        _ => &[],
    }
}

/// The fields that several factors change together. A factor that names a field itself (`stack.settings.work_mem`,
/// `stack.settings.*`) stands for that field.
pub fn intended_by_all<'a>(factors: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut fields = Vec::new();
    for factor in factors {
        let known = intended_by(factor);
        if known.is_empty() && factor.contains('.') {
            fields.push(factor);
        }
        fields.extend(known.iter().copied().filter(|field| !fields.contains(field)).collect::<Vec<_>>());
    }
    fields
}

/// `field` is one of `intended`, of which one that ends with `*` stands for all that begin with the rest.
pub(super) fn is_intended(field: &str, intended: &[&str]) -> bool {
    intended.iter().any(|wanted| match wanted.strip_suffix('*') {
        Some(beginning) => field.starts_with(beginning),
        None => field == *wanted,
    })
}
