import root, { type Test } from 'tap'
import { isFailure } from '../../src/base/failure.ts'
import { type Started, startService } from '../start.ts'
import { eventually } from '../wait.ts'
import { lacking, type ServerName } from './named-servers.ts'
import { known } from './revoking.ts'
import { type Needs, type Stack, startStack } from './stack.ts'

export const FLAGS = '/api/v1/namespaces/default/flags'
type Line = Readonly<Record<string, unknown>>

/** Parses the log lines of a level. */
export const linesOf = (log: string, level = 'ERROR'): readonly Line[] =>
  log
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line)
    .filter((line) => line['level'] === level)
export const lines = async (service: Started, level = 'ERROR') => linesOf(await service.logged(), level)
/** Messages about the service itself, not about servers. */
export const own = (found: readonly Line[]) =>
  found.map(({ msg }) => msg as string).filter((msg) => !/unreachable or fails|^a job failed/.test(msg))
/** Names of the flags in a list. */
export const names = async (service: Started) =>
  (await known(() => service.request<{ flags: readonly { name: string }[] }>('GET', FLAGS))).json.flags.map(
    ({ name }) => name,
  )
/** Waits until it is ready. */
export const ready = (service: Started) =>
  eventually(async () => (await service.request('GET', '/readyz')).status === 200, 'a service that is ready')
/** Waits until the read models are caught up. */
export const written = (service: Started) =>
  eventually(
    async () => /^rollcall_view_lag_events 0$/m.test(await service.metrics()),
    'read models that hold everything',
  )
/** Test on its own stack, whose servers `C` it controls; skipped with the reason if there is none. */
export const onStack = <C extends ServerName = never>(
  name: string,
  body: (t: Test, stack: Stack<C>) => Promise<unknown>,
  { needs }: { readonly needs?: Needs<C> } = {},
) =>
  root.test(name, { skip: lacking(needs ?? {}) }, async (t) => {
    const { stack, skip } = await startStack<C>(t, { ...(needs && { needs }) })
    if (!stack) return t.pass('needs servers', { skip })
    return body(t, stack)
  })
/** Returns the message of a refused start. */
export const refusedStart = async (
  t: Test,
  settings: Readonly<Record<string, string>>,
  options: Parameters<typeof startService>[2] = {},
) => {
  const failed: unknown = await startService(t, settings, options).then(
    () => undefined,
    (error: unknown) => error,
  )
  t.ok(isFailure(failed), String(failed))
  return String(failed)
}
