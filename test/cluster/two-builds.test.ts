import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { eventually } from '../wait.ts'
import { becomes, EARLIEST, earlier, isOfReach, issue, known, present, type Serving, serve } from './builds.ts'
import { startStack } from './stack.ts'

/** This build and an earlier one on the same store, together and one after another. */
const F = '/api/v1/namespaces/default/flags'
const { main, skip } = await earlier(t, EARLIEST)

type Kept = { readonly live: Map<string, string>; readonly ended: Map<string, string>; readonly flags: string[] }

/** Writes all kinds of data on an instance and records what is acknowledged. */
const write = async (t: Test, service: Serving, kept: Kept, name: string) => {
  for (let n = 0; n < 3; n++) {
    const { token, id } = await issue(service, name)
    kept.live.set(token, id)
  }
  const over = await issue(service, name)
  t.equal((await known(() => service.request('DELETE', `/auth/v1/tokens/${over.id}`))).status, 200)
  kept.ended.set(over.token, over.id)
  const flag = { key: name, name, type: 'BOOLEAN_FLAG_TYPE', enabled: false }
  t.equal((await known(() => service.request('POST', F, flag))).status, 200)
  const rollout = { rank: 1, threshold: { percentage: 100, value: true } }
  t.equal((await known(() => service.request('POST', `${F}/${name}/rollouts`, rollout))).status, 200)
  kept.flags.push(name)
}

/** Revokes a token that another instance created. */
const revokeOne = async (t: Test, service: Serving, kept: Kept) => {
  const [token, id] = [...kept.live][0]!
  t.equal((await known(() => service.request('DELETE', `/auth/v1/tokens/${id}`))).status, 200)
  kept.live.delete(token)
  kept.ended.set(token, id)
}

/** Expects all acknowledged data, and no closed document. */
const honours = async (t: Test, service: Serving, kept: Kept, who: string) => {
  const all = (tokens: Iterable<string>, wanted: number) =>
    Promise.all([...tokens].map((token) => becomes(service, token, wanted)))
  t.notOk((await all(kept.live.keys(), 200)).includes(false), `${who}: tokens are honoured`)
  t.notOk((await all(kept.ended.keys(), 401)).includes(false), `${who}: revocations are honoured`)
  for (const flagKey of kept.flags) {
    const ask = () => service.request('POST', '/evaluate/v1/boolean', { flagKey, entityId: 'e' })
    t.match((await known(ask)).json, { enabled: true }, `${who}: flag ${flagKey}`)
  }
  await eventually(async () => (await service.request('GET', '/readyz')).status === 200, 'a service that is ready')
  const { json } = await known(() => service.request('GET', F))
  t.equal(json['totalCount'], kept.flags.length, `${who}: the list of flags`)
  const tokens = await known(() => service.request('GET', '/auth/v1/tokens'))
  t.equal(tokens.json['totalCount'], kept.live.size + 1, `${who}: the list of tokens, with the bootstrap token`)
  const { text } = await service.request('GET', '/metrics')
  t.notMatch(text, /^rollcall_events_unreadable\{.*\} [1-9]/m, `${who}: no document is closed`)
}
const inOrder = async (t: Test, service: Serving, who: string) => {
  t.equal(await service.end(), 0, `${who} ends in order`)
  t.same(
    service.told('ERROR').filter(({ msg }) => !isOfReach(msg)),
    [],
    `${who} has nothing to tell the operator`,
  )
}
const nothing = (): Kept => ({ live: new Map(), ended: new Map(), flags: [] })

await t.test(
  'two versions of the service run on the same servers during an update and its reversal',
  { skip },
  async (t) => {
    const { stack, skip: without } = await startStack(t)
    if (!stack) return void t.pass('needs servers', { skip: without })
    const kept = nothing()
    const old = await serve(t, main!, stack.settings)
    await write(t, old, kept, 'old')
    const fresh = await serve(t, present, stack.settings)
    await honours(t, fresh, kept, 'the present build, beside')
    const granted = await known(() =>
      fresh.request('POST', '/auth/v1/method/token', { name: 'granted', role: 'viewer' }),
    )
    t.match(
      granted,
      { status: 503, text: /"release_in_progress"/ },
      'no instance accepts a token with grants as one without',
    )
    await write(t, fresh, kept, 'fresh')
    await revokeOne(t, fresh, kept)
    await honours(t, old, kept, 'the earlier build, beside')
    await write(t, old, kept, 'old-again')
    await revokeOne(t, old, kept)
    await honours(t, fresh, kept, 'the present build, beside')

    await inOrder(t, old, 'the earlier build')
    await write(t, fresh, kept, 'updated')

    const back = await serve(t, main!, stack.settings)
    await honours(t, back, kept, 'the earlier build, back')
    await inOrder(t, fresh, 'the present build')
    await write(t, back, kept, 'back')
    await honours(t, back, kept, 'the earlier build, alone again')
    const forth = await serve(t, present, stack.settings)
    await honours(t, forth, kept, 'the present build, in the end')
    await inOrder(t, back, 'the earlier build')
    await inOrder(t, forth, 'the present build')
  },
)

await t.test('two versions of the service run one after the other on the same directory', { skip }, async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'rollcall-test-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  const kept = nothing()
  for (const [n, build] of [present, main!, present].entries()) {
    const who = `${build === present ? 'the present' : 'the earlier'} build, number ${n}`
    const service = await serve(t, build, { 'storage.data_dir': join(directory, 'data') })
    await honours(t, service, kept, who)
    await write(t, service, kept, `f${n}`)
    if (n > 0) await revokeOne(t, service, kept)
    await honours(t, service, kept, who)
    await inOrder(t, service, who)
  }
})
