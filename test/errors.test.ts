import t from 'tap'
import { Refusal } from '../src/errors.ts'

await t.test('a refusal of a client error has no stack trace, one of a fault has', (t) => {
  const { stackTraceLimit } = Error
  t.equal(new Refusal('not_found', 'no such flag').stack, 'Error: no such flag')
  t.match(new Refusal('backend_unavailable').stack, /\n +at .*errors\.test/)
  t.equal(Error.stackTraceLimit, stackTraceLimit)
  t.end()
})
