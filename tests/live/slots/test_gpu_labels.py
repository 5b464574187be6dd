"""GPUs of a node of Ray: those that its labels name, or the first ones of the machine."""

from __future__ import annotations

from motet.live.slots.gpu_labels import label_of_gpu, labelled_devices


def test_labels_name_the_gpus_in_the_order_of_slots() -> None:
    labels = {label_of_gpu(0): "5", label_of_gpu(1): "2", "ray.io/node-id": "x"}
    assert labelled_devices(labels, 2) == ("5", "2")


def test_a_node_without_labels_has_the_first_gpus() -> None:
    assert labelled_devices({}, 3) == ("0", "1", "2")
    assert labelled_devices({}, 0) == ()
