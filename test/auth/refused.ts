import { inspect } from 'node:util'
import type { Test } from 'tap'
import { type Reason, Refusal, refusals } from '../../src/base/errors.ts'

/** Asserts that the work is refused with this reason and message, and that the refusal contains none of the secrets. */
export const refused = async (
  t: Test,
  work: () => unknown,
  reason: Reason,
  message: string | RegExp = refusals[reason].sentence,
  secrets: readonly string[] = [],
): Promise<Refusal> => {
  let outcome: unknown
  try {
    outcome = await work()
  } catch (error) {
    outcome = error
  }
  if (!(outcome instanceof Refusal)) {
    t.fail(`expected ${reason}, got ${inspect(outcome)}`)
    throw new Error(`expected ${reason}`)
  }
  t.equal(outcome.reason, reason, 'reason', { refusal: inspect(outcome) })
  if (typeof message === 'string') t.equal(outcome.message, message)
  else t.match(outcome.message, message)
  const all = inspect(outcome, { depth: Number.POSITIVE_INFINITY, showHidden: true })
  for (const secret of ['canary', ...secrets]) t.notOk(all.includes(secret), 'no secret in the refusal', { all })
  return outcome
}
