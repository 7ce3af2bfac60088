import t from 'tap'
import { Refusal } from '../src/errors.ts'

await t.test('a refusal by a fault has a stack trace, and a refusal by a client error has none', (t) => {
  const { stackTraceLimit } = Error
  t.equal(new Refusal('not_found', 'no such flag').stack, 'Error: no such flag')
  t.match(new Refusal('backend_unavailable').stack, /\n +at .*errors\.test/)
  t.equal(Error.stackTraceLimit, stackTraceLimit)
  t.end()
})
