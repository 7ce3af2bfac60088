import { PassThrough } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { receiveBody } from '../../src/http/wire/body.ts'

/** Receives bodies of this size, all of which end in the same turn of the event loop. Returns the number received. */
const receiving = (count: number, size: number) => {
  const text = JSON.stringify({ text: 'a'.repeat(size - 11) })
  const room = { takeNow: () => ({ free: () => undefined, resize: () => true }), refusal: () => new Error('busy') }
  let received = 0
  for (let n = 0; n < count; n++) {
    const headers = { 'content-length': String(text.length) }
    const raw = Object.assign(new PassThrough(), { headers, socket: new PassThrough() })
    const request = {
      raw,
      headers: raw.headers,
      server: { budgets: { bodies: room } },
      caller: { actor: { kind: 'anonymous' } },
      address: 'a',
    }
    const reply = { raw: new PassThrough() }
    receiveBody({ request, reply } as never, 1_048_576, true, (body) => {
      if (!('text' in body)) throw new Error('the body was refused')
      received++
    })
    raw.emit('data', Buffer.from(text))
  }
  return () => received
}

await t.test('large bodies that end at the same time are parsed one by one, small ones at once', async (t) => {
  t.equal(receiving(10, 1_000)(), 10)
  const received = receiving(10, 100_000)
  t.equal(received(), 0)
  for (let before = 0; before < 10; before = received()) {
    await setImmediate()
    t.ok(received() - before <= 1, 'at most one in a turn')
  }
})
