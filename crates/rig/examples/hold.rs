//! Starts the engine named, prints where it is, and holds it until it is killed. A test kills it.
//!
//! ```text
//! cargo run -p stackmark-rig --example hold -- postgres
//! ```

use rig::{Engine, Options};

#[expect(clippy::print_stdout, reason = "an example, whose reader waits for these lines")]
fn main() -> Result<(), rig::RigError> {
    let engine = std::env::args().nth(1).and_then(|name| Engine::named(&name));
    let engine = engine.ok_or_else(|| rig::RigError::Invalid("which engine: postgres or mariadb".into()))?;
    let running = rig::start(engine, &Options::small(engine))?;
    println!("{} {}", running.pid(), running.folder().display());
    if std::env::args().nth(2).as_deref() == Some("panic") {
        panic!("as asked");
    }
    loop {
        std::thread::park();
    }
}
