import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { eventually } from '../wait.ts'
import { of, ran, type Served, serve, spoil } from './own-process.ts'

/** A running service that finds damaged read models rebuilds them while other requests work. */
const TOKENS = '/auth/v1/tokens?pageSize=1'
const copied = await ran(t)

const isSetAside = (line: Readonly<Record<string, unknown>>) =>
  String(line['msg']).startsWith('damaged read models were set aside')
const isWhole = (line: Readonly<Record<string, unknown>>) =>
  String(line['msg']).startsWith('the read models are complete again')
const told = (service: Served) => [service.lines().filter(isSetAside).length, service.lines().filter(isWhole).length]

/** Returns the list of tokens once it is not behind. */
const list = (service: Served) =>
  eventually(async () => {
    const { status, text } = await service.ask('GET', TOKENS)
    return status !== 503 && { status, text }
  }, 'a list of tokens')

const endsWell = async (t: Test, service: Served) => {
  service.kill('SIGTERM')
  t.equal(await service.ended, 0)
  t.strictSame(of(service.lines(), 'ERROR'), [])
}

await t.test('a damaged row found by a request affects only its list until it is repaired', async (t) => {
  const data = await copied()
  const service = await serve(t, data)
  t.ok(service.listens, service.err())
  await list(service)
  const past = (await service.ask('GET', `${TOKENS}&at=30`)).text
  t.match(past, /"totalCount":\d/)
  await spoil(data, 'tokens')
  const behind = await service.ask('GET', '/auth/v1/tokens')
  t.match(behind, { status: 503, text: /"view_behind"/ })
  const { status, text } = await service.ask('POST', '/auth/v1/method/token', { name: 'made meanwhile' })
  t.equal(status, 200)
  const made = (JSON.parse(text) as { clientToken: string }).clientToken
  t.equal((await service.ask('GET', '/readyz')).status, 200)
  t.match((await service.ask('POST', '/evaluate/v1/boolean', { flagKey: 'f', entityId: 'e' })).text, /"enabled":true/)
  t.equal((await service.ask('GET', '/auth/v1/self', undefined, made)).status, 200)
  t.match((await list(service)).text, /"totalCount":152/)
  t.strictSame(told(service), [1, 1])
  t.match((await service.ask('GET', '/readyz?verbose')).text, /"views","status":"ok"/)
  t.equal((await service.ask('GET', `${TOKENS}&at=30`)).text, past, 'the past is read from the new file')
  await endsWell(t, service)
  t.match(of(service.lines(), 'WARN').filter(isSetAside), [{ file: join(data, 'views.sqlite.damaged') }])
  const next = await serve(t, data)
  t.match((await list(next)).text, /"totalCount":152/, 'the next start finds them whole')
  t.strictSame(told(next), [0, 0])
})

await t.test('a damaged row that is found during or after the start is repaired without a restart', async (t) => {
  const data = await copied()
  const first = await serve(t, data)
  first.kill('SIGTERM')
  t.equal(await first.ended, 0)
  // Memory loads its snapshot, so the jobs are the first to read these rows.
  await spoil(data, 'tokens')
  const service = await serve(t, data)
  t.ok(service.listens, service.err())
  t.match((await list(service)).text, /"totalCount":151/)
  t.equal(service.lines().filter(isSetAside).length, 1)
  await endsWell(t, service)
})

await t.test('a rebuild that was interrupted by a kill or an end continues at the next start', async (t) => {
  for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
    const data = await copied()
    const service = await serve(t, data)
    await list(service)
    await spoil(data, 'tokens')
    t.equal((await service.ask('GET', '/auth/v1/tokens')).status, 503)
    service.kill(signal)
    t.equal(await service.ended, signal === 'SIGTERM' ? 0 : signal)
    const left = `${data}-left`
    await cp(data, left, { recursive: true })
    const next = await serve(t, left)
    t.match((await list(next)).text, /"totalCount":151/)
    t.strictSame(told(next), [0, 0])
    await endsWell(t, next)
  }
})

await t.test('a third damage of the read models within minutes ends the service', async (t) => {
  const data = await copied()
  const service = await serve(t, data)
  for (let n = 0; n < 3; n++) {
    t.equal((await list(service)).status, 200)
    await spoil(data, 'tokens')
    await service.ask('GET', '/auth/v1/tokens').catch(() => undefined)
  }
  t.equal(await service.ended, 1)
  t.match(of(service.lines(), 'ERROR'), [
    { msg: /^rollcall ends: the read models were found damaged 3 times within 10/ },
  ])
  t.strictSame(told(service), [3, 2])
  const next = await serve(t, data)
  t.match((await list(next)).text, /"totalCount":151/)
})
