import t from 'tap'
import { Refusal, refuse } from '../../src/base/errors.ts'
import { reachAuthorizedNow } from '../../src/http/auth/reach-now.ts'

type Service = Parameters<typeof reachAuthorizedNow>[0]
type Request = Parameters<ReturnType<typeof reachAuthorizedNow>>[0]

const headers = { authorization: 'Bearer token' }
const rawHeaders = ['Authorization', 'Bearer token']
const request = { caller: { actor: { kind: 'token', id: 'id' } }, headers, raw: { headers, rawHeaders } }

/** The rights of a running request whose token is not cached; `verify` looks it up. */
const rightsNow = (verify: () => Promise<never>) => {
  const verifier = { cached: () => undefined, verify }
  const service = { verifier, names: { tokenCookie: 'cookie' }, fresh: () => true, logins: { restricted: false } }
  return reachAuthorizedNow(service as unknown as Service)(request as unknown as Request)
}

await t.test('a running request has no rights while its token cannot be judged', async (t) => {
  t.equal(await rightsNow(async () => refuse('auth_stale')), undefined)
  await t.rejects(
    rightsNow(async () => refuse('backend_unavailable')),
    new Refusal('backend_unavailable'),
  )
})
