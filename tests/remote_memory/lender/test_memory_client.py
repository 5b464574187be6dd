from __future__ import annotations

from motet.remote_memory.lender.memory_client import MemoryClient
from motet.remote_memory.wire.memory_messages import CheckActivity, EvictSlabs, SlabKey
from motet.transport import DirectConnection, Request
from motet.transport.client.call import Call

KEYS = (SlabKey(b"t" * 16, 1),)


def listen(client: MemoryClient) -> Call:
    return DirectConnection(client.listen, client.name).submit(16)


def client() -> MemoryClient:
    requests: list[Request] = []
    DirectConnection(requests.append, "a").submit(16)
    return MemoryClient("a", requests[0])


def test_a_message_answers_the_request_that_is_kept_open() -> None:
    device = client()
    waiting = listen(device)
    assert not waiting.is_done
    device.post(EvictSlabs(KEYS))
    reply = waiting.wait()
    assert (reply.status, reply.meta) == (EvictSlabs.kind, EvictSlabs(KEYS).encode())


def test_messages_wait_in_their_order_for_the_next_requests() -> None:
    device = client()
    device.post(CheckActivity(KEYS))
    device.post(EvictSlabs(KEYS))
    kinds = [listen(device).wait().status for _ in range(2)]
    assert kinds == [CheckActivity.kind, EvictSlabs.kind]
