"""Executes the first code cells of the quickstart through a Jupyter server, as
its page does, and tells how long each took: first_cells.py URL TOKEN.

A cell that fails is an error, and so is one that takes 3 seconds or more and
twice as long as when it is executed again with another comment, at the slowest of
three times: what it imports was not compiled.
"""

import asyncio
import json
import sys
import time
import urllib.request
import uuid

from tornado.websocket import websocket_connect

LIMIT = 3.0  # seconds
CELLS = 7  # the last of them draws a picture

url, token = sys.argv[1:]


def ask(method, path, body=None):
    request = urllib.request.Request(
        url + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": "token " + token},
    )
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request) as answer:
        return json.loads(answer.read() or "null")


async def execute(socket, source):
    header = {"msg_id": uuid.uuid4().hex, "msg_type": "execute_request", "username": "", "session": uuid.uuid4().hex, "version": "5.3"}
    content = {"code": source, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False, "stop_on_error": True}
    await socket.write_message(json.dumps({"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": "shell"}))
    pictures = 0
    while True:
        message = json.loads(await socket.read_message())
        if message["parent_header"].get("msg_id") != header["msg_id"]:
            continue
        kind, content = message["msg_type"], message["content"]
        if kind == "error":
            sys.exit("a cell fails: %s\n%s" % (content["evalue"], source))
        if kind == "display_data" and "image/png" in content["data"]:
            pictures += 1
        if kind == "status" and content["execution_state"] == "idle":
            return pictures


async def main():
    notebook = ask("GET", "/api/contents/quickstart.ipynb")["content"]
    cells = [c["source"] for c in notebook["cells"] if c["cell_type"] == "code"][:CELLS]
    session = ask("POST", "/api/sessions", {"path": "quickstart.ipynb", "type": "notebook", "name": "", "kernel": {"name": "gonb"}})
    kernel = session["kernel"]["id"]
    socket = await websocket_connect(url.replace("http", "ws", 1) + "/api/kernels/%s/channels?token=%s" % (kernel, token))
    slow = False
    for number, source in enumerate(cells, 1):
        began = time.monotonic()
        pictures = await execute(socket, source)
        took = time.monotonic() - began
        print("cell %d: %.2f s, %d pictures" % (number, took, pictures))
        if took >= LIMIT:
            again = []
            for attempt in range(3):
                began = time.monotonic()
                await execute(socket, "%s\n// %d" % (source, attempt))  # it is compiled anew
                again.append(time.monotonic() - began)
            print("cell %d again: %s s" % (number, ", ".join("%.2f" % t for t in again)))
            slow = slow or took >= 2 * max(again)
    ask("DELETE", "/api/sessions/" + session["id"])
    if slow:
        sys.exit("a cell took %g seconds or more, and not because the machine is busy" % LIMIT)
    if pictures != 1:
        sys.exit("the last cell has drawn %d pictures" % pictures)


asyncio.run(main())
