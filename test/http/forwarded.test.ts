import t from 'tap'
import { startService } from '../start.ts'

type Line = { readonly level: string; readonly msg: string }
const FORWARDED = /^forwarded headers come from a peer that server\.trust_proxy does not name/
/** Asks the service with forwarded headers; gives the levels of the lines that tell of it. */
const told = async (t: Parameters<typeof startService>[0], settings: Readonly<Record<string, string>>) => {
  const { request, logged } = await startService(t, settings)
  await request('GET', '/livez')
  t.notMatch(await logged(), 'forwarded headers')
  for (const name of ['forwarded', 'x-forwarded-for', 'x-forwarded-for'])
    await request('GET', '/livez', undefined, { [name]: '192.0.2.7' })
  const lines = (await logged())
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line)
  t.notMatch(await logged(), '192.0.2.7')
  return lines.filter(({ msg }) => FORWARDED.test(msg)).map(({ level }) => level)
}

await t.test('forwarded headers that are not trusted are told once, and never the address', async (t) => {
  t.same(await told(t, {}), ['WARN'])
  t.same(await told(t, { 'server.trust_proxy': '10.0.0.0/8' }), ['WARN'])
  t.same(await told(t, { 'authentication.open_on_purpose': 'forwarded' }), ['INFO'])
  t.same(await told(t, { 'server.trust_proxy': '127.0.0.0/8' }), [])
  t.same(await told(t, { 'server.trust_proxy': 'true' }), [])
})
