import t from 'tap'
import type { NewEvent } from '../../src/events/log.ts'
import { type LogTap, tappedLog } from '../../src/events/log.ts'
import { memoryLog } from '../memory-log.ts'

const event: NewEvent = { id: 'one', type: 'Happened', time: '2026-01-01T00:00:00.000Z', data: '{}', meta: '{}' }

/** A tap that records its calls under a name. */
const recording = (name: string, calls: string[]): LogTap => ({
  onAppend: (events) => void calls.push(`${name} appended ${events.length}`),
  onPage: (page) => void calls.push(`${name} followed ${page.length}`),
  aroundAppend: async (append) => {
    calls.push(`${name} before`)
    const appended = await append()
    calls.push(`${name} after`)
    return appended
  },
})

await t.test('observers of the event log receive appends and pages in the order of the log', async (t) => {
  const calls: string[] = []
  const log = tappedLog(memoryLog(), [recording('a', calls), recording('b', calls)])
  await log.append('s-1', [event], 'none')
  t.strictSame(calls.splice(0), ['b before', 'a before', 'a appended 1', 'b appended 1', 'a after', 'b after'])
  const stop = new AbortController()
  for await (const page of log.follow(0n, stop.signal)) {
    t.strictSame(calls.splice(0), ['a followed 1', 'b followed 1'], 'before the follower gets the page')
    t.equal(page[0]!.id, 'one')
    stop.abort()
  }
})

await t.test('an observer that refuses an append keeps it out of the log and from other observers', async (t) => {
  const calls: string[] = []
  const inner = memoryLog()
  const refusing: LogTap = { aroundAppend: async () => Promise.reject(new Error('refused')) }
  const log = tappedLog(inner, [recording('a', calls), refusing])
  await t.rejects(log.append('s-1', [event], 'none'), { message: 'refused' })
  t.strictSame([calls, await inner.head()], [[], 0n])
})

await t.test('an append that fails is reported to no observer', async (t) => {
  const calls: string[] = []
  const log = tappedLog(memoryLog(), [{ onAppend: () => void calls.push('appended') }])
  await t.rejects(log.append('s-1', [event], 7n))
  t.strictSame(calls, [])
})
