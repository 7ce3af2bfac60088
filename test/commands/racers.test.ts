import fc from 'fast-check'
import t from 'tap'
import { isRefusal } from '../../src/base/errors.ts'
import { namespace } from '../../src/commands/namespace.ts'
import { segment } from '../../src/commands/segment.ts'
import { token } from '../../src/commands/token.ts'
import { constraint, namespaceCreated, ofSegment, segmentCreated, tokenIssued } from '../samples.ts'
import { stateOf } from '../state-of.ts'
import { context, instance, scheduledLog } from './world.ts'

type Execute = ReturnType<typeof instance>['execute']

/** Runs 20 concurrent tasks. fast-check chooses the order of their log operations. */
const race = async (scheduler: fc.Scheduler, racer: (execute: Execute, n: number) => Promise<unknown>) => {
  const { log, together } = scheduledLog(scheduler)
  const { execute } = instance(log)
  const results = await together(Array.from({ length: 20 }, (_, n) => () => racer(execute, n)))
  return { log, results }
}
const refusedFor = (results: readonly PromiseSettledResult<unknown>[], reason: Parameters<typeof isRefusal>[1]) =>
  results.filter((result) => result.status === 'rejected' && isRefusal(result.reason, reason)).length

await t.test('of 20 concurrent creations of one key 1 succeeds and 19 are refused', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), async (scheduler) => {
      const { log, results } = await race(scheduler, (execute, n) =>
        execute(namespace, 'ns', 'CreateNamespace', { ...namespaceCreated.data, incarnation: `life-${n}` }, context),
      )
      return log.all.length === 1 && refusedFor(results, 'not_unique') === 19
    }),
    { numRuns: 15 },
  )
  t.pass('one namespace each time')
})

await t.test('20 concurrent revocations of a token write one event and all succeed', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), async (scheduler) => {
      const { log, results } = await race(scheduler, async (execute) => {
        await execute(token, 't1', 'IssueToken', tokenIssued.data, { ...context, commandId: 'issue' })
        return execute(token, 't1', 'RevokeToken', { id: 't1' }, context)
      })
      return log.all.length === 2 && results.every(({ status }) => status === 'fulfilled')
    }),
    { numRuns: 15 },
  )
  t.pass('one issue and one revocation each time')
})

await t.test('each of 20 concurrent writers on a stream writes once or gets write_conflict', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), async (scheduler) => {
      const { log, results } = await race(scheduler, async (execute, n) => {
        await execute(segment, 'ns+s', 'CreateSegment', segmentCreated.data, { ...context, commandId: 'create' })
        return execute(
          segment,
          'ns+s',
          'AddConstraint',
          { ...ofSegment, constraint: { ...constraint, id: `c${n}` } },
          context,
        )
      })
      const { constraints } = await stateOf(log, segment, 'ns+s')
      const done = results.filter(({ status }) => status === 'fulfilled').length
      return done > 0 && done + refusedFor(results, 'write_conflict') === 20 && constraints.length === done
    }),
    { numRuns: 15 },
  )
  t.pass('no constraint is lost or doubled')
})
