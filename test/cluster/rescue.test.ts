import { writeFile } from 'node:fs/promises'
import { hostname, userInfo } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { openEventStore } from '../../src/adapters/eventstoredb/open.ts'
import { systemClock } from '../../src/clock.ts'
import { newDirectory } from '../adapters/embedded/store.ts'
import { rollcall } from '../cli/service.ts'
import { collect } from '../contracts/log.ts'
import { type Started, startService } from '../start.ts'
import { startStack } from './stack.ts'

const { stack, skip } = await startStack(t)

/** Writes a configuration file. */
const configFile = async (settings: Readonly<Record<string, string>>, directory: string): Promise<string> => {
  const tree: Record<string, Record<string, string | number>> = {}
  for (const [key, value] of Object.entries(settings)) {
    const [group, name] = key.split('.') as [string, string]
    tree[group] = { ...tree[group], [name]: /^\d+$/.test(value) ? Number(value) : value }
  }
  const path = join(directory, 'rollcall.yml')
  await writeFile(path, JSON.stringify(tree))
  return path
}
const worksAt = async (service: Started, token: string): Promise<number> =>
  (await service.request('GET', '/api/v1/namespaces/default/flags', undefined, { authorization: `Bearer ${token}` }))
    .status

await t.test('token create works on servers, with and without a running service', { skip }, async (t) => {
  const directory = await newDirectory(t)
  const file = await configFile(stack!.settings, directory)
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

  const log = await openEventStore(stack!.settings['eventstore.url']!, {
    clock: systemClock,
    categories: ['token'],
    onError: () => {},
  })
  const [event] = await collect(log.read(`token-${issued.authentication.id}`))
  await log.close()
  t.match(JSON.parse(event!.meta), {
    actor: { kind: 'operator', user: userInfo().username, host: hostname() },
    reason: 'every token is lost',
  })

  await service.close()
  await stack!.redis.kill()
  const down = await create('down', '--reason', 'nothing runs', '--namespace', 'default')
  t.equal(down.exit, 0, down.err)
  await stack!.redis.start()
  const again = await startService(t, stack!.settings)
  t.equal(await worksAt(again, down.out.trim()), 200)
  t.equal(await worksAt(again, issued.clientToken), 200)
})
