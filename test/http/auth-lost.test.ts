import t from 'tap'
import { ownFaults } from '../late-servers.ts'
import { type Authentication, everyWay, logIn, OIDC } from './people.ts'
import { loseKeys } from './subjects.ts'

await t.test('a person whose encryption key is missing is shown as lost, not as erased', async (t) => {
  const { service } = await everyWay(t)
  const { authentication } = await logIn(service, OIDC)
  t.match(authentication.metadata, { 'io.service.auth.oidc.sub': /./ })
  await service.reopen(() => loseKeys(service))
  const lost = { 'io.service.auth.lost': 'true' }
  for (let n = 0; n < 2; n++) {
    const one = await service.request<Authentication>('GET', `/auth/v1/tokens/${authentication.id}`)
    t.equal(one.status, 200)
    t.match(one.json.metadata, { 'io.service.auth.oidc.provider': 'main', ...lost })
    t.notMatch(one.text, /erased|oidc\.sub/)
  }
  const list = await service.request<{ authentications: readonly Authentication[] }>(
    'GET',
    '/auth/v1/tokens?method=METHOD_OIDC',
  )
  t.match(list.json.authentications, [{ metadata: lost }])
  const again = await logIn(service, OIDC)
  t.match(again.authentication.metadata, { 'io.service.auth.oidc.sub': /./ }, 'who comes back has a key again')
  const both = await service.request<{ authentications: readonly Authentication[] }>(
    'GET',
    '/auth/v1/tokens?method=METHOD_OIDC',
  )
  t.same(
    both.json.authentications.map(({ metadata }) => 'io.service.auth.lost' in metadata).filter((lost) => lost).length,
    1,
  )
  t.equal(both.json.authentications.length, 2)
  t.match(await service.metrics(), /^rollcall_subjects_lost_total 1$/m)
  const lines = ownFaults(await service.logged())
  t.equal(lines.length, 1)
  const line = JSON.stringify(lines[0])
  t.match(line, /backup of (subjects\.sqlite|the collection)/)
  t.notMatch(line, /person-|@/)
})
