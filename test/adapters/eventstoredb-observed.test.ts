import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import t from 'tap'
import type { Fact, Tell } from '../stand-ins/eventstoredb/question.ts'
import { append, idempotence, limits } from '../stand-ins/eventstoredb/question-append.ts'
import { subscriptions } from '../stand-ins/eventstoredb/question-follow.ts'
import { positions, reads } from '../stand-ins/eventstoredb/question-read.ts'
import { startEventStore } from '../stand-ins/eventstoredb/server.ts'

/**
 * Answers of EventStoreDB 23.10.6 (one node, insecure, on disk) to @eventstore/db-client 6.2.1, one question per line.
 */
const recorded = readFileSync(
  resolve(import.meta.dirname, '../../../test/stand-ins/eventstoredb/observed.ndjson'),
  'utf8',
)
const facts = recorded
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as Fact)
const observed = new Map(facts.map(({ name, observed }) => [name, observed]))

type Ask = (url: string, tell: Tell) => Promise<void>
const areas: Readonly<Record<string, Ask>> = { append, idempotence, limits, reads, positions, subscriptions }
/** Areas whose answers require an empty store. */
const ofAnEmptyLog = ['subscriptions']

const asked = new Set<string>()
const ask = (who: string, area: string, url: () => Promise<string>) =>
  t.test(`${who} gives the recorded answers to calls about ${area}`, async (t) => {
    await areas[area]!(await url(), (name, answer) => {
      asked.add(name)
      if (!observed.has(name)) t.fail(`${name} was never recorded`)
      t.strictSame(answer, observed.get(name), name)
    })
  })

for (const area of Object.keys(areas)) {
  await ask('the stand-in', area, async () => {
    const server = await startEventStore({ release: '23.10' })
    t.teardown(() => server.kill())
    return server.url
  })
}
t.equal(asked.size, facts.length, 'every recorded question was asked')

const real = process.env['ROLLCALL_TEST_EVENTSTORE_URL']
for (const area of Object.keys(areas))
  if (real !== undefined && !ofAnEmptyLog.includes(area)) await ask('a real server', area, async () => real)
