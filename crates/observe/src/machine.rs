//! What the machine is, as a part of the comparison key.

use result::Machine;

/// Reads what this machine is: nothing in it names the machine or its owner. What cannot be read is left empty, and what it
/// does is not told.
pub fn machine() -> Machine {
    let mut machine = Machine {
        cpu: String::new(),
        // Fewer than there are under an affinity mask or a quota.
        cores: std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32),
        memory_bytes: 0,
        kernel: String::new(),
        os: std::env::consts::OS.to_owned(),
        governor: None,
        virtualised: None,
        shares_by_session: None,
        affinity: None,
        smt: None,
        huge_pages: None,
        steal_share: None,
        other_load_share: None,
    };
    system::fill_in(&mut machine);
    machine
}

#[cfg(target_os = "linux")]
mod system {
    use super::Machine;
    use procfs::Current;
    use std::fs;

    const AUTOGROUPS: &str = "/proc/sys/kernel/sched_autogroup_enabled";
    const CLOCKS: &str = "/sys/devices/system/clocksource/clocksource0/available_clocksource";

    pub(super) fn fill_in(machine: &mut Machine) {
        if let Ok(cpus) = procfs::CpuInfo::current() {
            machine.cpu = cpus.model_name(0).unwrap_or_default().to_owned();
            // Only x86 has the flag; elsewhere its absence says nothing.
            let flagged = cpus
                .get_field(0, "flags")
                .map(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor"));
            let clocks = fs::read_to_string(CLOCKS).unwrap_or_default();
            machine.virtualised = hypervisor(flagged, &clocks).map(str::to_owned);
        }
        machine.memory_bytes = procfs::Meminfo::current().map_or(0, |memory| memory.mem_total);
        machine.kernel = rustix::system::uname().release().to_string_lossy().into_owned();
        if let Some(name) = fs::read_to_string("/etc/os-release").ok().as_deref().and_then(pretty_name) {
            machine.os = name;
        }
        machine.governor = fs::read_to_string("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
            .ok()
            .map(|governor| governor.trim().to_owned());
        let read = |file: &str| fs::read_to_string(file).ok();
        machine.affinity = procfs::process::Process::myself()
            .and_then(|me| me.status())
            .ok()
            .and_then(|status| status.cpus_allowed_list)
            .map(|ranges| listed(&ranges));
        machine.smt = read("/sys/devices/system/cpu/smt/control").map(|control| control.trim().to_owned());
        machine.huge_pages = read("/sys/kernel/mm/transparent_hugepage/enabled").as_deref().and_then(chosen);
        machine.shares_by_session = fs::read_to_string(AUTOGROUPS).ok().map(|enabled| enabled.trim() == "1");
    }

    /// The choice in brackets of all: `always [madvise] never`.
    pub(super) fn chosen(all: &str) -> Option<String> {
        let (_, rest) = all.split_once('[')?;
        Some(rest.split_once(']')?.0.to_owned())
    }

    /// A hypervisor with a clock of its own is known by that clock, without asking the processor or the firmware.
    pub(super) fn hypervisor(flagged: Option<bool>, clocks: &str) -> Option<&'static str> {
        let known = [("kvm-clock", "kvm"), ("hyperv", "hyper-v"), ("xen", "xen")];
        let named = known.iter().find(|(clock, _)| clocks.contains(clock)).map(|(_, name)| *name);
        named.or(flagged.map(|flagged| if flagged { "unnamed" } else { "none" }))
    }

    /// First and last of each range: `0-3,8`.
    pub(super) fn listed(ranges: &[(u32, u32)]) -> String {
        let each = ranges.iter().map(|(first, last)| match first == last {
            true => first.to_string(),
            false => format!("{first}-{last}"),
        });
        each.collect::<Vec<_>>().join(",")
    }

    pub(super) fn pretty_name(os_release: &str) -> Option<String> {
        let value = os_release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
        Some(value.trim_matches(['"', '\'']).to_owned())
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    pub(super) fn fill_in(_machine: &mut super::Machine) {}
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_described() {
        let machine = machine();
        assert!(machine.cores >= 1 && machine.memory_bytes > 64 << 20, "{machine:?}");
        assert!(machine.kernel.starts_with(|digit: char| digit.is_ascii_digit()), "{machine:?}");
    }

    #[test]
    fn choices_and_ranges_are_read_as_the_kernel_writes_them() {
        assert_eq!(system::chosen("always [madvise] never\n").as_deref(), Some("madvise"));
        assert_eq!(system::chosen("always"), None);
        assert_eq!(system::listed(&[(0, 3), (8, 8)]), "0-3,8");
        assert!(machine().affinity.is_some_and(|cores| !cores.is_empty()));
    }

    #[test]
    fn a_hypervisor_is_told_by_its_clock_or_at_least_by_the_flag() {
        assert_eq!(system::hypervisor(Some(true), "tsc kvm-clock"), Some("kvm"));
        assert_eq!(system::hypervisor(Some(true), "tsc acpi_pm"), Some("unnamed"));
        assert_eq!(system::hypervisor(Some(false), "tsc hpet"), Some("none"));
        assert_eq!(system::hypervisor(None, "arch_sys_counter"), None);
    }

    #[test]
    fn the_system_is_named_as_it_names_itself() {
        let check = |text, name: Option<&str>| assert_eq!(system::pretty_name(text).as_deref(), name);
        check(
            "ID=debian\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n",
            Some("Debian GNU/Linux 12 (bookworm)"),
        );
        check("PRETTY_NAME=Arch\n", Some("Arch"));
        check("NAME=x\n", None);
    }
}
