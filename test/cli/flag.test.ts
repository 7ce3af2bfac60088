import t from 'tap'
import { startService } from '../start.ts'
import { rollcall } from './service.ts'

await t.test('flags are listed and shown, now and as they were', async (t) => {
  const service = await startService(t)
  const env = { ROLLCALL_TOKEN: service.token, ROLLCALL_ADDRESS: service.url }
  const root = '/api/v1/namespaces/default/flags'
  for (let n = 0; n < 30; n++) await service.request('POST', root, { key: `f${n}`, name: `Flag ${n}` })
  const { json } = await service.request<{ id: string }>('POST', `${root}/f0/variants`, { key: 'on' })
  const before = await service.request('PUT', `${root}/f0`, { name: 'First', defaultVariantId: json.id })
  await service.request('PUT', `${root}/f0`, { name: 'Second', enabled: true })
  const flag = (...args: readonly string[]) => rollcall(['flag', ...args], env)

  const first = await flag('list')
  t.match(first.out, /^KEY +TYPE +ENABLED +VARIANTS +NAME +UPDATED\nf0 +VARIANT +true +on +Second/)
  t.match([first.out.split('\n').length, first.err], [27, '25 of 30 shown; --all shows the rest.\n'])
  t.equal((await flag('list', '--all', '-o', 'name')).out, Array.from({ length: 30 }, (_, n) => `f${n}\n`).join(''))
  t.equal((await flag('list', '-n', 'none', '-o', 'json', '--field', 'key')).out, '')

  t.equal((await flag('get', 'f0', '--field', 'name')).out, 'Second')
  const then = await flag('get', 'f0', '--at', `#${String(before.headers['event-position'])}`)
  t.match(then.out, /ENABLED +false\nVARIANTS +on\*\nNAME +First\n/)
  t.match(JSON.parse((await flag('get', 'f0', '-o', 'json')).out), { key: 'f0', variants: [{ key: 'on' }] })
  t.match(await flag('get', 'nothing'), { exit: 4, err: /flag "default\/nothing" not found/ })
  t.equal((await flag('get', 'f0', '--at', 'soon')).exit, 2)
  t.equal((await flag('get', 'f0', '--at', '-1h')).exit, 4, 'an hour ago there was none')
})
