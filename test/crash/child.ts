import { randomUUID } from 'node:crypto'
import { writeSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { openEmbedded } from '../../src/adapters/embedded/open.ts'
import { eventsSchema } from '../../src/adapters/embedded/schema.ts'
import { openDatabase } from '../../src/adapters/embedded/sqlite.ts'
import { systemClock } from '../../src/base/clock.ts'
import { isRefusal } from '../../src/base/errors.ts'
import type { NewEvent, Stored } from '../../src/events/log.ts'
import { project } from '../../src/projections/projection.ts'
import { tokens } from '../../src/projections/tokens.ts'
import type { Row } from '../../src/projections/views.ts'

/**
 * Process that is killed: many writers append lives of tokens without end. It prints each acknowledged event as `ack
 * <stream> <revision> <id>` and each refusal as `refused`. The second argument is the number of writers, or `unsynced`
 * for the negative control.
 */
const say = (line: string): void => {
  try {
    writeSync(1, `${line}\n`)
  } catch (error) {
    // The pipe is full.
    if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) throw error
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1)
    say(line)
  }
}

const issued = (id: string): NewEvent => ({
  id: randomUUID(),
  type: 'TokenIssued',
  time: new Date().toISOString(),
  data: JSON.stringify({
    attributes: { 'token.name': `n ${id}` },
    digest: id,
    id,
    issuedAt: new Date().toISOString(),
    metadata: {},
    method: 'token',
  }),
  meta: '{}',
})
const revoked = (id: string): NewEvent => ({ ...issued(id), type: 'TokenRevoked', data: JSON.stringify({ id }) })

const durable = async (directory: string, writers: number) => {
  const store = await openEmbedded(directory, {
    clock: systemClock,
    kek: new Uint8Array(32),
    onError: (_, error) => {
      throw error
    },
  })
  const { log, views } = store
  const write = async () => {
    for (;;) {
      const id = randomUUID()
      const stream = `token-${id}`
      let row: Row<ReturnType<typeof JSON.parse>> | undefined
      for (const [n, event] of [issued(id), revoked(id)].entries()) {
        try {
          const { positions, revision, times } = await log.append(stream, [event], n === 0 ? 'none' : BigInt(n - 1))
          say(`ack ${stream} ${revision} ${event.id}`)
          const stored: Stored = { ...event, time: times?.[0] ?? event.time, stream, revision, position: positions[0]! }
          row = project(tokens, row, stored)
          await views.put(tokens, [row])
        } catch (error) {
          if (!isRefusal(error, 'backend_unavailable')) throw error
          say('refused')
          await setImmediate()
        }
      }
    }
  }
  await Promise.all(Array.from({ length: writers }, write))
}

const MOST = 5_000

/** The same store without syncs, which the test must detect. */
const unsynced = async (directory: string) => {
  const database = await openDatabase(join(directory, 'events.sqlite'), 'durable')
  database.exec(`pragma synchronous=off; ${eventsSchema}`)
  const insert = database.prepare('insert into events values (?, ?, 0, ?, ?, ?, ?, ?)')
  for (let position = 1; position <= MOST; position++) {
    const stream = `token-${randomUUID()}`
    const { id, type, time, data, meta } = issued(stream.slice(6))
    insert.run(position, stream, id, type, time, data, meta)
    say(`ack ${stream} 0 ${id}`)
    await setImmediate()
  }
  // Without syncs it could fill the small disk, so now it only waits to be killed.
  setInterval(() => undefined, 2 ** 30)
}

say(`pid ${process.pid}`)
const [directory = '', how = '8'] = process.argv.slice(2)
await (how === 'unsynced' ? unsynced(directory) : durable(directory, Number(how)))
