import t from 'tap'
import { startService } from '../start.ts'
import { granted } from './granted.ts'

const PARAMETERS = 99
const marks = Array.from({ length: PARAMETERS }, (_, n) => `mark-${n}=text-${n}`).join('&')

/** Counts how often each text was decoded during the work. */
const decodedBy = async (work: () => Promise<unknown>): Promise<ReadonlyMap<string, number>> => {
  const counts = new Map<string, number>()
  const { decodeURIComponent: decode } = globalThis
  globalThis.decodeURIComponent = (text) => {
    counts.set(text, (counts.get(text) ?? 0) + 1)
    return decode(text)
  }
  try {
    await work()
  } finally {
    globalThis.decodeURIComponent = decode
  }
  return counts
}

await t.test('the query string of a request is parsed once', async (t) => {
  const service = await startService(t)
  const client = await granted(service, { role: 'client' })
  const viewer = await granted(service, { grants: [{ role: 'viewer', namespaceKey: 'default' }] })
  const asks: readonly (readonly [string, string, unknown, typeof client])[] = [
    ['POST', '/evaluate/v1/boolean', { flagKey: 'f' }, client],
    ['POST', '/evaluate/v1/batch', { requests: [{ flagKey: 'f' }] }, client],
    ['POST', '/ofrep/v1/evaluate/flags', {}, client],
    ['GET', '/api/v1/namespaces/default/flags', undefined, viewer],
    ['GET', '/auth/v1/tokens', undefined, viewer],
    ['GET', '/auth/v1/access/check', undefined, viewer],
    ['GET', '/readyz', undefined, client],
  ]
  for (const [method, path, body, { headers }] of asks) {
    const counts = await decodedBy(() => service.request(method, `${path}?${marks}`, body, headers))
    for (const text of ['mark-0', 'text-0', `mark-${PARAMETERS - 1}`, `text-${PARAMETERS - 1}`])
      t.equal(counts.get(text), 1, `${method} ${path}: ${text}`)
  }
  for (const [method, path, body, { headers }] of asks) {
    const { status } = await service.request(method, `${path}?a&${marks}&a`, body, headers)
    t.equal(status, 400, `${method} ${path} with one parameter too many`)
  }
})
