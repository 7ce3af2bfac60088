import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { BSON } from 'mongodb'
import t from 'tap'
import { startStack } from '../../cluster/stack.ts'
import { isLate } from '../../late-servers.ts'
import { type Started, startService } from '../../start.ts'
import { virtualClock } from '../../virtual-clock.ts'
import { eventually } from '../../wait.ts'

/**
 * Commands covered by the actions of `readWrite`: find, insert, update, remove, createCollection, createIndex,
 * dropCollection, dropIndex, listCollections, listIndexes, collStats.
 */
const COVERED = new Set(
  (
    'find getMore killCursors aggregate count distinct insert update delete findAndModify ' +
    'create createIndexes drop dropIndexes listCollections listIndexes collStats'
  ).split(' '),
)
/** Commands allowed to every connected client. */
const ANYBODY = new Set(['hello', 'ismaster', 'ping', 'endSessions', 'buildInfo'])
const [HEAD, MESSAGE] = [16, 2013]

/**
 * Commands and their databases in the bytes of a client: a header with the length, flags, and a section with a
 * document.
 */
const commandsOf = (tell: (name: string, database: string) => void) => {
  let rest = Buffer.alloc(0)
  return (bytes: Buffer) => {
    rest = Buffer.concat([rest, bytes])
    while (rest.length >= HEAD && rest.length >= rest.readInt32LE(0)) {
      const length = rest.readInt32LE(0)
      if (rest.readInt32LE(12) === MESSAGE && rest[HEAD + 4] === 0) {
        const start = HEAD + 5
        const document = BSON.deserialize(rest.subarray(start, start + rest.readInt32LE(start)))
        tell(Object.keys(document)[0]!, String(document['$db']))
      }
      rest = rest.subarray(length)
    }
  }
}

const { stack, skip } = await startStack(t)

await t.test('a MongoDB user with readWrite on one database has sufficient rights', { skip }, async (t) => {
  const asked = new Map<string, Set<string>>()
  const target = Number(new URL(stack!.settings['mongodb.url']!).port)
  const sockets = new Set<Socket>()
  const tap = createServer((near) => {
    const far = connect(target, '127.0.0.1')
    for (const socket of [near, far]) sockets.add(socket)
    near.on(
      'data',
      commandsOf((name, database) => asked.set(name, (asked.get(name) ?? new Set()).add(database))),
    )
    near.pipe(far).pipe(near)
    for (const socket of [near, far]) socket.on('error', () => [near, far].forEach((each) => each.destroy()))
  })
  await new Promise<void>((listening) => tap.listen(0, '127.0.0.1', listening))
  t.teardown(() => {
    tap.close()
    for (const socket of sockets) socket.destroy()
  })
  const url = `mongodb://127.0.0.1:${(tap.address() as AddressInfo).port}`
  const settings = { ...stack!.settings, 'mongodb.url': url }
  const service = await startService(t, settings, { clock: virtualClock(new Date().toISOString()) })
  const request: Started['request'] = (...given) =>
    eventually(async () => {
      const answer = await service.request<never>(...given)
      return !isLate(answer) && answer
    }, 'an answer of servers that are in time')
  const created = await request<{ readonly authentication: { readonly id: string } }>(
    'POST',
    '/auth/v1/method/token',
    { name: 'n' },
    { 'idempotency-key': 'one' },
  )
  t.equal(created.status, 200)
  t.equal(
    (await request('POST', '/api/v1/namespaces/default/flags', { key: 'f', name: 'F' }, { 'idempotency-key': 'two' }))
      .status,
    200,
  )
  t.equal((await request('GET', '/auth/v1/tokens')).status, 200)
  const deleted = await request('DELETE', `/auth/v1/tokens/${created.json.authentication.id}`)
  t.ok([200, 404].includes(deleted.status), 'a refused deletion may have had its effect')
  await service.reopen()
  t.equal((await request('GET', '/auth/v1/tokens')).status, 200)
  await service.close()
  for (const name of ['find', 'insert', 'update', 'createIndexes']) t.ok(asked.has(name), `${name} was seen`)
  for (const [name, databases] of asked) {
    if (ANYBODY.has(name)) continue
    t.ok(COVERED.has(name), `${name} is covered`)
    t.strictSame([...databases], [stack!.settings['mongodb.database']!], `${name} asks its own database alone`)
  }
})
