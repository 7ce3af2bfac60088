import t from 'tap'
import { refusal } from '../../src/commands/deployment.ts'
import { given } from '../given.ts'

const history = given(refusal)
const told = (requestId: string) =>
  ({
    type: 'AuthenticationRefused',
    data: {
      reason: 'token_scoped',
      refusedAt: '2026-01-01T00:00:30.000Z',
      route: '/auth/v1/self',
      requestId,
      more: 0,
      tokenId: 't1',
    },
  }) as const
const span = { from: '2026-01-01T00:00:00.000Z', to: '2026-01-01T00:01:00.000Z', total: 2 }
const summarised = {
  type: 'RefusalsSummarised',
  data: {
    ...span,
    byReason: { token_scoped: 2 },
    byRoute: { '/auth/v1/self': 2 },
    subject: 'network-2026-01-01',
    networks: '{"192.0.2.1":2}',
  },
} as const
const begun = { type: 'LoginsBegun', data: { ...span, byWay: { codehost: 1, 'oidc/google': 1 } } } as const

await t.test('a batch of refusals is recorded in order, with the counts last', async () => {
  history()
    .when('RecordRefusals', {
      refusals: [told('r1').data, told('r2').data],
      summary: summarised.data,
      begun: begun.data,
    })
    .then(told('r1'), told('r2'), summarised, begun)
})

await t.test('each part of a batch of refusals is optional, and an empty batch writes no event', async () => {
  history()
    .when('RecordRefusals', { refusals: [told('r1').data] })
    .then(told('r1'))
  history().when('RecordRefusals', { refusals: [], summary: summarised.data }).then(summarised)
  history().when('RecordRefusals', { refusals: [], begun: begun.data }).then(begun)
  history().when('RecordRefusals', { refusals: [] }).then()
})

await t.test('a batch of refusals is recorded once, also if it is repeated', async (t) => {
  for (const first of [told('r1'), summarised, begun]) {
    history(first)
      .when('RecordRefusals', { refusals: [told('r2').data], summary: summarised.data, begun: begun.data })
      .then()
    t.ok(refusal.exists(history(first).state, { refusals: [] }))
  }
  t.notOk(refusal.exists(history().state, { refusals: [] }))
})
