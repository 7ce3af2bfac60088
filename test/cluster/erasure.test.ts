import t from 'tap'
import type { HistoryEvents } from '../../src/contract/history/events.ts'
import type { SubjectErased } from '../../src/contract/history/searches.ts'
import type { Started } from '../start.ts'
import { issue, known, startTwo } from './revoking.ts'
import { startStack } from './stack.ts'

await t.test('an erasure takes effect on an instance that has the key in its cache', async (t) => {
  const { stack, skip } = await startStack(t)
  if (!stack) return t.pass('needs servers', { skip })
  const { a, b, clocks } = await startTwo(t, stack)
  const { id, bearer } = await issue(a)
  const agent = { ...bearer, 'user-agent': 'canary-agent' }
  const made = await known(() => a.request('POST', '/auth/v1/method/token', { name: 'made' }, agent))
  const subject = `token-${id}`
  /** Status of the user agent on an instance, once it has the event at this position. */
  const statusOn = async (service: Started, position = '0') => {
    const path = `/audit/v1/events?personal=open&type=TokenIssued&subject=${subject}`
    const { json } = await known(() =>
      service.request<HistoryEvents>('GET', path, undefined, { 'after-position': position }),
    )
    return json.events[0]?.personal?.['/meta/userAgent']?.status
  }
  t.equal(await statusOn(b, String(made.headers['event-position'])), 'open')
  t.equal(await statusOn(a), 'open')
  const since = clocks.b.monotonic()
  const body = { subject, reason: 'r' }
  const erased = await known(() => a.request<SubjectErased>('POST', '/audit/v1/subjects/erase', body))
  t.match(erased, { status: 200, json: { keys: [subject] } })
  t.equal(await statusOn(a), 'erased')
  t.equal(await statusOn(b, erased.json.position), 'erased', 'as soon as the instance has the event')
  t.ok(clocks.b.monotonic() - since < 1_000, 'before the key in the cache is too old')
  return undefined
})
