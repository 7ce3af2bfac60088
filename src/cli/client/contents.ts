import type { Flag } from '../../contract/flags/flag.ts'
import type { Rollout } from '../../contract/flags/rollout.ts'
import type { Rule } from '../../contract/flags/rule.ts'
import { type Client, segment } from './client.ts'
import { all } from './lists.ts'

/** A flag with its rules and rollouts, each in the order of the ranks. */
export type WholeFlag = { readonly flag: Flag; readonly rules: readonly Rule[]; readonly rollouts: readonly Rollout[] }

/** Number of flags that are read concurrently: the limit of concurrent reads of past states for one credential. */
const AT_ONCE = 4

/** Runs the work for each item, several at a time. The results are in the order of the items. */
export const each = async <T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<readonly R[]> => {
  const results: R[] = []
  const rest = items.entries()
  const worker = async () => {
    for (const [n, item] of rest) results[n] = await work(item)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  return results
}

/** Reads the rules and rollouts of a flag, now or at a moment. */
export const wholeFlag = async (client: Client, flag: Flag, at?: string): Promise<WholeFlag> => {
  const url = `/api/v1/namespaces/${segment(flag.namespaceKey)}/flags/${segment(flag.key)}`
  const rules = await all<Rule>(client, `${url}/rules`, 'rules', { at, whole: true })
  const rollouts = await all<Rollout>(client, `${url}/rollouts`, 'rollouts', { at, whole: true })
  return { flag, rules, rollouts }
}
