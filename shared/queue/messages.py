"""Names of queues and tasks, and options for senders and receivers, but no task code. Messages carry only ids."""

import ssl
from typing import Any

from codequarry.shared.jobs.job import PRIORITIES
from codequarry.shared.known_models import find_model
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.settings.queue import QueueSettings

APP = "codequarry"
# Job housekeeping: short tasks, more urgent than everything else.
CONTROL = "control"
# Running a job: fetch, plan, have the batches written, publish.
SCAN = "scan"
# A batch of a shared import whose vectors this machine computes, which keeps a processor busy.
INDEX = "index"
# A batch of a shared import whose vectors come from a server, which mostly waits.
EMBED = "embed"
QUEUES = (CONTROL, SCAN, INDEX, EMBED)

RUN_JOB = "codequarry.run_job"
WRITE_BATCH = "codequarry.write_batch"
LOOK_AFTER_JOBS = "codequarry.look_after_jobs"
POLL_ORIGINS = "codequarry.poll_origins"

# A sender waits only this long for the server, so that a request does not hang when the queue is down.
CONNECT_SECONDS = 2.0
# A queue command takes milliseconds; after this time a silent connection counts as broken.
SOCKET_SECONDS = 30.0


def batch_queue(settings: SettingsModel) -> str:
    """Return the queue for batches, which depends on where the configured model computes vectors."""
    known = find_model(settings.embedding.model)
    return EMBED if settings.embedding.base_url or (known and known.api) else INDEX


def tls_options(queue: QueueSettings) -> dict[str, Any]:
    """Return the certificate options for a client of a ``rediss://`` queue, or no options for other queues."""
    if queue.url is None or not queue.url.get_secret_value().startswith("rediss://"):
        return {}
    verified = ssl.CERT_REQUIRED if queue.verify_certificates else ssl.CERT_NONE
    authority = {"ssl_ca_certs": str(queue.ca_file.expanduser())} if queue.ca_file else {}
    return {"ssl_cert_reqs": verified, "ssl_check_hostname": queue.verify_certificates, **authority}


def celery_options(settings: SettingsModel) -> dict[str, Any]:
    """Return the configuration of the Celery application, for senders and receivers."""
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
        # A message is taken only when a process is free. With a prefetch limit as well, the transport would keep
        # counting a message whose acknowledgement was lost with the connection, and take no further messages.
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
