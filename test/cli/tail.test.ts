import { readFile, writeFile } from 'node:fs/promises'
import { createServer as createHttpServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { run } from '../../src/cli/program.ts'
import type { HistoryEvent } from '../../src/contract/history/events.ts'
import { randomOf } from '../history/event-log.ts'
import type { Issued } from '../http/people.ts'
import { type Started, startService } from '../start.ts'
import { type VirtualClock, virtualClock } from '../virtual-clock.ts'
import { eventually } from '../wait.ts'
import { rollcall, terminalWith } from './service.ts'

const N = '/api/v1/namespaces/default'
/** Pauses before a new connection. */
const PAUSES: ReadonlySet<number> = new Set([250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000])

const flag = ({ request }: Started, key: string) => request('POST', `${N}/flags`, { key, name: key })
const eventsIn = (out: string): readonly HistoryEvent[] =>
  out
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as HistoryEvent)
const indexesIn = (out: string): readonly number[] => eventsIn(out).map(({ index }) => index)
const counting = (first: number, all: readonly number[]) => all.map((_, n) => first + n)

const auditor = async ({ request }: Started) =>
  (await request<Issued>('POST', '/auth/v1/method/token', { name: 'auditor', role: 'auditor' })).json

/** A running `events tail -f` on a virtual clock. */
const following = (address: string, token: string, ...args: readonly string[]) => {
  const clock = virtualClock()
  const { terminal, out, err } = terminalWith({ ROLLCALL_ADDRESS: address, ROLLCALL_TOKEN: token })
  const state: { exit?: number } = {}
  const services = { load: () => Promise.reject(new Error('no service is needed')), clock, terminal }
  const over = run(['events', 'tail', '-f', ...args], services).then((exit) => (state.exit = exit))
  return { clock, out, err, state, over }
}

/** Ends the pause of a client that waits for a new connection; false if it has none. */
const endPause = async (clock: VirtualClock): Promise<boolean> => {
  const pause = clock.waiting().find((ms) => PAUSES.has(ms))
  if (pause !== undefined) await clock.advance(pause)
  return pause !== undefined
}

