import { hostname, userInfo } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { newDirectory } from '../adapters/embedded/store.ts'
import { rollcall } from '../cli/service.ts'
import { collect } from '../contracts/log.ts'
import { type Started, startService } from '../start.ts'
import { openLogOf } from './named-servers.ts'
import { writeConfig } from './own.ts'
import { controlling, startStack } from './stack.ts'

const { stack, skip } = await startStack(t)

const worksAt = async (service: Started, token: string): Promise<number> =>
  (await service.request('GET', '/api/v1/namespaces/default/flags', undefined, { authorization: `Bearer ${token}` }))
    .status

await t.test('token create works on servers, with and without a running service', { skip }, async (t) => {
  const directory = await newDirectory(t)
  const file = join(directory, 'rollcall.yml')
  await writeConfig(file, stack!.settings)
  const create = (name: string, ...more: readonly string[]) =>
    rollcall(['token', 'create', name, '--config', file, '--expires', '1h', ...more])
  const service = await startService(t, stack!.settings)
  t.match(await create('why'), { exit: 2, out: '', err: /--reason/ })
  t.match(await create('bound', '--reason', 'x', '--namespace', 'none'), {
    exit: 4,
    err: /namespace "none" not found/,
  })
  const running = await create('running', '--reason', 'every token is lost', '-o', 'json')
  t.equal(running.exit, 0, running.err)
  const issued = JSON.parse(running.out) as { clientToken: string; authentication: { id: string } }
  t.equal(await worksAt(service, issued.clientToken), 200, 'it works at once')
  const operator = await create('operator', '--reason', 'no administrator is left', '--role', 'admin')
  t.equal(operator.exit, 0, operator.err)
  const { json } = await service.request('GET', '/auth/v1/access', undefined, {
    authorization: `Bearer ${operator.out.trim()}`,
  })
  t.match(json, { full: true, grants: [{ namespaceKey: '*', role: 'admin', rights: ['*'] }] })

  const log = await openLogOf(stack!.settings)
  const [event] = await collect(log.read(`token-${issued.authentication.id}`))
  await log.close()
  t.match(JSON.parse(event!.meta), {
    actor: { kind: 'operator', user: userInfo().username, host: hostname() },
    reason: 'every token is lost',
  })

  await service.close()
  const made: string[] = []
  const createDown = async (t: Test) => {
    const down = await create('down', '--reason', 'nothing runs', '--namespace', 'default')
    t.equal(down.exit, 0, down.err)
    made.push(down.out.trim())
  }
  await createDown(t)
  const withoutRedis = 'token create works while Redis is down'
  await controlling(t, stack!, { redis: 'ends and restarts it' }, withoutRedis, async (t, { redis }) => {
    await redis.kill()
    await createDown(t)
    await redis.start()
  })
  const again = await startService(t, stack!.settings)
  for (const token of [...made, issued.clientToken]) t.equal(await worksAt(again, token), 200)
})
