import { randomBytes } from 'node:crypto'
import { copyFile, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { openEmbedded } from '../../../src/adapters/embedded/open.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { tokens } from '../../../src/projections/tokens.ts'
import { newDirectory } from './store.ts'

await t.test('after the store is closed each database file is complete without its write-ahead log', async (t) => {
  const [directory, elsewhere] = [await newDirectory(t), await newDirectory(t)]
  const options = {
    clock: systemClock,
    kek: randomBytes(32),
    onError: (_: string, error: unknown) => t.fail(String(error)),
  }
  const store = await openEmbedded(directory, options)
  for (let n = 0; n < 50; n++) {
    const event = { id: `event-${n}`, type: 'Happened', time: '2026-01-01T00:00:00.000Z', data: '{}', meta: '{}' }
    await store.log.append(`thing-${n}`, [event], 'none')
  }
  const row = { key: 'one', revision: 0n, position: 1n, changes: 1n, doc: { createdAt: '' } }
  await store.views.put(tokens, [row])
  // A read that is in progress at close must not prevent the process from ending.
  for await (const _ of store.log.readAll(0n)) break
  await store.close()
  for (const name of await readdir(directory))
    if (name.endsWith('-wal')) t.equal((await stat(join(directory, name))).size, 0, `${name} is empty`)

  await copyFile(join(directory, 'events.sqlite'), join(elsewhere, 'events.sqlite'))
  const copy = await openEmbedded(elsewhere, options)
  t.teardown(copy.close)
  let found = 0
  for await (const page of copy.log.readAll(0n)) found += page.length
  t.equal(found, 50)
})
