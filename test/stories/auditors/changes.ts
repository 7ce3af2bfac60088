import { readFileSync } from 'node:fs'
import type { Test } from 'tap'
import type { HistoryEvents } from '../../../src/contract/history/events.ts'
import type { Manifest } from '../../../src/verifier/export/manifest.ts'
import { type Audited, eventLines } from './answers.ts'

/** Asks Q10 to Q14: operation, changes and past states. */
export const askAboutChanges = async (t: Test, { answer, service, file }: Audited): Promise<void> => {
  await t.test('Q10: starts and stops are shown, with the configuration', async (t) => {
    const [operation] = await answer('Q10')
    for (const pattern of [
      /started with version[^]*stopped, cause[^]*started with version/,
      /ledger \S+ started/,
      /access/,
    ])
      t.match(operation, pattern)
  })

  await t.test('Q11: changes of production flags have actor, time, values and reason', async (t) => {
    const [changes] = await answer('Q11')
    const { events } = JSON.parse(changes!) as HistoryEvents
    const change = events.find(({ reason }) => reason === 'CHG-2 launch')
    t.match(change, {
      actor: { kind: 'token', name: 'ci' },
      time: /^\d{4}-/,
      changes: [{ path: '/enabled', from: false, to: true }],
    })
    t.ok(events.every(({ category, namespace }) => /^(flag|segment)$/.test(category) && namespace === 'prod'))
  })

  await t.test('Q12: each line of a sample has the ticket of its change', async (t) => {
    const [, sample] = await answer('Q12')
    const manifest = JSON.parse(readFileSync(file('changes.ndjson.manifest.json'), 'utf8')) as Manifest
    t.equal(manifest.events, eventLines(readFileSync(file('changes.ndjson'), 'utf8')).length)
    t.strictSame(
      eventLines(sample!).map(({ meta }) => meta['reason']),
      ['CHG-1', 'CHG-2 launch'],
    )
  })

  await t.test('Q13: the past answer of a flag differs from the present one', async (t) => {
    const [past] = await answer('Q13')
    t.match(JSON.parse(past!), { enabled: false, flagKey: 'checkout', trace: [{ kind: /./ }] })
    const body = { namespaceKey: 'prod', flagKey: 'checkout', entityId: 'customer-1' }
    t.match((await service.request('POST', '/evaluate/v1/boolean', body)).json, { enabled: true })
  })

  await t.test('Q14: the past state of a flag is shown, and the differences since then', async (t) => {
    const [state, differences] = await answer('Q14', { exit: 3 })
    t.match(state, /STREAM +flag-prod\+checkout[^]*"enabled":false/)
    t.match(differences, /^flag-prod\+checkout +changed +.*\/enabled: false -> true$/m)
    t.match(differences, /^segment-prod\+staff +added/m)
  })
}
