import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { rollcall, rollcallProcess, standIn } from './service.ts'

const MOST = 67_108_864
/** Bytes that the buffers of a connection can hold behind the last byte that was read. */
const BUFFERED = 33_554_432

/** A server that answers each request with the same bytes again and again, and counts them. */
const endless = async (headers: Readonly<Record<string, string>>, chunk: Buffer) => {
  let sent = 0
  const server = createServer((_, response) => {
    response.writeHead(200, headers).on('error', () => undefined)
    const write = (): void => {
      while (!response.destroyed && sent < 16 * MOST) {
        sent += chunk.length
        if (!response.write(chunk)) return
      }
    }
    response.on('drain', write)
    write()
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, sent: () => sent, close }
}

const env = (address: string) => ({ ROLLCALL_ADDRESS: address, ROLLCALL_TOKEN: 'x' })

await t.test('a command reads a bounded number of bytes of an answer that does not end', async (t) => {
  const verbs: readonly (readonly string[])[] = [
    ['events', 'list'],
    ['flag', 'list'],
    ['checkpoint'],
    ['events', 'tail', '-f', '--from', '@0'],
    ['events', 'export', '-', '--manifest', '/nonexistent/m'],
  ]
  for (const verb of verbs) {
    const server = await endless({ 'history-range': '0-9' }, Buffer.alloc(65_536, 32))
    t.teardown(server.close)
    const { exit, err } = await rollcall(verb, env(server.address))
    t.equal(exit, 1, verb.join(' '))
    t.match(err, /more than (64|16) MiB/, verb.join(' '))
    t.ok(server.sent() <= MOST + BUFFERED, `${verb.join(' ')}: ${server.sent()}`)
    server.close()
  }
})

await t.test('a command reads a bounded number of bytes of a compressed answer', async (t) => {
  const bomb = gzipSync(Buffer.alloc(2 * MOST, 32))
  const server = createServer((_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb))
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  t.teardown(() => server.close())
  const { exit, err } = await rollcall(
    ['token', 'list'],
    env(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
  )
  t.equal(exit, 1)
  t.match(err, /more than 64 MiB/)
})

await t.test('a refusal of any length ends the command', async (t) => {
  const server = createServer((_, response) => {
    response.writeHead(403).on('error', () => undefined)
    const write = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536, 32)));
    }
    response.on('drain', write)
    write()
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  for (const verb of [['events', 'tail', '-f', '--from', '@0'], ['checkpoint'], ['whoami']])
    t.match(await rollcall(verb, env(address)), { exit: 1, err: /more than 64 MiB/ }, verb.join(' '))
})

await t.test('a command that stores a list reads a bounded number of bytes of its pages together', async (t) => {
  let count = 0
  const name = 'n'.repeat(MOST / 2)
  const service = await standIn(() => ({
    body: { authentications: [{ id: String(count), metadata: { name } }], nextPageToken: String(count++) },
  }))
  t.teardown(service.close)
  const { exit, err } = await rollcall(['token', 'list', '--all'], env(service.address))
  t.match({ exit, err }, { exit: 1, err: /more than 512 MiB/ })
  t.equal(service.seen.length, 16)
})

await t.test('a list whose pages repeat a page token ends with an error', async (t) => {
  const verbs: readonly (readonly string[])[] = [
    ['token', 'list', '--all'],
    ['flag', 'list', '--all'],
    ['events', 'list', '--all'],
    ['events', 'list'],
    ['events', 'tail'],
    ['events', 'tail', '--from', '@0'],
    ['access', 'flag.read'],
    ['sessions', 'find', 'a@example.com'],
    ['diff', '#1', '#2', '-n', 'default'],
    ['export', '--all-namespaces'],
    ['export', '-n', 'default'],
  ]
  for (const cycle of [['a'], ['a', 'b', 'c']])
    for (const verb of verbs) {
      let count = 0
      const lists = ['authentications', 'flags', 'segments', 'events', 'entries', 'namespaces', 'items']
      const empty = Object.fromEntries(lists.map((list) => [list, []]))
      const service = await standIn(() => ({ body: { ...empty, nextPageToken: cycle[count++ % cycle.length] } }))
      const { exit, err } = await rollcall(verb, env(service.address))
      service.close()
      t.equal(exit, 1, verb.join(' '))
      t.match(err, /sent a page token twice/, verb.join(' '))
      t.ok(service.seen.length <= 2 * cycle.length + 2, `${verb.join(' ')}: ${service.seen.length}`)
    }
})

await t.test('a command whose work cannot end reports this and exits with 1', async (t) => {
  const never = 'data:text/javascript,globalThis.fetch=()=>new%20Promise(()=>undefined)'
  const { exit, err } = await rollcallProcess(['whoami'], {
    ...env('http://127.0.0.1:1'),
    NODE_OPTIONS: `--import=${never}`,
  })
  t.equal(exit, 1)
  t.match(err, /^error: .*unfinished/)
})
