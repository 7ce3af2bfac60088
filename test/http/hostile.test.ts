import * as fc from 'fast-check'
import t from 'tap'
import { demo, exchange } from './demo.ts'
import { A, body, flags } from './requests.ts'

const served = await demo()
t.teardown(() => served.app.close())

void t.test('no input gets a 5xx', async (t) => {
  const junk = fc.oneof(
    fc.string({ maxLength: 40 }),
    fc.constantFrom('%', '%00', '%2e%2e', '..', '//', '?', '#', '\0', '\ud800', '{"', '[[', '=', '&&', '__proto__'),
  )
  const path = fc.oneof(
    fc.constantFrom(
      flags,
      '/api/v1/namespaces',
      '/auth/v1/method/token',
      '/evaluate/v1/boolean',
      '/ofrep/v1/evaluate/flags/x',
    ),
    junk.map((text) => `/${text}`),
    junk.map((text) => `${flags}/${text}/rollouts`),
  )
  const request = fc.record({
    method: fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH', 'X'),
    path,
    query: fc.option(
      fc.oneof(junk, fc.constantFrom('limit=%', 'pretty', 'pretty=&force=2', 'limit=1&limit', 'pageToken=%00')),
      {
        nil: undefined,
      },
    ),
    name: fc.constantFrom(
      'content-type',
      'content-encoding',
      'accept-encoding',
      'if-none-match',
      'cookie',
      'authorization',
      'x-request-id',
      'origin',
      'expect',
      'transfer-encoding',
    ),
    value: junk,
    body: fc.oneof(
      fc.jsonValue().map((value) => JSON.stringify(value)),
      junk,
      fc.constantFrom(body, '[[[[', '{"key":', '{"rank":1e999}'),
    ),
  })
  const requests = fc.sample(request, 1000)
  const send = async ({ method, path, query, name, value, body }: (typeof requests)[number]) => {
    const target = query === undefined ? path : `${path}?${query}`
    const bytes = Buffer.from(body, 'utf8')
    const head = `${method} ${target} HTTP/1.1\r\n${A}${name}: ${value}\r\nConnection: close\r\nContent-Length: ${bytes.length}\r\n\r\n`
    const reply = await exchange(served.port, Buffer.concat([Buffer.from(head, 'utf8'), bytes]))
    if (reply.status >= 500) t.fail(`${reply.status} for ${JSON.stringify(head)} ${body}`)
    return reply.status
  }
  const statuses = new Map<number, number>()
  for (let n = 0; n < requests.length; n += 50) {
    for (const status of await Promise.all(requests.slice(n, n + 50).map(send)))
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
  }
  t.ok(
    (statuses.get(400) ?? 0) > 50 && statuses.size >= 4,
    `the inputs were not all alike: ${JSON.stringify([...statuses])}`,
  )
  t.same(served.log, [])
})
