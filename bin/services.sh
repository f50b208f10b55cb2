# PostgreSQL and Redis of our own, on free ports, in a temporary folder. To be sourced: start_services, end_services.
# Wants bin/env.sh sourced before. They outlive the shell that started them, so that has to call end_services in a trap.

free_port() {
  "$PYTHON" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# PostgreSQL refuses to run as root.
as_postgres() {
  if [[ $(id -u) == 0 ]]; then
    runuser -u postgres -- "$@"
  else
    "$@"
  fi
}

start_services() {
  services=$(mktemp -d)
  chmod 755 "$services"
  postgres_bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
  [[ -n $postgres_bin ]] || postgres_bin=$(dirname "$(command -v initdb)")
  local postgres_port redis_port
  postgres_port=$(free_port)
  redis_port=$(free_port)

  mkdir "$services/postgres"
  [[ $(id -u) != 0 ]] || chown postgres "$services/postgres"
  (
    # initdb wants a folder to stand in that its user may read.
    cd "$services"
    as_postgres "$postgres_bin/initdb" -D "$services/postgres/data" -U agentroom -A trust -E UTF8 --no-sync >"$services/initdb.log"
    as_postgres "$postgres_bin/pg_ctl" -D "$services/postgres/data" -l "$services/postgres/log" -w start >/dev/null \
      -o "-p $postgres_port -k $services/postgres -c listen_addresses=127.0.0.1 -c fsync=off -c max_connections=200"
    as_postgres "$postgres_bin/createdb" -h 127.0.0.1 -p "$postgres_port" -U agentroom agentroom
  )
  redis-server --port "$redis_port" --bind 127.0.0.1 --save '' --appendonly no --dir "$services" \
    --daemonize yes --pidfile "$services/redis.pid" --logfile "$services/redis.log" >/dev/null
  for _ in $(seq 100); do
    if redis-cli -p "$redis_port" ping >/dev/null 2>&1; then break; fi
    sleep 0.1
  done

  export DATABASE_URL="postgresql://agentroom@127.0.0.1:$postgres_port/agentroom"
  export REDIS_URL="redis://127.0.0.1:$redis_port/0"
}

end_services() {
  [[ -n ${services:-} ]] || return 0
  if [[ -f $services/redis.pid ]]; then kill "$(cat "$services/redis.pid")" || true; fi
  if [[ -d $services/postgres/data ]]; then
    (cd "$services" && as_postgres "$postgres_bin/pg_ctl" -D "$services/postgres/data" -m immediate -w stop >/dev/null) || true
  fi
  rm -rf "$services"
  services=
}
