import t from 'tap'
import { Refusal } from '../../src/base/errors.ts'

await t.test('a refusal because of a fault has a stack trace, and one because of a client has none', (t) => {
  const { stackTraceLimit } = Error
  t.equal(new Refusal('not_found', 'no such flag').stack, 'Error: no such flag')
  t.match(new Refusal('backend_unavailable').stack, /\n +at .*errors\.test/)
  t.equal(Error.stackTraceLimit, stackTraceLimit)
  t.end()
})
