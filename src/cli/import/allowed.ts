import { EXIT, isFailure } from '../../base/failure.ts'
import type { Access } from '../../contract/access.ts'
import type { Info } from '../../contract/operations.ts'
import { type Client, ifAllowed } from '../client/client.ts'
import { each } from '../client/contents.ts'
import type { Plan } from './plan.ts'
import type { Problem } from './problems.ts'
import type { Step } from './steps.ts'

type Quotas = Readonly<Record<'flags_per_namespace' | 'segments_per_namespace' | 'namespaces', number>>

/** Rights and reasons that the steps need and the token or the command line does not have. */
const refusedSteps = ({ places, reasonRequired = [] }: Access, steps: readonly Step[], hasReason: boolean) => {
  const holds = (right: string, place: string) =>
    places.some(
      ({ namespaceKey, rights }) =>
        (namespaceKey === '*' || (namespaceKey === place && right !== 'namespace.create')) &&
        (rights.includes('*') || rights.includes(right)),
    )
  const found = new Map<string, Problem>()
  for (const { path, place, needs } of steps) {
    for (const right of needs.filter((each) => !holds(each, place)))
      found.set(`${right} ${place}`, { path, message: `needs the right ${right} in ${place}`, exit: 'denied' })
    if (needs.length > 0 && !hasReason && reasonRequired.some((each) => each === '*' || each === place))
      found.set(place, {
        path,
        message: `a reason is required in ${place}. Give the reason of the change: --reason TEXT`,
        exit: 'usage',
      })
  }
  return [...found.values()]
}

/** Quotas that the steps would exceed. Nothing is deleted before everything else is written. */
const beyondQuotas = async (
  client: Client,
  quotas: Quotas,
  plans: readonly Plan[],
  steps: readonly Step[],
): Promise<readonly Problem[]> => {
  const beyond = (path: string, whose: string, all: number, what: string, quota: keyof Quotas): readonly Problem[] =>
    all <= quotas[quota]
      ? []
      : [
          {
            path,
            message: `${whose} would have ${all} ${what} before the first deletion; quotas.${quota} allows ${quotas[quota]}`,
            exit: 'failed',
          },
        ]
  const made = plans.filter(({ present }) => !present)
  const list =
    made.length === 0
      ? undefined
      : await ifAllowed(client.ask<{ readonly totalCount: number }>('GET', '/api/v1/namespaces?limit=1'))
  const all = made.length + (list?.totalCount ?? 0)
  return [
    ...(made[0] && list ? beyond(made[0].namespace.path, 'the service', all, 'namespaces', 'namespaces') : []),
    ...plans.flatMap(({ namespace: { path }, key, counts }) => {
      const created = (phase: Step['phase']) =>
        steps.filter((step) => step.place === key && step.phase === phase && step.sign === '+').length
      const [flags, segments] = [created(2), created(1)]
      const whose = `namespace "${key}"`
      return [
        ...(flags > 0 ? beyond(path, whose, counts.flags + flags, 'flags', 'flags_per_namespace') : []),
        ...(segments > 0 ? beyond(path, whose, counts.segments + segments, 'segments', 'segments_per_namespace') : []),
      ]
    }),
  ]
}

/** Refusals of the service for changes of existing items. A change that uses a new segment cannot be tried. */
const rehearsed = async (steps: readonly Step[]): Promise<readonly Problem[]> => {
  const isMade = new Set(steps.filter(({ phase, sign }) => phase === 1 && sign === '+').map(({ what }) => what))
  const tried = steps.filter(({ place, uses = [] }) => !uses.some((key) => isMade.has(`segment ${place}/${key}`)))
  const found = await each(tried, async ({ path, rehearse }): Promise<readonly Problem[]> => {
    try {
      await rehearse?.()
      return []
    } catch (error) {
      if (!isFailure(error)) throw error
      const exit = (Object.keys(EXIT) as (keyof typeof EXIT)[]).find((name) => EXIT[name] === error.exit) ?? 'failed'
      return [{ path, message: error.message.slice(`${path}: `.length), exit }]
    }
  })
  return found.flat()
}

/**
 * Reasons for which the service would refuse the steps, found before the first write: rights of the token, a missing
 * reason, storage that is read only, quotas, and the rules for changes of existing items. Without the right config.read
 * the numbers of quotas are unknown.
 */
export const refusals = async (
  client: Client,
  plans: readonly Plan[],
  steps: readonly Step[],
  hasReason: boolean,
): Promise<readonly Problem[]> => {
  const writes = steps.filter(({ begin }) => begin)
  if (writes.length === 0) return []
  const refused = refusedSteps(await client.ask<Access>('GET', '/auth/v1/access'), writes, hasReason)
  if (refused.length > 0) return refused
  const info = await ifAllowed(client.ask<Info>('GET', '/meta/info'))
  if (info?.storage.readOnly)
    return [{ path: writes[0]!.path, message: 'the storage of the service is read-only', exit: 'failed' }]
  const config = await ifAllowed(client.ask<{ readonly quotas?: Quotas }>('GET', '/meta/config'))
  const beyond = config?.quotas ? await beyondQuotas(client, config.quotas, plans, writes) : []
  return beyond.length > 0 ? beyond : rehearsed(writes)
}
