#!/bin/sh
# dotenv.sh FILE: what Docker Compose needs to know, with a fresh password that only this user may read.
set -eu

umask 077
password=$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')
cat > "$1" <<END
# Read by docker compose. Letters and digits only: the password becomes part of a URL.
POSTGRES_PASSWORD=$password
# A file that holds the address of a Slack webhook, which user 10001 of the container must be able to read; without it
# alerts are printed (docker compose logs notifier).
# SLACK_WEBHOOK_URL_FILE=./slack_webhook_url
END
echo "Wrote $1 with a new password for Postgres."
