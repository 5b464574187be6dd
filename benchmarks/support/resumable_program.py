"""A program that runs for given seconds in all: preempted, it continues where it stopped."""

PROGRAM = """
import os, signal, sys, time
folder = os.environ["MOTET_CHECKPOINT_DIR"]
os.makedirs(folder, exist_ok=True)
path = folder + "/ran-" + os.environ["RANK"]
ran = float(open(path).read()) if os.path.exists(path) else 0.0
began = time.monotonic()

def stop(number, frame):
    with open(path, "w") as file:
        file.write(str(ran + time.monotonic() - began))
    os._exit(0)

signal.signal(signal.SIGTERM, stop)
time.sleep(max(0.0, float(sys.argv[1]) - ran))
"""
