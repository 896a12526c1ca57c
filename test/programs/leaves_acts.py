"""An agent program that queues calls of its tools and takes back one of them: `ends` before the others are done, or stays."""
import json
import os
import socket
import sys
import time

key, port = sys.argv[1], int(sys.argv[2])


def call(command):
    params = {'name': 'bash', 'arguments': {'command': command}}
    body = json.dumps({'jsonrpc': '2.0', 'id': 1, 'method': 'tools/call', 'params': params})
    head = [
        'POST /mcp HTTP/1.1',
        'host: model',
        f'authorization: Bearer {key}',
        'content-type: application/json',
        'accept: application/json, text/event-stream',
        'mcp-protocol-version: 2025-06-18',
        f'content-length: {len(body)}',
    ]
    connection = socket.create_connection(('127.0.0.1', port))
    connection.sendall('\r\n'.join([*head, '', body]).encode())
    return connection


def answered(connection):
    answer = b''
    while b'isError' not in answer:
        part = connection.recv(65536)
        if not part:
            sys.exit('no answer')
        answer += part


def seen(path):
    while not os.path.exists(path):
        time.sleep(0.05)


first = call("sed -i 's/a - b/a + b/' calc.py; echo x > begun.txt; sleep 2")
seen('begun.txt')
taken_back = call('echo x > taken-back.txt')
time.sleep(0.5)
taken_back.close()
answered(first)
if sys.argv[3] == 'ends':
    rest = [call('rm begun.txt; echo x > half.txt; sleep 20'), *(call('date >> late.txt') for _ in range(4))]
    seen('half.txt')
else:
    rest = [call('echo spent > spent.txt'), *(call('date >> late.txt') for _ in range(4))]
    time.sleep(600)
