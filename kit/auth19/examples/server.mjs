// A server that looks idempotent: it finds the key, or runs and saves. node server.mjs
import { createServer } from 'node:http'
import { setTimeout as databaseTakes } from 'node:timers/promises'

const charges = []
const responses = new Map()

const server = createServer(async (request, response) => {
  const answer = (status, body) => {
    response.writeHead(status, { 'Content-Type': 'application/json' })
    response.end(JSON.stringify(body))
  }
  if (request.method === 'GET') return answer(200, { data: charges })

  const key = request.headers['idempotency-key']
  if (!key) return answer(400, { error: 'Idempotency-Key is required' })
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  if (responses.has(key)) return answer(201, responses.get(key))

  await databaseTakes(Number(request.headers['x-delay'] ?? 5))
  const charge = { id: charges.length + 1, ...JSON.parse(Buffer.concat(chunks)) }
  charges.push(charge)
  responses.set(key, charge)
  answer(201, charge)
})
server.listen(Number(process.env.PORT ?? 8080), '127.0.0.1')