/** A proxy that cuts a connection after a number of bytes of its answers; undefined: never. */
const cuttingProxy = async (t: Test, target: string, budget: () => number | undefined) => {
  const { hostname, port } = new URL(target)
  let cuts = 0
  const server = createServer((client) => {
    const service = connect(Number(port), hostname)
    let left = budget()
    const end = () => {
      client.destroy()
      service.destroy()
    }
    for (const socket of [client, service]) socket.on('error', end).on('close', end)
    client.on('data', (bytes) => service.write(bytes))
    service.on('data', (bytes) => {
      if (left === undefined || bytes.length < left) {
        if (left !== undefined) left -= bytes.length
        return void client.write(bytes)
      }
      cuts++
      client.end(bytes.subarray(0, left), end)
      left = 0
      service.pause()
    })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  t.teardown(() => server.close())
  return { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, cuts: () => cuts }
}

await t.test('events tail prints the last events, or those from a moment on', async (t) => {
  const service = await startService(t)
  const env = { ROLLCALL_ADDRESS: service.url, ROLLCALL_TOKEN: service.token }
  for (let n = 0; n < 6; n++) await flag(service, `f${n}`)
  const tail = (...args: readonly string[]) => rollcall(['events', 'tail', ...args], env)
  const ten = await tail('--format', 'ndjson')
  t.equal(eventsIn(ten.out).length, 10)
  const head = eventsIn(ten.out).at(-1)!
  t.strictSame(indexesIn(ten.out), counting(head.index - 9, indexesIn(ten.out)))
  const text = await tail('-n', '2', '--type', 'FlagCreated')
  t.match(text.out, /^\S+Z {2}initial_bootstrap_token {2}flag default\/f4 created.* {2}#\d+\n.*f5 created.*\n$/)
  t.equal((await tail('-n', '0')).out, '')
  const from = async (moment: string) => indexesIn((await tail('--from', moment, '--format', 'ndjson')).out)[0]
  t.equal(await from(`@${head.index}`), head.index)
  t.equal(await from(`#${head.position}`), head.index)
  t.equal(await from(head.position), head.index)
  t.equal(await from('@0'), 0)
  t.equal(await from('#0'), 0)
  t.ok(eventsIn((await tail('--from', '-1h', '--format', 'ndjson')).out).length > 10)
  t.equal((await tail('--from', 'soon')).exit, 2)
  t.equal((await tail('--from', '@0', '-n', '3')).exit, 2)
  t.match(await tail('--category', 'flags', '-f'), { exit: 1, err: /unknown value "flags"/ })
  t.equal((await rollcall(['events', 'tail', '-f'], { ...env, ROLLCALL_TOKEN: 'nobody' })).exit, 5)
  t.equal((await rollcall(['events', 'tail', '-f'], { ...env, ROLLCALL_ADDRESS: 'http://127.0.0.1:1' })).exit, 7)
})

await t.test('events tail continues after the position in its cursor file', async (t) => {
  const service = await startService(t)
  const env = { ROLLCALL_ADDRESS: service.url, ROLLCALL_TOKEN: service.token }
  const cursor = join(t.testdir(), 'cursor')
  const tail = (...more: readonly string[]) =>
    rollcall(['events', 'tail', '--format', 'ndjson', '--cursor', cursor, ...more], env)
  const found: number[] = []
  for (let round = 0; round < 4; round++) {
    await flag(service, `f${round}`)
    const { out, exit } = await tail('--from', '@0')
    t.equal(exit, 0)
    found.push(...indexesIn(out))
    t.equal(await readFile(cursor, 'utf8'), `${found.at(-1)}\n`)
  }
  t.strictSame(found, counting(0, found))
  await writeFile(cursor, '99999')
  t.match(await tail(), { exit: 1, err: /ends before index 99999/ })
  t.match(await tail('-f'), { exit: 1, err: /Last-Event-ID/ })
  await writeFile(cursor, '\ufeff99999\r\n\r\n')
  t.match(await tail(), { exit: 1, err: /ends before index 99999/ }, 'a file that an editor wrote')
  await writeFile(cursor, 'x')
  t.match(await tail(), { exit: 2, err: /does not contain the index of an event/ })
})

await t.test('events tail prints every event exactly once after 200 broken connections', async (t) => {
  const seed = Number(process.env['ROLLCALL_TEST_SEED'] ?? Date.now() % 1_000_000)
  t.comment(`seed ${seed}: set ROLLCALL_TEST_SEED to repeat`)
  const { below } = randomOf(seed)
  // The client does not depend on the stack.
  const service = await startService(t, { 'storage.type': 'embedded' })
  const reader = await auditor(service)
  let left = 200
  const proxy = await cuttingProxy(t, service.url, () => {
    // A first connection that is cut within the headers, of less than 4,000 bytes, ends the command.
    const bytes = (left === 200 ? 4_000 : 1) + below(6_000)
    return left-- > 0 ? bytes : undefined
  })
  const cursor = join(t.testdir(), 'cursor')
  const options = ['--from', '@0', '--format', 'ndjson', '--cursor', cursor]
  const { clock, out, err, state, over } = following(proxy.address, reader.clientToken, ...options)
  let flags = 0
  await eventually(async () => {
    // A client that pauses needs no new event.
    if (!(await endPause(clock))) await flag(service, `f${flags++}`)
    return proxy.cuts() === 200 || state.exit !== undefined
  }, '200 broken connections')
  await flag(service, 'last')
  await eventually(async () => {
    await endPause(clock)
    return out().includes('"flag default/last created') || state.exit !== undefined
  }, 'the last event')
  await service.request('DELETE', `/auth/v1/tokens/${reader.authentication.id}`)
  await eventually(async () => {
    await endPause(clock)
    return state.exit !== undefined
  }, 'the end with the credential')
  await over
  t.equal(state.exit, 5, err())
  const indexes = indexesIn(out())
  t.strictSame(indexes, counting(0, indexes), `${indexes.length} events, each once and in order`)
  t.equal(await readFile(cursor, 'utf8'), `${indexes.at(-1)}\n`)
})

await t.test('events tail waits longer after each failure, and replaces a connection without data', async (t) => {
  const asked: (string | undefined)[] = []
  const answers: ((response: ServerResponse) => void)[] = [
    (response) => void response.write('retry: 2000\n\nid: 7\n\n: keep-alive\n\nid: 8\ndata: {"summary":"é'),
    (response) => void response.end(),
    (response) => void response.writeHead(503).end('{}'),
    (response) => void response.destroy(),
    (response) => void response.writeHead(429).end('{}'),
    (response) => void response.write('id: 9\ndata: {"index":9}\n\n'),
    (response) => void response.writeHead(403).end('{"message":"permission denied"}'),
  ]
  const server = createHttpServer(({ headers }, response) => {
    asked.push(headers['last-event-id'] as string | undefined)
    answers.shift()!(response)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { clock, out, err, state, over } = following(address, 'x', '--from', '@7', '--format', 'ndjson')
  const rest = async (ms: number) => {
    await eventually(() => clock.waiting().includes(ms), `a rest of ${ms} ms`)
    await clock.advance(ms)
  }
  await eventually(() => asked.length === 1, 'the first connection')
  for (const ms of [45_000, 250, 500, 1_000, 2_000, 4_000]) await rest(ms)
  await eventually(() => out() !== '', 'an event')
  for (const ms of [45_000, 250]) await rest(ms)
  t.equal(await over, 5)
  t.equal(state.exit, 5)
  t.equal(out(), '{"index":9}\n')
  t.match(err(), /permission denied/)
  t.strictSame(asked, [undefined, '7', '7', '7', '7', '7', '9'])
})

await t.test('events tail exits with 130 when it is interrupted', async (t) => {
  const service = await startService(t)
  const { out, over } = following(service.url, service.token, '-n', '1')
  await flag(service, 'f')
  await eventually(() => out().includes('flag default/f created'), 'the event')
  process.emit('SIGINT')
  t.equal(await over, 130)
})
