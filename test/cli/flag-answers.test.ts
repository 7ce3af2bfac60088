import t from 'tap'
import { maker } from '../http/flags.ts'
import { startService } from '../start.ts'
import { rollcall } from './service.ts'

const root = '/api/v1/namespaces/default/flags'

await t.test('the command flag shows the possible answers of a flag next to its default', async (t) => {
  const service = await startService(t)
  const make = maker(service)
  await make.segment('beta')
  await make.boolean('everybody')
  await make.threshold('everybody', 100)
  await make.threshold('everybody', 50, false)
  await make.boolean('some', true)
  await make.threshold('some', 30, false)
  await make.boolean('testers')
  await make.bySegment('testers', { segmentKeys: ['beta'] })
  await make.variantFlag('ranking')
  const red = await make.variant('ranking', 'red')
  await make.rule('ranking', { segmentKey: 'beta' }, { [red]: 100 })
  await make.variantFlag('off', false)
  await make.variantFlag('part')
  const blue = await make.variant('part', 'blue')
  await make.rule('part', { segmentKey: 'beta' }, { [blue]: 100 })
  await make.rule('part', { segmentKey: 'beta' }, { [blue]: 33.33 })

  const env = { ROLLCALL_TOKEN: service.token, ROLLCALL_ADDRESS: service.url }
  const run = (...args: readonly string[]) => rollcall(['flag', ...args], env)
  const flag = async (...args: readonly string[]) => (await run(...args)).out
  const rows = (await flag('list')).split('\n').map((line) => line.split(/ {2,}/).slice(0, 4))
  t.strictSame(rows.slice(0, -1), [
    ['KEY', 'TYPE', 'ENABLED', 'ANSWERS'],
    ['everybody', 'BOOLEAN', 'default false', 'True for everybody'],
    ['some', 'BOOLEAN', 'default true', 'False for 30 %, else true'],
    ['testers', 'BOOLEAN', 'default false', 'Depends on segments, else false'],
    ['ranking', 'VARIANT', 'true', 'On: depends on segments, else no variant'],
    ['off', 'VARIANT', 'false', 'Off: no match, no variant for everybody'],
    ['part', 'VARIANT', 'true', 'On: depends on segments, else no variant'],
  ])
  const partial =
    'warning: part: the shares of rule 2 give 33.3 %: engines that evaluate by themselves give all entities to these variants\n'
  t.equal((await run('list')).err, partial)
  t.equal((await run('get', 'part')).err, partial)
  t.equal((await run('get', 'part', '--quiet')).err, '')
  t.equal((await run('get', 'ranking')).err, '')

  const one = await flag('get', 'everybody')
  t.match(one, /\nDEFAULT +false\nANSWERS +True for everybody; rollout 1 answers true\nNAME /)
  t.notMatch(one, /ENABLED/)
  const variant = await flag('get', 'ranking')
  t.match(variant, /\nENABLED +true\nANSWERS +On: depends on segments, else no variant\nVARIANTS /)
  t.notMatch(variant, /DEFAULT/)
  const { headers } = await service.request('PUT', `${root}/off`, { name: 'off' })
  await make.threshold('testers', 100, true)
  t.match(await flag('get', 'testers'), /ANSWERS +True for everybody; rollouts 1 and 2 answer true\n/)
  const before = await flag('get', 'testers', '--at', `#${String(headers['event-position'])}`)
  t.match(before, /ANSWERS +Depends on segments, else false; rollout 1 answers true\n/)

  const said = async (path: string) => (await service.request('GET', path)).json
  t.strictSame(JSON.parse(await flag('list', '-o', 'json')), await said(root), 'JSON is what the service says')
  t.strictSame(JSON.parse(await flag('get', 'some', '-o', 'json')), await said(`${root}/some`))
  t.equal(await flag('get', 'some', '--field', 'enabled'), 'true')
  t.match((await flag('list', '-o', 'ndjson')).split('\n')[0], /^(?!.*rollouts)/)
})
