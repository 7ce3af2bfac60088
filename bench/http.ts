import { type Load, p99AtRate, rates } from './load.ts'
import { median, progress, type Row, row, told } from './measure.ts'
import { offFirstCore, type Server, startServer } from './processes.ts'

export const FLAGS = 100
export const TOKENS = 200
export const json = { 'content-type': 'application/json' }
const newest = { 'x-service-accept-server-version': '1.47.0' }
const SNAPSHOT = '/internal/v1/evaluation/snapshot/namespace/default'

/** Questions about one entity after another, of all flags in turn. */
const questions = (
  flags: number,
): readonly { readonly flagKey: string; readonly entityId: string; readonly context: object }[] =>
  Array.from({ length: 1000 }, (_, n) => ({
    flagKey: `flag-${n % flags}`,
    entityId: `user-${n * 7919}`,
    context: { country: 'de', plan: 'pro', version: '1.2.3' },
  }))

/** An evaluation after another, each with another of the server's tokens. */
export const evaluation = ({ url, tokens }: Server, path: string, flags = FLAGS): Load => ({
  url: url + path,
  method: 'POST',
  headers: json,
  bodies: questions(flags).map((question) => JSON.stringify(question)),
  tokens,
})

export const perSecond = (rate: number) => `${Math.round(rate).toLocaleString('en')}/s`

/** A token after another. */
export const creation = ({ url, tokens }: Server): Load => ({
  url: `${url}/auth/v1/method/token`,
  method: 'POST',
  headers: json,
  bodies: ['{"name":"bench"}'],
  tokens,
})

/** B1, B2, B4: an authenticated evaluation against what Node alone can do. */
const againstBare = async (): Promise<Row[]> => {
  const [service, bare] = [
    await startServer('service', `--flags=${FLAGS}`, `--tokens=${TOKENS}`),
    await startServer('bare', `${FLAGS}`, `${TOKENS}`),
  ]
  try {
    const [ours, theirs, hello] = [
      evaluation(service, '/evaluate/v1/boolean'),
      evaluation(bare, '/'),
      { url: `${bare.url}/hello`, tokens: bare.tokens },
    ]
    const rate = await rates({ ours, theirs, hello })
    const fixed = Math.round(rate.ours / 4)
    const p99 = { ours: [] as number[], hello: [] as number[] }
    for (let round = 0; round < 3; round++) {
      p99.hello.push(await p99AtRate(hello, fixed, 5))
      p99.ours.push(await p99AtRate(ours, fixed, 5))
    }
    const tail = [Math.min(...p99.ours), Math.max(1, Math.min(...p99.hello))] as const
    return [
      row(
        'B1',
        'authenticated evaluation / bare node:http doing the same',
        rate.ours / rate.theirs,
        { atLeast: 0.85 },
        '',
        perSecond(rate.ours),
      ),
      row('B2', 'authenticated evaluation / bare node:http hello', rate.ours / rate.hello, { atLeast: 0.42 }),
      row(
        'B4',
        'p99 of both at the same fixed rate',
        tail[0] / tail[1],
        { atMost: 1.5 },
        '',
        `${tail[0]} ms, ${tail[1]} ms at ${fixed}/s`,
      ),
    ]
  } finally {
    await Promise.all([service.stop(), bare.stop()])
  }
}

/** B3: what the credential costs. */
const authentication = async (): Promise<Row[]> => {
  const [closed, open] = [
    await startServer('service', `--flags=${FLAGS}`, `--tokens=${TOKENS}`),
    await startServer('service', `--flags=${FLAGS}`, '--open'),
  ]
  try {
    const path = '/api/v1/namespaces/default/flags/flag-0'
    const rate = await rates({
      authenticated: { url: closed.url + path, tokens: closed.tokens },
      open: { url: open.url + path },
    })
    return [row('B3', 'GET with a credential / the same without', rate.authenticated / rate.open, { atLeast: 0.8 })]
  } finally {
    await Promise.all([closed.stop(), open.stop()])
  }
}

/** B7: what durability costs. */
const durability = async (): Promise<Row[]> => {
  const [durable, idle] = [await startServer('service'), await startServer('service', '--idle')]
  try {
    const rate = await rates({ durable: creation(durable), idle: creation(idle) })
    const name = 'durable token creation / the same on a store that does nothing'
    return [row('B7', name, rate.durable / rate.idle, { atLeast: 0.4 }, '', perSecond(rate.durable))]
  } finally {
    await Promise.all([durable.stop(), idle.stop()])
  }
}

/** Milliseconds from sending a flag's change to an evaluation that tells it. */
const changeToAnswer = async ({ url, tokens: [token = ''] }: Server): Promise<number> => {
  const headers = { ...json, authorization: `Bearer ${token}` }
  const ask = async (method: string, path: string, body: object) =>
    (await (await fetch(url + path, { method, headers, body: JSON.stringify(body) })).json()) as {
      readonly enabled: boolean
    }
  const flag = '/api/v1/flags/fresh'
  await ask('POST', '/api/v1/flags', { key: 'fresh', name: 'fresh', type: 'BOOLEAN_FLAG_TYPE' })
  const times: number[] = []
  for (let n = 0; n < 200; n++) {
    const enabled = n % 2 === 0
    const start = performance.now()
    await ask('PUT', flag, { name: 'fresh', enabled })
    while ((await ask('POST', '/evaluate/v1/boolean', { flagKey: 'fresh', entityId: 'e' })).enabled !== enabled);
    times.push(performance.now() - start)
  }
  return median(times)
}

/** Figures without targets: 1,000 flags, batches, snapshots, freshness. */
const orientation = async (): Promise<Row[]> => {
  const many = 1000
  const service = await startServer('service', `--flags=${many}`, `--tokens=${TOKENS}`)
  try {
    const { url, tokens } = service
    const headers = { ...newest, authorization: `Bearer ${tokens[0]}` }
    const etag = (await fetch(url + SNAPSHOT, { headers })).headers.get('etag') ?? ''
    const all = questions(many)
    const batches = Array.from({ length: 20 }, (_, n) => JSON.stringify({ requests: all.slice(n * 50, n * 50 + 50) }))
    const rate = await rates(
      {
        single: evaluation(service, '/evaluate/v1/boolean', many),
        batch: { url: `${url}/evaluate/v1/batch`, method: 'POST', headers: json, bodies: batches, tokens },
        snapshot: { url: url + SNAPSHOT, headers: newest, tokens },
        unchanged: { url: url + SNAPSHOT, headers: { ...newest, 'if-none-match': etag }, tokens },
      },
      5,
    )
    const fresh = await changeToAnswer(service)
    return [
      told('E1', 'authenticated evaluations with 1,000 flags', perSecond(rate.single)),
      told('E2', 'evaluations in batches of 50', perSecond(rate.batch * 50)),
      told('E3', 'snapshots of 1,000 flags', perSecond(rate.snapshot)),
      told('E4', 'snapshots answered 304', perSecond(rate.unchanged)),
      told('E5', 'from a flag’s change sent to the new answer, median', `${fresh.toFixed(2)} ms`),
    ]
  } finally {
    await service.stop()
  }
}

/** The service over HTTP, each server in a process of its own on one core, the load on the other. */
export const run = (): Promise<readonly Row[]> =>
  offFirstCore(async () => {
    const rows: Row[] = []
    for (const part of [againstBare, authentication, durability, orientation]) {
      rows.push(...(await part()))
      progress(rows.at(-1)!.id)
    }
    return rows
  })
