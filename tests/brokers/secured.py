"""Apache Kafka that lets nobody in without TLS and a login, and allows nobody anything that no rule allows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.protocol.admin import CreateAclsRequest

from brokers.node import Node, listeners, new_cluster, replicated
from watchline.cli.local.child import free_port

HOST = "localhost"
# Numbers of the protocol (org.apache.kafka.common.acl and .resource).
TOPIC, GROUP, CLUSTER = 2, 3, 4
RESOURCES = {"topic": TOPIC, "group": GROUP, "cluster": CLUSTER}
PATTERNS = {"literal": 3, "prefixed": 4}
OPERATIONS = {"read": 3, "write": 4, "create": 5, "describe": 8, "describe-configs": 10, "idempotent-write": 12}
ALLOW = 3


@dataclass(frozen=True, slots=True)
class Rule:
    """`user` may do `operation` to the resources of that name, or with names that begin with it."""

    user: str
    operation: str
    resource: str
    name: str
    pattern: str = "literal"


class SecuredBroker:
    """Listeners for SASL_SSL (SCRAM-SHA-512) and SSL (a client certificate is asked for), advertised as `localhost`.

    `keystore` and `cafile` are PEM files; `users` have passwords; `login` and `certificate` are the two addresses.
    `bootstrap_servers` is a third one in plain text, whose anonymous user may do everything: for the test's own hands.
    """

    durable = True

    def __init__(self, folder: Path, *, cache: Path, keystore: Path, cafile: Path, users: Mapping[str, str]) -> None:
        self._users = users
        port, controller, login, certificate = (free_port() for _ in range(4))
        self.login, self.certificate = f"{HOST}:{login}", f"{HOST}:{certificate}"
        settings = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            **listeners(
                ("PLAINTEXT", "PLAINTEXT", port, f"127.0.0.1:{port}"),
                ("CONTROLLER", "PLAINTEXT", controller, None),
                ("LOGIN", "SASL_SSL", login, self.login),
                ("CERTIFICATE", "SSL", certificate, self.certificate),
            ),
            **replicated(1, 1),
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(keystore),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(cafile),
            "listener.name.certificate.ssl.client.auth": "required",
            "listener.name.certificate.ssl.principal.mapping.rules": "RULE:^CN=([^,]+)$/$1/",
            "listener.name.login.sasl.enabled.mechanisms": "SCRAM-SHA-512",
            "listener.name.login.scram-sha-512.sasl.jaas.config": (
                "org.apache.kafka.common.security.scram.ScramLoginModule required;"
            ),
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
        }
        self._node = Node(folder, settings, cache=cache, port=port)

    @property
    def bootstrap_servers(self) -> str:
        return f"127.0.0.1:{self._node.port}"

    def start(self) -> None:
        """Format the log with the users if it is new, start the broker and return when it answers."""
        scram = [f"SCRAM-SHA-512=[name={name},password={secret}]" for name, secret in self._users.items()]
        options = [word for one in scram for word in ("--add-scram", one)]
        self._node.launch(new_cluster(), options)
        self._node.wait()

    def stop(self) -> None:
        """Let it close its log."""
        self._node.stop()

    async def allow(self, rules: Iterable[Rule]) -> None:
        """Add rules."""
        admin = AIOKafkaAdminClient(bootstrap_servers=self.bootstrap_servers)
        await admin.start()
        try:
            for rule in rules:
                answer = await admin._send_to_controller(_request(rule))
                ((code, text),) = answer.creation_responses
                assert code == 0, f"{rule}: {text}"
        finally:
            await admin.close()


def _request(rule: Rule) -> CreateAclsRequest:
    return CreateAclsRequest(
        RESOURCES[rule.resource],
        rule.name,
        PATTERNS[rule.pattern],
        f"User:{rule.user}",
        "*",
        OPERATIONS[rule.operation],
        ALLOW,
    )
