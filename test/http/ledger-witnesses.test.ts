import type { ServerResponse } from 'node:http'
import t from 'tap'
import { newSigningKey } from '../../src/ledger/ledger-store.ts'
import { publicKeyOf } from '../../src/verifier/note/signatures.ts'
import { parseVkey } from '../../src/verifier/note/vkey.ts'
import { type WitnessAnswer, type WitnessRequest, witness } from '../stand-ins/witness.ts'
import { serveWitness } from '../stand-ins/witness-server.ts'
import { startService } from '../start.ts'
import { virtualClock } from '../virtual-clock.ts'
import { eventually } from '../wait.ts'
import { walking } from '../walking-clock.ts'

type State = {
  readonly vkey: string
  readonly size: number
  readonly at?: string
  readonly error?: string
  readonly conflict?: string
}
type Status = {
  readonly state: string
  readonly origin: string
  readonly keys: readonly { readonly vkey: string }[]
  readonly witnesses: readonly State[]
}
type Checkpoint = { readonly size: number; readonly text: string }
type Handler = (request: WitnessRequest, response: ServerResponse) => WitnessAnswer | undefined

const LEDGER = '/audit/v1/ledger'

await t.test('witnesses on loopback sign checkpoints, and unusable ones delay nothing', async (t) => {
  const clock = virtualClock(new Date().toISOString())
  const good = witness('good.example', newSigningKey(), clock.now)
  const bad = witness('bad.example', newSigningKey(), clock.now)
  const step: { handle: Handler } = { handle: bad.handle }
  const goodUrl = await serveWitness(t, good.handle)
  const badUrl = await serveWitness(t, (request, response) => step.handle(request, response))
  const list = [
    { url: `${goodUrl}/`, vkey: good.vkey },
    { url: badUrl, vkey: bad.vkey, monitor: badUrl },
  ]
  const service = await startService(t, { 'history.ledger.witnesses': JSON.stringify(list) }, { clock })
  const status = async () => (await service.request<Status>('GET', LEDGER)).json
  const { origin, keys } = await status()
  for (const each of [good, bad]) each.trusted.set(origin, publicKeyOf(parseVkey(keys[0]!.vkey)!))

  let events = 0
  /** Seals a further event on request. */
  const seal = async (): Promise<Checkpoint> => {
    await service.request('POST', '/api/v1/namespaces', { key: `n${events++}`, name: 'n' })
    const asked = () => service.request<Checkpoint>('POST', `${LEDGER}/checkpoint`)
    return (await walking([clock], asked)).json
  }
  /** State of a witness after its submission of a size. */
  const after = (n: number, has: (state: State) => unknown) =>
    walking([clock], () =>
      eventually(async () => {
        const state = (await status()).witnesses[n]!
        return has(state) && state
      }, `an outcome of witness ${n}`),
    )
  const served = async () => (await service.request('GET', `${LEDGER}/checkpoint`)).text
  /** The served checkpoint once it has a signature of each name. On servers its state may be read a moment earlier. */
  const servedWith = (...names: readonly string[]) =>
    walking([clock], () =>
      eventually(
        async () => {
          const text = await served()
          return names.every((name) => text.split(`\n— ${name} `).length === 2) && text
        },
        `one signature each of ${names.join(', ')}`,
      ),
    )

  const first = await seal()
  t.match(await after(0, ({ size }) => size === first.size), { vkey: good.vkey, at: /Z$/, error: undefined })
  await after(1, ({ size }) => size === first.size)
  t.ok((await servedWith(origin, good.name, bad.name)).startsWith(first.text))

  const silent = new Set<ServerResponse>()
  const failures: readonly (readonly [Handler, RegExp])[] = [
    [
      ({ path }, response) => void response.writeHead(307, { location: `${goodUrl}${path}` }).end(),
      /^the answer has status 307$/,
    ],
    [(_, response) => void response.writeHead(200).end(Buffer.alloc(4_000_000, 'a')), /^answer larger than 16 KiB$/],
    [(_, response) => void response.destroy(), /^unreachable: ECONNRESET$/],
    [(_, response) => void silent.add(response), /^no answer within 5 s$/],
    [
      () => ({ status: 503, contentType: 'text/plain', text: 'a secret of the witness' }),
      /^the answer has status 503$/,
    ],
  ]
  for (const [handle, why] of failures) {
    step.handle = handle
    const sealed = await seal()
    await after(0, ({ size }) => size === sealed.size)
    const failed = await eventually(async () => {
      if (silent.size > 0) await clock.advance(5_000)
      const state = (await status()).witnesses[1]!
      return state.error !== undefined && why.test(state.error) && state
    }, String(why))
    t.match(failed, { size: first.size, conflict: undefined })
    t.notMatch(await servedWith(good.name), `\n— ${bad.name} `)
  }
  t.equal((await status()).state, 'ok')
  const page = await service.metrics()
  const host = new URL(badUrl).host
  const counted = (result: string) => {
    const series = `rollcall_ledger_witness_total{witness="${host}",result="${result}"} `
    return Number(page.slice(page.indexOf(series) + series.length).split('\n', 1)[0])
  }
  // The first seal may come before the witness trusts the key.
  t.ok(counted('error') >= failures.length)
  t.ok(counted('ok') >= 1)
  t.strictSame([counted('conflict'), counted('diverged')], [0, 0])
  const lines = await service.logged()
  t.match(lines, 'the witness did not sign the checkpoint')
  t.notMatch(lines, 'a secret of the witness')

  // A silent witness does not delay the shutdown, and the next start continues from the kept signatures.
  step.handle = (_, response) => void silent.add(response)
  const before = silent.size
  const sealed = await seal()
  await eventually(() => silent.size > before, 'a silent request')
  await after(0, ({ size }) => size === sealed.size)
  good.requests.length = 0
  await service.reopen(async () => void (step.handle = bad.handle))
  const last = await seal()
  await after(0, ({ size }) => size === last.size)
  await after(1, ({ size }) => size === last.size)
  t.ok(good.requests.every(({ body }) => !body.startsWith('old 0\n')))
  t.ok((await servedWith(origin, good.name, bad.name)).startsWith(last.text))
})
