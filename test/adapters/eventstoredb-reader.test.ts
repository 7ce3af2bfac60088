import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { symlink, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client'
import t from 'tap'
import { openEventStore } from '../../src/adapters/eventstoredb/open.ts'
import { systemClock } from '../../src/base/clock.ts'
import { collect, happened } from '../contracts/log.ts'
import { startEventStore } from '../stand-ins/eventstoredb/server.ts'
import { newDirectory } from './embedded/store.ts'

const root = resolve(import.meta.dirname, '../../..')
const guide = readFileSync(join(root, 'docs/guides/consuming.md'), 'utf8')
const program = /^```js\n(.*?)^```$/ms.exec(guide)![1]!

await t.test(
  'the reader of the guide reads the events of EventStoreDB, and continues after the last one',
  async (t) => {
    const server = await startEventStore()
    t.teardown(() => server.kill())
    const log = await openEventStore(server.url, {
      clock: systemClock,
      categories: ['test'],
      onError: (_, error) => t.fail('no error', { error }),
    })
    t.teardown(() => log.close())
    const client = EventStoreDBClient.connectionString(server.url)
    t.teardown(() => client.dispose())
    await log.append(
      'test-1',
      [happened(1), { ...happened(2), data: JSON.stringify({ text: 'ä'.repeat(50_000) }) }],
      'none',
    )
    const credentials = { username: 'admin', password: 'changeit' }
    const link = jsonEvent({ type: 'Linked', data: { to: '0@rollcall.test-1' } })
    for (const other of ['$ce-rollcall.test', 'of-others']) await client.appendToStream(other, [link], { credentials })
    await log.append('test-2', [{ ...happened(3), data: '{"exact": "with a space"}' }], 'none')

    const folder = await newDirectory(t)
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
    const file = join(folder, 'reader.mjs')
    await writeFile(file, program)
    const expected = (await collect(log.readAll(0n))).map(({ position, stream, revision, type, time, data }) => ({
      position: String(position),
      stream,
      revision: Number(revision),
      type,
      time,
      data: JSON.parse(data) as object,
    }))
    /** The first lines of the program. */
    const printed = async (count: number, ...more: readonly string[]) => {
      const child = spawn(process.execPath, [file, server.url, ...more], { stdio: ['ignore', 'pipe', 'inherit'] })
      const ended = once(child, 'close')
      const lines: unknown[] = []
      for await (const line of createInterface(child.stdout)) {
        lines.push(JSON.parse(line))
        if (lines.length === count) break
      }
      child.kill('SIGKILL')
      await ended
      return lines
    }
    t.equal(expected.length, 3)
    t.strictSame(await printed(3), expected)
    t.strictSame(await printed(2, expected[0]!.position), expected.slice(1))
  },
)
