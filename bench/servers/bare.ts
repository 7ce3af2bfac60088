import { hash, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { compileFlag } from '../../src/evaluation/compile.ts'
import { evaluateBoolean } from '../../src/evaluation/evaluate.ts'
import type { SegmentInput } from '../../src/evaluation/flag.ts'
import { answerMeasures } from './measures.ts'

/**
 * What Node alone can do: `node:http`, no framework, no rules of the contract. GET /hello says hello. POST / checks a bearer by its
 * digest and expiry, reads and parses the body, asks the same flags by the same engine and answers the same JSON with the same headers.
 * Says its address and its tokens in one line of JSON, and answers measures.
 */
const [FLAGS = 100, TOKENS = 1] = process.argv.slice(2).map(Number)
const secrets = Array.from({ length: TOKENS }, () => `bench-${randomUUID()}`)
const expiresAt = Date.now() + 3_600_000
const tokens = new Map(secrets.map((secret) => [hash('sha256', secret, 'binary'), { id: randomUUID(), expiresAt }]))
const keys = ['beta', 'staff', 'region']
const segments = new Map(
  keys.map((key): readonly [string, SegmentInput] => {
    const constraints = ['country', 'plan', 'version'].map((property) => ({
      id: property,
      type: 'string' as const,
      property,
      operator: 'eq',
      value: `${key}-${property}`,
    }))
    return [key, { key, matchType: 'all', constraints }]
  }),
)
const flags = new Map(
  Array.from({ length: FLAGS }, (_, n) => {
    const rollouts = [
      { id: '1', rank: 1, type: 'segment' as const, segments: keys, operator: 'or' as const, value: true },
      { id: '2', rank: 2, type: 'threshold' as const, percentage: 50, value: true },
    ]
    const key = `flag-${n}`
    return [
      key,
      compileFlag({ key, type: 'boolean', enabled: false, variants: [], rules: [], rollouts }, (name) =>
        segments.get(name),
      ),
    ] as const
  }),
)
const reasons = { match: 'MATCH_EVALUATION_REASON', default: 'DEFAULT_EVALUATION_REASON', unknown: '', disabled: '' }

type Body = {
  readonly requestId?: string
  readonly flagKey: string
  readonly entityId: string
  readonly context: Record<string, string>
}

const refuse = (response: ServerResponse, status: number) => response.writeHead(status).end()

const answer = (response: ServerResponse, text: string) => {
  const requestId = randomUUID()
  response.writeHead(200, {
    'x-request-id': requestId,
    'x-content-type-options': 'nosniff',
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  })
  response.end(text)
}

const evaluate = (request: IncomingMessage, response: ServerResponse) => {
  const { authorization = '' } = request.headers
  const found = authorization.startsWith('Bearer ')
    ? tokens.get(hash('sha256', authorization.slice(7), 'binary'))
    : undefined
  if (!found || found.expiresAt < Date.now()) return refuse(response, 401)
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const start = performance.now()
    const {
      requestId = randomUUID(),
      flagKey,
      entityId,
      context,
    } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Body
    const flag = flags.get(flagKey)
    if (flag?.type !== 'boolean') return refuse(response, 404)
    const said = evaluateBoolean(flag, entityId, context)
    if ('error' in said) return refuse(response, 400)
    return answer(
      response,
      JSON.stringify({
        enabled: said.enabled,
        reason: reasons[said.reason],
        flagKey,
        segmentKeys: said.segmentKeys,
        requestId,
        requestDurationMillis: performance.now() - start,
        timestamp: new Date().toISOString(),
      }),
    )
  })
  return undefined
}

const server = createServer((request, response) => {
  if (request.method === 'POST') evaluate(request, response)
  else response.writeHead(200, { 'content-type': 'application/json', 'content-length': 17 }).end('{"hello":"world"}')
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}`, tokens: secrets })}\n`)
})
answerMeasures()
process.on('SIGTERM', () => process.exit(0))
