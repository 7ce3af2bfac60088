import * as fc from 'fast-check'
import t from 'tap'
import { Refusal } from '../../src/base/errors.ts'
import { atOf } from '../../src/contract/readers/moment.ts'
import { addressKey } from '../../src/http/memory/address-key.ts'
import {
  afterPosition,
  eventReason,
  idempotencyKey,
  ifMatch,
  preconditions,
} from '../../src/http/steps/preconditions.ts'
import { tagged } from '../../src/http/wire/headers.ts'
import { demo, exchange, problemOf } from './demo.ts'
import { A, get } from './requests.ts'

const said = (read: () => unknown): unknown => {
  try {
    return read()
  } catch (error) {
    if (error instanceof Refusal) return error.reason
    throw error
  }
}

void t.test('an Idempotency-Key has 1 to 255 printable ASCII characters', (t) => {
  const read = (key?: string) => said(() => idempotencyKey(key === undefined ? {} : { 'idempotency-key': key }))
  t.equal(read(), undefined)
  t.equal(read('a!~'), 'a!~')
  t.equal(read('x'.repeat(255)), 'x'.repeat(255))
  for (const bad of ['', 'a b', 'x'.repeat(256), 'é']) t.equal(read(bad), 'invalid_header', bad)
  t.end()
})

void t.test('the header If-Match is a list of tags, each quoted, weak or bare, or a star', (t) => {
  const read = (text?: string) => said(() => ifMatch(text === undefined ? {} : { 'if-match': text }))
  t.equal(read(), undefined)
  t.equal(read(' * '), '*')
  t.same(read('"7"'), ['7'])
  t.same(read('W/"7", 8 ,"9"'), ['7', '8', '9'])
  for (const bad of ['', ',', '"7', 'a b', '"a"b"', 'W/"', 'W/', 'W/7', '"7", W/'])
    t.equal(read(bad), 'invalid_header', bad)
  t.end()
})

void t.test('the header If-None-Match may have its tag in any form and anywhere in the list', (t) => {
  for (const list of ['"7"', 'W/"7"', '7', '"1","2", W/"7","7"', '*']) t.ok(tagged(list, '7'), list)
  for (const list of ['', '"77"', '"W/7"', '1,2']) t.notOk(tagged(list, '7'), list)
  const entries = (list: string) =>
    list.split(',').map((entry) =>
      entry
        .trim()
        .replace(/^W\//, '')
        .replace(/^"(.*)"$/, '$1'),
    )
  const lists = fc.string({ unit: fc.constantFrom('7', '"', 'W/', ',', ' ', '8'), maxLength: 12 })
  fc.assert(fc.property(lists, (list) => tagged(list, '7') === entries(list).includes('7')))
  t.end()
})

void t.test('After-Position is a decimal unsigned 64-bit number', (t) => {
  const read = (text: string) => said(() => afterPosition({ 'after-position': text }))
  t.equal(
    said(() => afterPosition({})),
    undefined,
  )
  t.equal(read('0'), 0n)
  t.equal(read('18446744073709551615'), 18446744073709551615n)
  for (const bad of ['', '-1', '1.0', '0x1', '18446744073709551616', '9'.repeat(40)])
    t.equal(read(bad), 'invalid_header', bad)
  t.end()
})

void t.test('the parameter "at" is a time or a position', (t) => {
  t.equal(atOf(undefined), undefined)
  t.equal(atOf(''), undefined)
  t.same(atOf('42'), { position: 42n })
  t.same(atOf('2024-01-01T01:00:00+01:00'), { instant: '2024-01-01T00:00:00.000Z' })
  for (const bad of ['yesterday', '-1', '2024-01-01T01:00:00 01:00'])
    t.equal(
      said(() => atOf(bad)),
      'invalid_at',
      bad,
    )
  t.end()
})

void t.test('Event-Reason has at most 500 characters of UTF-8 and no control characters', (t) => {
  const read = (text: string) =>
    said(() => eventReason({ 'event-reason': Buffer.from(text, 'utf8').toString('latin1') }))
  t.equal(
    said(() => eventReason({})),
    undefined,
  )
  t.equal(read(' rotate ü😀 '), 'rotate ü😀')
  t.equal(read('😀'.repeat(500)), '😀'.repeat(500))
  t.equal(read('x'.repeat(501)), 'invalid_header')
  t.equal(read('a\tb'), 'invalid_header')
  t.equal(
    said(() => eventReason({ 'event-reason': '\xff' })),
    'invalid_header',
  )
  t.end()
})

void t.test('rate limits count each IPv4 address and each IPv6 /64 network', (t) => {
  t.equal(addressKey('10.0.0.1'), '10.0.0.1')
  t.equal(addressKey('::ffff:10.0.0.1'), '10.0.0.1')
  t.equal(addressKey('2001:db8:1:2:3:4:5:6'), '2001:db8:1:2::/64')
  t.equal(addressKey('2001:0db8:0001:0002::1'), '2001:db8:1:2::/64')
  t.equal(addressKey('2001:db8::1'), '2001:db8:0:0::/64')
  t.equal(addressKey('::1'), '0:0:0:0::/64')
  t.equal(addressKey('64:ff9b::10.0.0.1'), '64:ff9b:0:0::/64')
  t.equal(addressKey('2001:db8:1:2:3:4:10.0.0.1'), '2001:db8:1:2::/64')
  t.equal(addressKey('2001:db8:1::2:3:10.0.0.1'), '2001:db8:1:0::/64')
  t.equal(addressKey('fe80::1%eth0'), 'fe80:0:0:0::/64')
  t.end()
})

void t.test('a read with After-Position waits two seconds for the position', async (t) => {
  const asked: (readonly [position: bigint, withinMs: number])[] = []
  let reached = true
  const seen = (position: bigint, withinMs: number) => {
    asked.push([position, withinMs])
    return Promise.resolve(reached)
  }
  const service = { alone: false, seen } as unknown as Parameters<typeof preconditions>[0]
  const { app, port } = await demo(preconditions(service))
  t.teardown(() => app.close())
  const read = () => exchange(port, get('/api/v1/namespaces/a/flags', `${A}After-Position: 7\r\n`))
  t.equal((await read()).status, 200)
  reached = false
  const late = await read()
  t.match([late.status, late.headers.get('retry-after')], [503, '1'])
  t.match(problemOf(late), { reason: 'view_behind', message: 'view is behind position 7' })
  t.strictSame(asked, [
    [7n, 2_000],
    [7n, 2_000],
  ])
})
