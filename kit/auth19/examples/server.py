# A server that looks idempotent: it finds the key, or runs and saves. python3 server.py
import json
import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

charges = []
responses = {}


class Handler(BaseHTTPRequestHandler):
    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def do_GET(self):
        self.answer(200, {"data": charges})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or "{}")
        key = self.headers["Idempotency-Key"]
        if not key:
            return self.answer(400, {"error": "Idempotency-Key is required"})
        if key in responses:
            return self.answer(201, responses[key])
        time.sleep(int(self.headers.get("X-Delay", 5)) / 1000)  # what a database takes
        charge = {"id": len(charges) + 1, **body}
        charges.append(charge)
        responses[key] = charge
        self.answer(201, charge)

    def log_message(self, *arguments):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 128


Server(("127.0.0.1", int(os.environ.get("PORT", 8080))), Handler).serve_forever()
