"""What goes over the queue: the names of queues and tasks, and how both ends set it up. Messages carry ids alone.

Only names and a mapping, so that the service can ask for work without the code that does it.
"""

import ssl
from typing import Any

from codequarry.shared.jobs.job import PRIORITIES
from codequarry.shared.known_models import find_model
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.settings.queue import QueueSettings

APP = "codequarry"
# Looking after jobs: short, and before all else.
CONTROL = "control"
# Doing a job: fetch, plan, have the batches written, publish.
SCAN = "scan"
# Taking part in somebody's import: a batch whose vectors this machine computes, which keeps a processor busy…
INDEX = "index"
# …or one whose vectors come from a server, which mostly waits.
EMBED = "embed"
QUEUES = (CONTROL, SCAN, INDEX, EMBED)

RUN_JOB = "codequarry.run_job"
WRITE_BATCH = "codequarry.write_batch"
LOOK_AFTER_JOBS = "codequarry.look_after_jobs"
POLL_ORIGINS = "codequarry.poll_origins"

# How long somebody who sends a message waits for the server: a request must not hang on a queue that is down.
CONNECT_SECONDS = 2.0
# A command of the queue takes milliseconds; a connection that was cut without a word is noticed after this.
SOCKET_SECONDS = 30.0


def batch_queue(settings: SettingsModel) -> str:
    """Return the queue of batches: the settings' model says what they wait for."""
    known = find_model(settings.embedding.model)
    return EMBED if settings.embedding.base_url or (known and known.api) else INDEX


def tls_options(queue: QueueSettings) -> dict[str, Any]:
    """Return what a client of a ``rediss://`` queue is told of certificates; nothing for any other."""
    if queue.url is None or not queue.url.get_secret_value().startswith("rediss://"):
        return {}
    verified = ssl.CERT_REQUIRED if queue.verify_certificates else ssl.CERT_NONE
    authority = {"ssl_ca_certs": str(queue.ca_file.expanduser())} if queue.ca_file else {}
    return {"ssl_cert_reqs": verified, "ssl_check_hostname": queue.verify_certificates, **authority}


def celery_options(settings: SettingsModel) -> dict[str, Any]:
    """Return the configuration of the Celery application for whoever sends or receives."""
    queue = settings.queue
    return {
        "broker_url": queue.url.get_secret_value() if queue.url else "",
        "broker_use_ssl": tls_options(queue) or None,
        "broker_transport_options": {
            "visibility_timeout": queue.visibility_seconds,
            "priority_steps": sorted(PRIORITIES.values()),
            "queue_order_strategy": "priority",
            "socket_connect_timeout": CONNECT_SECONDS,
            "socket_timeout": SOCKET_SECONDS,
            "socket_keepalive": True,
        },
        "broker_connection_retry_on_startup": True,
        "broker_connection_max_retries": None,
        "task_serializer": "json",
        "accept_content": ["json"],
        "task_ignore_result": True,
        "task_default_queue": SCAN,
        "task_create_missing_queues": True,
        "task_acks_late": True,
        "task_reject_on_worker_lost": True,
        "task_soft_time_limit": queue.soft_limit_seconds,
        "task_time_limit": queue.hard_limit_seconds,
        # A message is taken when a process is free, and none before. With a limit of its own beside that, the transport
        # would go on counting a message whose acknowledgement was lost with the connection, and take no more.
        "worker_disable_prefetch": True,
        "worker_prefetch_multiplier": 0,
        "worker_cancel_long_running_tasks_on_connection_loss": False,
        "worker_enable_prefetch_count_reduction": False,
        "worker_hijack_root_logger": False,
        "worker_redirect_stdouts": False,
        "worker_send_task_events": False,
        "task_send_sent_event": False,
        "worker_enable_remote_control": False,
        "enable_utc": True,
    }
