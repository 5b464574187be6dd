"""Delivery of webhooks: a thread for each reads the journal and sends, at least once, in order.

Neither the master nor other webhooks wait for a receiver. What a webhook has delivered is in the
database, so that a server that is started again goes on there.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any

from sqlalchemy.exc import InterfaceError, OperationalError

from motet.domain.errors import Unreachable
from motet.interfaces.server.webhooks.messages import (
    DEADLINE_S,
    GONE,
    MessageSender,
    NotDelivered,
    WebhookGone,
    message_body,
    receivers_client,
    send_message,
)
from motet.live.accounts.audit_log import AuditEntry, AuditLog
from motet.live.jobs.job import LiveJob
from motet.live.journal.reading import JournalReader
from motet.live.journal.record import Record
from motet.live.master.loop import MasterLoop, MasterStopped
from motet.live.master.master import DurableStep
from motet.live.master.state import LiveState
from motet.live.webhooks.events import TEST, WebhookEvent, events_of_record
from motet.live.webhooks.store import Webhook, WebhookStore

GIVE_UP_S = 24 * 3600.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 1.0, 600.0
_PAGE = 200
_NO_SECRET = "its secret is not in the state folder: remove the webhook and add it again"
_LOG = logging.getLogger("motet.webhooks")


class WebhookSender:
    """Tells one receiver, on a thread of its own from `start` to `close`."""

    def __init__(
        self,
        webhook: Webhook,
        store: WebhookStore,
        journal: str,
        master: MasterLoop,
        on_gone: Callable[[Webhook], None],
    ) -> None:
        """`on_gone`: called on the thread when the receiver wants no further messages."""
        self._webhook, self._store = webhook, store
        self._journal, self._master, self._on_gone = journal, master, on_gone
        self._read_to = webhook.read_to
        self._end, self._news = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"webhook-{webhook.id}", daemon=True)

    def start(self) -> None:
        """Begin with what has happened since the last delivery."""
        self._news.set()
        self._thread.start()

    def wake(self) -> None:
        """The journal has grown."""
        self._news.set()

    def end(self) -> None:
        """Send nothing further."""
        self._end.set()
        self._news.set()

    def join(self, wait_s: float) -> None:
        """Wait for a message on its way; the thread of a slower receiver ends with the process."""
        self._thread.join(wait_s)

    def _run(self) -> None:
        pause_s = _FIRST_PAUSE_S
        with MessageSender() as sender:
            while not self._end.is_set():
                self._news.wait()
                self._news.clear()
                try:
                    while self._deliver_page(sender):
                        pause_s = _FIRST_PAUSE_S
                except MasterStopped:
                    return
                except FileNotFoundError:  # It was removed, or the database was restored elsewhere.
                    self._store.failed(self._webhook.id, _NO_SECRET)
                    return
                except WebhookGone:
                    _LOG.warning("webhook_gone", extra=_extra(self._webhook))
                    self._on_gone(self._webhook)
                    return
                except (InterfaceError, OperationalError, Unreachable) as error:
                    reason = " ".join(str(getattr(error, "orig", error)).split())
                    _LOG.warning("webhook_waits", extra=_extra(self._webhook, error=reason))
                except Exception:
                    _LOG.exception("webhook_failed", extra=_extra(self._webhook))
                else:
                    pause_s = _FIRST_PAUSE_S
                    continue
                self._end.wait(pause_s)
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
                self._news.set()

    def _deliver_page(self, sender: MessageSender) -> bool:
        """Deliver the events of some records; returns whether there were any."""
        with JournalReader(self._journal) as reader:
            records = list(islice(reader.records(self._read_to + 1), _PAGE))
        for record in records:
            if self._end.is_set():
                return False
            if told := self._told(record):
                for event in told:
                    self._deliver(sender, event)
                self._store.read(self._webhook.id, record.sequence, time.time_ns() // 1000)
            self._read_to = record.sequence
        if records:
            self._store.read(self._webhook.id, self._read_to, None)
        return bool(records)

    def _told(self, record: Record) -> Sequence[WebhookEvent]:
        return [each for each in events_of_record(record) if each.kind in self._webhook.kinds]

    def _deliver(self, sender: MessageSender, event: WebhookEvent) -> None:
        """Until it is received, or has been refused for a day."""
        body = message_body(event, self._job(event))
        secret = self._store.secret(self._webhook.id)
        began_s, pause_s = time.monotonic(), _FIRST_PAUSE_S
        while True:
            try:
                sender.send(self._webhook.url, secret, event.id, body)
                return
            except WebhookGone:
                raise
            except NotDelivered as error:
                self._store.failed(self._webhook.id, str(error))
                if time.monotonic() - began_s > GIVE_UP_S:
                    _LOG.error("webhook_event_lost", extra=_extra(self._webhook, id=event.id))
                    return
            if self._end.wait(pause_s):
                raise MasterStopped
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    def _job(self, event: WebhookEvent) -> Mapping[str, Any] | None:
        """Raises MasterStopped."""
        number = event.job
        if number is None:
            return None
        return self._master.read(lambda state: _described(state, number)).result()


class Webhooks:
    """All webhooks of a server. Observes the master: see MasterObserver."""

    def __init__(self, store: WebhookStore, journal: str, audit: AuditLog) -> None:
        """`journal`: its address. `audit`: gets the webhooks that end by themselves."""
        self.store, self._journal, self._audit = store, journal, audit
        self._master: MasterLoop | None = None
        self._senders: dict[str, WebhookSender] = {}
        self._lock = threading.Lock()

    def start(self, master: MasterLoop) -> None:
        """Go on with the deliveries of the server before. `master`: tells about jobs."""
        self._master = master
        self.store.open(self._journal)
        for webhook in self.store.all():
            self._begin(webhook)

    def began(self, state: LiveState) -> None:
        """See MasterObserver."""

    def stepped(
        self, steps: Sequence[DurableStep], jobs: Sequence[LiveJob], state: LiveState
    ) -> None:
        """See MasterObserver."""
        for sender in list(self._senders.values()):
            sender.wake()

    def launched(self) -> None:
        """See MasterObserver."""

    def add(self, url: str, kinds: Sequence[str], user: str) -> tuple[Webhook, str]:
        """A new webhook, which tells what happens from now on, and its secret. Raises BadInput,
        UnknownName."""
        with JournalReader(self._journal) as reader:
            last = reader.last_sequence()
        webhook, secret = self.store.add(url, kinds, user, last)
        self._begin(webhook)
        return webhook, secret

    def remove(self, number: str) -> None:
        """Raises NotFound."""
        self.store.remove(number)
        with self._lock:
            sender = self._senders.pop(number, None)
        if sender is not None:
            sender.end()
            sender.join(DEADLINE_S)

    async def test(self, number: str) -> None:
        """Send a message once. Raises NotFound, NotDelivered."""
        webhook = await asyncio.to_thread(self.store.find, number)
        try:
            secret = await asyncio.to_thread(self.store.secret, number)
        except FileNotFoundError:
            raise NotDelivered(_NO_SECRET) from None
        event = WebhookEvent(f"msg_test_{time.time_ns()}", TEST, time.time_ns() // 1000, None, {})
        async with receivers_client() as client:
            await send_message(client, webhook.url, secret, event.id, message_body(event, None))

    def close(self) -> None:
        """End all deliveries; the next server goes on with them."""
        senders = list(self._senders.values())
        for sender in senders:
            sender.end()
        ends_s = time.monotonic() + DEADLINE_S
        for sender in senders:
            sender.join(max(ends_s - time.monotonic(), 0.0))
        self.store.close()

    def _begin(self, webhook: Webhook) -> None:
        assert self._master is not None
        sender = WebhookSender(webhook, self.store, self._journal, self._master, self._gone)
        with self._lock:
            self._senders[webhook.id] = sender
        sender.start()

    def _gone(self, webhook: Webhook) -> None:
        self.store.remove(webhook.id)
        with self._lock:
            self._senders.pop(webhook.id, None)
        action, target = "webhook removed: its receiver answered 410 Gone", f"webhook {webhook.id}"
        now_us = time.time_ns() // 1000
        self._audit.record(AuditEntry(now_us, "", "", "", "", action, target, GONE))


def _described(state: LiveState, number: int) -> Mapping[str, Any]:
    """What does not change during the life of a job."""
    job = state.job(number)
    return {
        "id": str(number),
        "name": job.spec.name,
        "user": job.user,
        "kind": job.spec.kind,
        "array": job.array and str(job.array.number),
    }


def _extra(webhook: Webhook, **more: Any) -> dict[str, Any]:
    return {"fields": {"webhook": webhook.id, **more}}
